//! The token usage of the model's messages, as transcripts report it.

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::time::{self, Timestamp};

/// One message of the model. It is on several lines of a transcript, and can be in several transcripts, but counts once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageUsage {
    pub id: String,
    /// The start, by Claude Code's clock.
    pub at: Option<Timestamp>,
    pub model: String,
    pub tokens: Tokens,
    #[serde(default, skip_serializing_if = "Terms::is_default")]
    pub terms: Terms,
}

/// The part of a transcript's line with the usage.
#[derive(Deserialize)]
struct UsageLine {
    #[serde(default)]
    timestamp: Value,
    message: Option<UsageMessage>,
}

#[derive(Deserialize)]
struct UsageMessage {
    #[serde(default)]
    id: Value,
    #[serde(default)]
    model: Value,
    usage: Option<Value>,
    content: Option<IgnoredAny>,
}

/// The conditions of a message's price, besides its model and tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Terms {
    /// The model ran in fast mode.
    pub fast: bool,
    /// The model ran in the US only.
    pub us_only: bool,
    /// Searches by Anthropic's servers, which have a price of their own.
    pub web_searches: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// Input tokens, without cached ones.
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// The part of `cache_write` that is kept for an hour.
    #[serde(default)]
    pub cache_write_1h: u64,
}

impl MessageUsage {
    /// Reads a line of a transcript that is parsed already; `None` if it has no usage. Messages that Claude Code writes for
    /// the model (`<synthetic>`) have none.
    pub fn read(line: &Value) -> Option<MessageUsage> {
        MessageUsage::of(UsageLine::deserialize(line).ok()?)
    }

    /// Reads a line of a transcript, without building its texts.
    pub fn parse(line: &[u8]) -> Option<MessageUsage> {
        MessageUsage::of(serde_json::from_slice(line).ok()?)
    }

    fn of(line: UsageLine) -> Option<MessageUsage> {
        let UsageMessage { id, model, usage, content } = line.message?;
        content?;
        let usage = &usage?;
        let text = |value: Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let tokens = |key: &str| usage.get(key).and_then(Value::as_u64).unwrap_or(0);
        Some(MessageUsage {
            id: text(id)?,
            at: line.timestamp.as_str().and_then(time::parse),
            model: text(model).filter(|model| !model.starts_with('<'))?,
            terms: Terms::read(usage),
            tokens: Tokens {
                input: tokens("input_tokens"),
                output: tokens("output_tokens"),
                cache_read: tokens("cache_read_input_tokens"),
                cache_write: tokens("cache_creation_input_tokens"),
                cache_write_1h: usage
                    .pointer("/cache_creation/ephemeral_1h_input_tokens")
                    .and_then(Value::as_u64)
                    .unwrap_or(0),
            },
        })
    }

    /// Adds another line of the message: each has the usage of the message so far.
    pub fn add(&mut self, line: &MessageUsage) {
        self.tokens = self.tokens.most(line.tokens);
        self.terms = self.terms.most(line.terms);
    }
}

impl Terms {
    fn is_default(&self) -> bool {
        *self == Terms::default()
    }

    fn read(usage: &Value) -> Terms {
        let is = |key: &str, value: &str| usage.get(key).and_then(Value::as_str) == Some(value);
        Terms {
            fast: is("speed", "fast"),
            us_only: is("inference_geo", "us"),
            web_searches: usage
                .pointer("/server_tool_use/web_search_requests")
                .and_then(Value::as_u64)
                .unwrap_or(0),
        }
    }

    /// The terms of two lines of a message; the later line has all of them.
    pub fn most(self, other: Terms) -> Terms {
        Terms {
            fast: self.fast || other.fast,
            us_only: self.us_only || other.us_only,
            web_searches: self.web_searches.max(other.web_searches),
        }
    }
}

impl Tokens {
    fn zip(self, other: Tokens, join: fn(u64, u64) -> u64) -> Tokens {
        Tokens {
            input: join(self.input, other.input),
            output: join(self.output, other.output),
            cache_read: join(self.cache_read, other.cache_read),
            cache_write: join(self.cache_write, other.cache_write),
            cache_write_1h: join(self.cache_write_1h, other.cache_write_1h),
        }
    }

