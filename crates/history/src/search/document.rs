//! One text of the recorded data, with its kind and its author: the unit of a search.

use serde::Serialize;
use serde_json::{Value, json};
use strum::VariantArray;

use crate::timeline::parse_kind;
use teamkeep_model::json::serde_name;
use teamkeep_model::time::Timestamp;
use teamkeep_redact::is_secret_key;
use teamkeep_system::error;

/// The strings of a value are collected up to this size, in bytes.
const MAX_TEXT_BYTES: usize = 64 << 20;
/// Encoded data, such as an image, is at least this long, in bytes.
const MIN_DATA_BYTES: usize = 4 << 10;

/// The kind of a text. Kinds are only added, never renamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum TextKind {
    /// A message between agents.
    Message,
    /// A request to an agent: by the user, or when it was started.
    Prompt,
    /// An answer of an agent.
    Reply,
    /// The model's thinking, from a transcript.
    Thinking,
    /// Subject and description of a task.
    Task,
    /// The input of a tool.
    Tool,
    /// The result of a tool.
    Result,
    /// A verdict of the policy.
    Verdict,
}

impl TextKind {
    pub const ALL: &[TextKind] = TextKind::VARIANTS;

    pub fn word(self) -> String {
        serde_name(&self)
    }

    pub fn parse(text: &str) -> error::Result<TextKind> {
        parse_kind(text, TextKind::ALL)
    }
}

/// One text to search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SearchText {
    pub kind: TextKind,
    pub at: Timestamp,
    pub agent: String,
    /// The tool, the recipient, the task or the gate.
    pub title: String,
    /// The ID of the tool call, by which the same text in several sources is recognized; else empty.
    pub key: String,
    pub text: String,
}

/// Who and when, the same for all texts of one line.
#[derive(Debug, Clone)]
pub(super) struct Author {
    pub agent: String,
    pub at: Timestamp,
}

impl Author {
    /// A document of this author; `None` without a text.
    pub(super) fn document(&self, kind: TextKind, title: &str, text: String) -> Option<SearchText> {
        let (agent, at, title) = (self.agent.clone(), self.at, title.to_owned());
        let is_empty = text.trim().is_empty();
        (!is_empty).then_some(SearchText { kind, at, agent, title, key: String::new(), text })
    }
}

/// Fields of tools' results that repeat a whole file.
const REPEATED: [&str; 2] = ["originalFile", "structuredPatch"];

/// All strings of a JSON value, one below the other, without encoded data. A string that is itself JSON is not parsed.
pub(super) fn strings(value: &Value) -> String {
    let mut text = String::new();
    collect(value, &mut text);
    text
}

fn collect(value: &Value, text: &mut String) {
    match value {
        Value::String(string) if is_data(string) => {}
        Value::String(string) if text.len() < MAX_TEXT_BYTES => {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(string);
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, text)),
        Value::Object(fields) => {
            let own = fields.iter().filter(|(key, _)| !REPEATED.contains(&key.as_str()));
            for (key, value) in own {
                match value {
                    _ if !is_secret_key(key) => collect(value, text),
                    // A redaction needs the key to recognize the value.
                    Value::String(secret) => collect(&json!(json!({ key: secret }).to_string()), text),
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

/// Whether a text begins like base64.
fn is_data(text: &str) -> bool {
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=-_".contains(byte);
    text.as_bytes().get(..MIN_DATA_BYTES).is_some_and(|start| start.iter().all(is_digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strings_of_a_value_are_collected_without_encoded_data() {
        let data = "QUJD".repeat(2_000);
        let value =
            json!({"a": "one", "b": [{"c": "two"}, 3, data], "originalFile": "whole", "d": {"e": "four"}});
        assert_eq!(strings(&value), "one\ntwo\nfour");
        for text in ["漢字".repeat(2_000), format!("{{\"a\":{data}"), "QUJD".repeat(1_000)] {
            assert_eq!(strings(&json!([text])), text, "not encoded data");
        }
    }

    #[test]
    fn a_secret_keeps_its_key() {
        let value = json!({"user": "ann", "db_password": "it's \"me\"", "secret": [1, "x"], "tokens": "two"});
        assert_eq!(strings(&value), "ann\n{\"db_password\":\"it's \\\"me\\\"\"}\ntwo");
    }

    #[test]
    fn a_kind_is_parsed_from_its_word() {
        for kind in TextKind::ALL {
            assert_eq!(TextKind::parse(&kind.word()).unwrap(), *kind);
        }
        assert_eq!(TextKind::parse("mesage").unwrap_err().hints, ["did you mean \"message\"?"]);
    }
}
