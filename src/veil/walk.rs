//! The way through a value, and what is known of each place on it.

use serde_json::Value;

use super::keys::{is_notice, is_team_tool, stays, stays_at_top};
use super::stand_in;
use crate::json;

/// A place in a payload or a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    /// The key that it stands below; of a list's items that of the list.
    key: &'a str,
    /// The tool of the payload.
    tool: &'a str,
    /// The event, at the top of a payload.
    top: Option<&'a str>,
    /// Whether the keys here are the client's, and mean what they say.
    known: bool,
}

impl<'a> Place<'a> {
    /// The top of a payload.
    pub fn payload(tool: &'a str, event: &'a str) -> Place<'a> {
        Place { key: "", tool, top: Some(event), known: true }
    }

    /// The top of a file.
    pub fn file() -> Place<'a> {
        Place { key: "", tool: "", top: None, known: true }
    }

    fn below(self, key: &'a str) -> Place<'a> {
        let known = self.known
            && match key {
                // What a tool that is nothing to a team is told, or tells, is anybody's.
                "tool_input" | "tool_response" => self.top.is_none() || is_team_tool(self.tool),
                "metadata" => false,
                _ => true,
            };
        Place { key, known, top: None, ..self }
    }
}

/// Puts a stand-in into the place of each text.
pub(super) fn walk(value: &mut Value, place: Place<'_>) {
    match value {
        Value::String(text) => veil(text, place),
        Value::Array(list) => list.iter_mut().for_each(|item| walk(item, place)),
        Value::Object(map) => {
            for (key, item) in map {
                let is_kept = match (item.is_string(), place.top) {
                    (true, Some(event)) => stays_at_top(key, event),
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

fn veil(text: &mut String, place: Place<'_>) {
    if text.is_empty() || (place.known && stays(place.key, text)) || super::size_of(text).is_some() {
        return;
    }
    let notice = matches!(place.key, "text" | "message" | "content").then(|| notice(text)).flatten();
    *text = notice.filter(|_| place.known).unwrap_or_else(|| stand_in(text.as_bytes()));
}

/// One of the client's notices, without the texts in it.
fn notice(text: &str) -> Option<String> {
    let mut value = text.trim_start().starts_with('{').then(|| json::lenient(text.as_bytes())).flatten()?;
    value.get("type").and_then(Value::as_str).filter(|kind| is_notice(kind))?;
    walk(&mut value, Place::file());
    Some(value.to_string())
}