    /// All tokens except those read from the cache.
    pub fn new_tokens(self) -> u64 {
        self.input.saturating_add(self.output).saturating_add(self.cache_write)
    }

    /// The larger value of each count: a later line of a message has the higher counts.
    pub fn most(self, other: Tokens) -> Tokens {
        self.zip(other, u64::max)
    }
}

impl std::ops::AddAssign for Tokens {
    fn add_assign(&mut self, other: Tokens) {
        *self = self.zip(other, u64::saturating_add);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_token_usage_of_a_message_is_read_if_it_has_one() {
        let line = |model: &str| {
            json!({"message": {"id": "m", "model": model, "content": [],
            "usage": {"input_tokens": 3, "output_tokens": 2, "cache_read_input_tokens": 1, "x": "y"}}})
        };
        let spent = MessageUsage::read(&line("opus")).unwrap();
        assert_eq!(spent.tokens, Tokens { input: 3, output: 2, cache_read: 1, ..Tokens::default() });
        assert_eq!(spent.terms, Terms::default());
        assert_eq!(MessageUsage::read(&line("<synthetic>")), None);
        assert_eq!(
            MessageUsage::read(&json!({"message": {"id": "m", "model": "opus", "content": []}})),
            None
        );
        let mut sum = spent.tokens.most(Tokens { output: 9, ..Tokens::default() });
        sum += Tokens { output: u64::MAX, ..Tokens::default() };
        assert_eq!(sum, Tokens { input: 3, output: u64::MAX, cache_read: 1, ..Tokens::default() });
    }

    #[test]
    fn a_line_is_parsed_as_a_whole_document_is_read() {
        let usage = json!({"input_tokens": 3, "output_tokens": "x", "speed": "fast"});
        let message =
            |content: Value| json!({"id": "m", "model": "opus", "usage": usage, "content": content});
        let line = json!({"timestamp": "2026-02-03T04:05:06.789Z", "message": message(json!([{"text": "\u{2028}"}]))});
        let spent = MessageUsage::parse(line.to_string().as_bytes()).unwrap();
        assert_eq!(spent.at.map(Timestamp::millis), Some(1_770_091_506_789));
        assert_eq!(Some(spent), MessageUsage::read(&line));
        let cut = line.to_string().replace('\u{2028}', "\\ud83d");
        assert!(MessageUsage::parse(cut.as_bytes()).is_some(), "half of an emoji");
        let odd = json!({"timestamp": 7, "message": message(json!("text"))});
        assert_eq!(MessageUsage::parse(odd.to_string().as_bytes()).unwrap().at, None);
        for other in [
            json!({"message": {"id": "m", "model": "opus", "usage": usage}}),
            json!({"message": {"id": 7, "model": "opus", "usage": usage, "content": []}}),
            json!({"message": {"id": "m", "model": ["opus"], "usage": usage, "content": []}}),
            json!({"message": {"id": "m", "model": "opus", "usage": null, "content": []}}),
            json!({"message": "m"}),
            json!([1]),
        ] {
            assert_eq!(MessageUsage::parse(other.to_string().as_bytes()), None, "{other}");
        }
        assert_eq!(MessageUsage::parse(b"{\"message\":{\"id\":\"m"), None);
    }

    #[test]
    fn fast_mode_region_and_web_searches_are_read_from_any_line_of_a_message() {
        let terms = |usage: Value| {
            MessageUsage::read(
                &json!({"message": {"id": "m", "model": "opus", "usage": usage, "content": []}}),
            )
            .unwrap()
            .terms
        };
        let searches = terms(
            json!({"speed": "standard", "inference_geo": "", "server_tool_use": {"web_search_requests": 2}}),
        );
        assert_eq!(searches, Terms { web_searches: 2, ..Terms::default() });
        let fast = terms(json!({"speed": "fast", "inference_geo": "us", "server_tool_use": null}));
        assert_eq!(searches.most(fast), Terms { fast: true, us_only: true, web_searches: 2 });
        assert_eq!(terms(json!({"speed": 1, "inference_geo": ["us"]})), Terms::default());
    }
}
