//! Metadata-only mode: replaces texts by their size and hash.
//!
//! Names, ids, states, times, numbers and JSON keys are kept. Every other string becomes a placeholder ([`stand_in`]).
//! Equal texts have equal placeholders, so a message can still be matched between a hook call, an inbox and a later
//! state.

mod keys;
mod walk;

use std::borrow::Cow;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::json;
use walk::{KeyPosition, walk};

/// The placeholder for a text: its size in bytes and its BLAKE3 hash.
pub fn digest_placeholder(text: &[u8]) -> String {
    stand_in_for(text.len() as u64, &blake3::hash(text).to_hex())
}

/// The placeholder for a text with this size and BLAKE3 hash.
pub fn stand_in_for(size: u64, hash: &str) -> String {
    format!("[text: {size} bytes, blake3 {hash}]")
}

/// The size of the text behind a placeholder; `None` if it is not a placeholder.
pub fn byte_len(stand_in: &str) -> Option<usize> {
    let (size, hash) = stand_in.strip_prefix("[text: ")?.strip_suffix(']')?.split_once(" bytes, blake3 ")?;
    let is_hash = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    size.parse().ok().filter(|_| is_hash)
}

/// Removes the texts from a payload. A payload that is not a JSON object is replaced as a whole.
pub fn payload(raw: &RawValue, malformed: bool) -> Box<RawValue> {
    let reduced =
        match json::parse_lossy(raw.get().as_bytes()).filter(|value| value.is_object() && !malformed) {
            Some(mut value) => {
                let (tool, event) = (word(&value, "tool_name"), word(&value, "hook_event_name"));
                walk(&mut value, KeyPosition::payload(&tool, &event));
                value
            }
            None => {
                let whole = json::parse_lossy(raw.get().as_bytes()).unwrap_or_default();
                let text = ["text", "base64"].iter().find_map(|key| whole.get(key)?.as_str());
                serde_json::json!({"text": digest_placeholder(text.unwrap_or(raw.get()).as_bytes())})
            }
        };
    serde_json::value::to_raw_value(&reduced).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// Removes the texts from a team file. A file that is not JSON is replaced as a whole, except for the counters of task
/// lists.
pub fn file<'a>(path: &str, bytes: &'a [u8]) -> Cow<'a, [u8]> {
    if !path.ends_with(".json") && keys::is_identifier(bytes) {
        return Cow::Borrowed(bytes);
    }
    let reduced = match json::parse_lossy(bytes) {
        Some(mut value) => {
            walk(&mut value, KeyPosition::file());
            value
        }
        None => Value::String(digest_placeholder(bytes)),
    };
    Cow::Owned(reduced.to_string().into_bytes())
}

fn word(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
