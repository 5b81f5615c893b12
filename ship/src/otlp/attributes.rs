//! Lists of attributes.

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, KeyValue};
use teamkeep_core::sys::clock::Timestamp;

/// Maximum length of a text in an attribute.
const MAX_ATTRIBUTE_BYTES: usize = 4 << 10;
/// Maximum length of the body of a log record.
const MAX_BODY_BYTES: usize = 64 << 10;
/// Maximum number of items of a list.
const MAX_LIST_ITEMS: usize = 128;
/// Maximum length of a word that Claude Code or an agent chose.
const MAX_WORD_CHARS: usize = 64;

/// A list of attributes. Texts are cut at 4 KiB, lists at 128 items.
#[derive(Debug, Clone, Default)]
pub struct Attributes(Vec<KeyValue>);

impl Attributes {
    pub fn text(self, name: &'static str, value: impl Into<String>) -> Attributes {
        self.add(name, Value::StringValue(cut(value.into(), MAX_ATTRIBUTE_BYTES)))
    }

    /// Adds the text, if there is one.
    pub fn maybe(self, name: &'static str, value: Option<impl Into<String>>) -> Attributes {
        match value {
            Some(value) => self.text(name, value),
            None => self,
        }
    }

    /// Adds the texts, if there are any.
    pub fn texts(
        self,
        name: &'static str,
        values: impl IntoIterator<Item = impl Into<String>>,
    ) -> Attributes {
        let text = |value: String| Value::StringValue(cut(value, MAX_ATTRIBUTE_BYTES));
        let values: Vec<AnyValue> =
            values.into_iter().take(MAX_LIST_ITEMS).map(|value| any(text(value.into()))).collect();
        match values.is_empty() {
            true => self,
            false => self.add(name, Value::ArrayValue(ArrayValue { values })),
        }
    }

    /// Adds the number. One beyond the range of OTLP's integers becomes the largest.
    pub fn count(self, name: &'static str, value: impl TryInto<i64>) -> Attributes {
        self.add(name, Value::IntValue(value.try_into().unwrap_or(i64::MAX)))
    }

    pub fn maybe_count(self, name: &'static str, value: Option<impl TryInto<i64>>) -> Attributes {
        match value {
            Some(value) => self.count(name, value),
            None => self,
        }
    }

    pub fn maybe_double(self, name: &'static str, value: Option<f64>) -> Attributes {
        match value {
            Some(value) => self.add(name, Value::DoubleValue(value)),
            None => self,
        }
    }

    pub fn maybe_flag(self, name: &'static str, value: Option<bool>) -> Attributes {
        match value {
            Some(value) => self.add(name, Value::BoolValue(value)),
            None => self,
        }
    }

    /// Adds the flag if it is set.
    pub fn flag(self, name: &'static str, value: bool) -> Attributes {
        self.maybe_flag(name, value.then_some(true))
    }

    pub fn all(mut self, others: &Attributes) -> Attributes {
        self.0.extend(others.0.iter().cloned());
        self
    }

    pub fn into_list(self) -> Vec<KeyValue> {
        self.0
    }

    fn add(mut self, name: &'static str, value: Value) -> Attributes {
        self.0.push(KeyValue { key: name.to_owned(), value: Some(any(value)), ..KeyValue::default() });
        self
    }
}

/// The body of a log record, cut at 64 KiB.
pub fn body(text: &str) -> AnyValue {
    any(Value::StringValue(cut(text.to_owned(), MAX_BODY_BYTES)))
}

fn any(value: Value) -> AnyValue {
    AnyValue { value: Some(value) }
}

fn cut(mut text: String, max: usize) -> String {
    if text.len() > max {
        text.truncate(text.floor_char_boundary(max - '…'.len_utf8()));
        text.push('…');
    }
    text
}

/// Nanoseconds since 1970; 0 for earlier times, which OTLP cannot express.
pub fn nanos(at: Timestamp) -> u64 {
    u64::try_from(at.millis()).unwrap_or_default().saturating_mul(1_000_000)
}

/// A kind or status in the spelling of Claude Code or of an agent. Anything that does not look like one becomes `other`, so
/// that no sentence is sent in place of a word.
pub fn word(text: &str) -> &str {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    match (1..=MAX_WORD_CHARS).contains(&text.len()) && text.chars().all(is_plain) {
        true => text,
        false => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_at_a_character() {
        let text = cut("ä".repeat(3_000), 4_096);
        assert!(text.len() <= 4_096 && text.ends_with("ä…"), "{}", text.len());
        assert_eq!(cut("short".to_owned(), 4_096), "short");
    }

    #[test]
    fn a_sentence_is_not_a_word() {
        assert_eq!(word("shutdown_request"), "shutdown_request");
        assert_eq!(word("the password is 1234"), "other");
        assert_eq!(word(""), "other");
        assert_eq!(word(&"x".repeat(65)), "other");
    }
}
