//! The token usage of the model's messages, as transcripts report it.

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::text;
use crate::time::{self, Timestamp};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spent {
    /// The message's id. Each part of a message has its own line, with the usage of the message so far.
    pub message: String,
    pub model: Option<String>,
    pub tokens: Tokens,
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

impl Spent {
    /// Reads a line of a transcript; `None` if it has no usage. Messages that Claude Code writes for the model
    /// (`<synthetic>`) have none.
    pub fn read(line: &Value) -> Option<Spent> {
        let message = line.get("message")?;
        Spent::of(text(message, &["id"]), text(message, &["model"]), message.get("usage")?)
    }

    /// Reads a line with its time, without building its texts.
    pub fn parse(line: &[u8]) -> Option<(Option<Timestamp>, Spent)> {
        let line: UsageLine = serde_json::from_slice(line).ok()?;
        let message = line.message?;
        message.content?;
        let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let spent = Spent::of(text(&message.id), text(&message.model), &message.usage?)?;
        Some((line.timestamp.as_str().and_then(time::parse), spent))
    }

    fn of(message: Option<String>, model: Option<String>, usage: &Value) -> Option<Spent> {
        let message = message?;
        let tokens = |key: &str| usage.get(key).and_then(Value::as_u64).unwrap_or(0);
        let model = model.filter(|model| !model.starts_with('<'));
        model.is_some().then_some(Spent {
            message,
            model,
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
}

impl Terms {
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
            json!({"message": {"id": "m", "model": model,
            "usage": {"input_tokens": 3, "output_tokens": 2, "cache_read_input_tokens": 1, "x": "y"}}})
        };
        let spent = Spent::read(&line("opus")).unwrap();
        assert_eq!(spent.tokens, Tokens { input: 3, output: 2, cache_read: 1, ..Tokens::default() });
        assert_eq!(spent.terms, Terms::default());
        assert_eq!(Spent::read(&line("<synthetic>")), None);
        assert_eq!(Spent::read(&json!({"message": {"id": "m", "model": "opus"}})), None);
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
        let (at, spent) = Spent::parse(line.to_string().as_bytes()).unwrap();
        assert_eq!((at.map(Timestamp::millis), Some(spent)), (Some(1_770_091_506_789), Spent::read(&line)));
        let cut = line.to_string().replace('\u{2028}', "\\ud83d");
        assert!(Spent::parse(cut.as_bytes()).is_some(), "half of an emoji");
        let odd = json!({"timestamp": 7, "message": message(json!("text"))});
        assert_eq!(Spent::parse(odd.to_string().as_bytes()).unwrap().0, None);
        for other in [
            json!({"message": {"id": "m", "model": "opus", "usage": usage}}),
            json!({"message": {"id": 7, "model": "opus", "usage": usage, "content": []}}),
            json!({"message": {"id": "m", "model": ["opus"], "usage": usage, "content": []}}),
            json!({"message": {"id": "m", "model": "opus", "usage": null, "content": []}}),
            json!({"message": "m"}),
            json!([1]),
        ] {
            assert_eq!(Spent::parse(other.to_string().as_bytes()), None, "{other}");
        }
        assert_eq!(Spent::parse(b"{\"message\":{\"id\":\"m"), None);
    }

    #[test]
    fn fast_mode_region_and_web_searches_are_read_from_any_line_of_a_message() {
        let terms = |usage: Value| {
            Spent::read(&json!({"message": {"id": "m", "model": "opus", "usage": usage}})).unwrap().terms
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
