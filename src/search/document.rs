//! One text of the recorded data, with its kind and its author: the unit of a search.

use serde::Serialize;
use serde_json::{Value, json};
use strum::VariantArray;

use crate::redact::is_secret_key;
use crate::timeline::parse_kind;
use teamkeep_core::client::json::serde_name;
use teamkeep_core::error;
use teamkeep_core::sys::clock::Timestamp;

/// A longer text is split into several documents, in bytes.
const MAX_CHUNK_BYTES: usize = 32 << 10;
/// The part of a text beyond this size is not indexed, in bytes.
const MAX_TEXT_BYTES: usize = 1 << 20;
/// A word of this size or more without a space is data, such as an image in base64.
const MIN_DATA_BYTES: usize = 4 << 10;

/// The kind of a text. Kinds are only added, never renamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
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

impl Kind {
    pub const ALL: &[Kind] = Kind::VARIANTS;

    pub fn word(self) -> String {
        serde_name(&self)
    }

    pub fn parse(text: &str) -> error::Result<Kind> {
        parse_kind(text, Kind::ALL)
    }
}

/// One text to index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    pub kind: Kind,
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
pub struct Author {
    pub agent: String,
    pub at: Timestamp,
}

impl Author {
    /// A document of this author; `None` without a text.
    pub fn document(&self, kind: Kind, title: &str, text: String) -> Option<Document> {
        let (agent, at, title) = (self.agent.clone(), self.at, title.to_owned());
        let is_empty = text.trim().is_empty();
        (!is_empty).then_some(Document { kind, at, agent, title, key: String::new(), text })
    }
}

/// The parts of a text that are indexed as one document each: broken at a space, and at a character.
pub fn chunks(text: &str) -> Vec<&str> {
    let mut rest = &text[..text.floor_char_boundary(MAX_TEXT_BYTES)];
    let mut chunks = Vec::new();
    while rest.len() > MAX_CHUNK_BYTES {
        let most = rest.floor_char_boundary(MAX_CHUNK_BYTES);
        let end = rest[..most].rfind(char::is_whitespace).filter(|end| *end > most / 2).unwrap_or(most);
        let (chunk, after) = rest.split_at(end);
        chunks.push(chunk);
        rest = after;
    }
    chunks.push(rest);
    chunks.retain(|chunk| !chunk.trim().is_empty());
    chunks
}

/// Fields of tools' results that repeat a whole file.
const REPEATED: [&str; 3] = ["originalFile", "structuredPatch", "signature"];

/// All strings of a JSON value, one below the other, without encoded data. A string that is itself JSON is not parsed.
pub fn strings(value: &Value) -> String {
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

/// Whether a text is encoded data: its beginning is one long word.
fn is_data(text: &str) -> bool {
    text.len() >= MIN_DATA_BYTES && !text.as_bytes()[..MIN_DATA_BYTES].iter().any(u8::is_ascii_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_split_at_spaces_and_cut_at_the_maximum() {
        let text = "wörd ".repeat(400_000);
        let chunks = chunks(&text);
        let (last, others) = chunks.split_last().unwrap();
        assert!(others.iter().all(|chunk| chunk.len() <= MAX_CHUNK_BYTES && chunk.ends_with("wörd")));
        assert!(last.len() <= MAX_CHUNK_BYTES);
        assert_eq!(chunks.concat(), text[..text.floor_char_boundary(MAX_TEXT_BYTES)]);
        let word = "ü".repeat(MAX_CHUNK_BYTES);
        assert_eq!(super::chunks(&word).concat(), word);
        assert!(super::chunks(" \n").is_empty());
    }

    #[test]
    fn the_strings_of_a_value_are_collected_without_encoded_data() {
        let data = "QUJD".repeat(2_000);
        let value =
            json!({"a": "one", "b": [{"c": "two"}, 3, data], "originalFile": "whole", "d": {"e": "four"}});
        assert_eq!(strings(&value), "one\ntwo\nfour");
    }

    #[test]
    fn a_secret_keeps_its_key() {
        let value = json!({"user": "ann", "db_password": "it's \"me\"", "secret": [1, "x"], "tokens": "two"});
        assert_eq!(strings(&value), "ann\n{\"db_password\":\"it's \\\"me\\\"\"}\ntwo");
    }

    #[test]
    fn a_kind_is_parsed_from_its_word() {
        for kind in Kind::ALL {
            assert_eq!(Kind::parse(&kind.word()).unwrap(), *kind);
        }
        assert_eq!(Kind::parse("mesage").unwrap_err().hints, ["did you mean \"message\"?"]);
    }
}
