//! Walks a JSON value and replaces the texts in it.

use serde_json::Value;

use super::digest_placeholder;
use super::keys::{is_kept, is_kept_top_level, is_notice, is_team_tool};
use crate::json;

/// A position in a payload or a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeyPosition<'a> {
    /// The key of the value; for items of a list, the key of the list.
    key: &'a str,
    /// The tool that the payload names.
    tool: &'a str,
    /// The event, on the first level of a payload.
    top: Option<&'a str>,
    /// Whether the keys here are Claude Code's, with known meanings.
    known: bool,
}

impl<'a> KeyPosition<'a> {
    /// The first level of a payload.
    pub fn payload(tool: &'a str, event: &'a str) -> KeyPosition<'a> {
        KeyPosition { key: "", tool, top: Some(event), known: true }
    }

    /// The first level of a file.
    pub fn file() -> KeyPosition<'a> {
        KeyPosition { key: "", tool: "", top: None, known: true }
    }

    fn below(self, key: &'a str) -> KeyPosition<'a> {
        let known = self.known
            && match key {
                // Keys in the input and response of other tools have unknown meanings.
                "tool_input" | "tool_response" => self.top.is_none() || is_team_tool(self.tool),
                "metadata" => false,
                _ => true,
            };
        KeyPosition { key, known, top: None, ..self }
    }
}

/// Replaces each text by its placeholder.
pub(super) fn walk(value: &mut Value, place: KeyPosition<'_>) {
    match value {
        Value::String(text) => veil(text, place),
        Value::Array(list) => list.iter_mut().for_each(|item| walk(item, place)),
        Value::Object(map) => {
            for (key, item) in map {
                let is_kept = match (item.is_string(), place.top) {
                    (true, Some(event)) => is_kept_top_level(key, event),
                    _ => false,
                };
                if !is_kept {
                    walk(item, place.below(key));
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn veil(text: &mut String, place: KeyPosition<'_>) {
    if text.is_empty() || (place.known && is_kept(place.key, text)) || super::byte_len(text).is_some() {
        return;
    }
    let notice = matches!(place.key, "text" | "message" | "content").then(|| notice(text)).flatten();
    *text = notice.filter(|_| place.known).unwrap_or_else(|| digest_placeholder(text.as_bytes()));
}

/// An automatic notice of Claude Code with its texts replaced.
fn notice(text: &str) -> Option<String> {
    let mut value =
        text.trim_start().starts_with('{').then(|| json::parse_lossy(text.as_bytes())).flatten()?;
    value.get("type").and_then(Value::as_str).filter(|kind| is_notice(kind))?;
    walk(&mut value, KeyPosition::file());
    Some(value.to_string())
}
