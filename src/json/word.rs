//! Values of ours as the words that JSON has for them.

use serde::Serialize;
use serde_json::Value;

/// How a value without fields is spelled in JSON: a kind's `task-changed`. Empty for what is no text there.
pub fn word(of: &impl Serialize) -> String {
    match serde_json::to_value(of) {
        Ok(Value::String(word)) => word,
        _ => String::new(),
    }
}
