//! JSON spelling of enum values.

use serde::Serialize;
use serde_json::Value;

/// The JSON spelling of a value without fields, such as `task-changed`. Empty if it is not a string in JSON.
pub fn serde_name(of: &impl Serialize) -> String {
    match serde_json::to_value(of) {
        Ok(Value::String(word)) => word,
        _ => String::new(),
    }
}
