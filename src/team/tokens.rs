//! What the model's messages cost: a transcript has it with each piece of a message.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::text;

/// What a message of the model cost, as one line of a transcript has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spent {
    /// The message's id. Its pieces are lines of their own, and each line tells the whole message's cost so far.
    pub message: String,
    /// The model.
    pub model: Option<String>,
    /// The tokens.
    pub tokens: Tokens,
}

/// Tokens, by what they are paid as.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// Read by the model, and not from its cache.
    pub input: u64,
    /// Written by the model.
    pub output: u64,
    /// Read from the cache.
    pub cache_read: u64,
    /// Put into the cache.
    pub cache_write: u64,
}

impl Spent {
    /// Reads a line of a transcript; `None` where it tells of no cost. What the client writes in the model's name
    /// (`<synthetic>`) cost nothing.
    pub fn read(line: &Value) -> Option<Spent> {
        let message = line.get("message")?;
        let usage = message.get("usage")?;
        let tokens = |key: &str| usage.get(key).and_then(Value::as_u64).unwrap_or(0);
        let model = text(message, &["model"]).filter(|model| !model.starts_with('<'));
        let message = text(message, &["id"])?;
        model.is_some().then_some(Spent {
            message,
            model,
            tokens: Tokens {
                input: tokens("input_tokens"),
                output: tokens("output_tokens"),
                cache_read: tokens("cache_read_input_tokens"),
                cache_write: tokens("cache_creation_input_tokens"),
            },
        })
    }
}

impl Tokens {
    /// The most that either says: a later piece of a message knows more.
    pub fn most(self, other: Tokens) -> Tokens {
        Tokens {
            input: self.input.max(other.input),
            output: self.output.max(other.output),
            cache_read: self.cache_read.max(other.cache_read),
            cache_write: self.cache_write.max(other.cache_write),
        }
    }
}

impl std::ops::AddAssign for Tokens {
    fn add_assign(&mut self, other: Tokens) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_message_s_cost_is_read_where_there_is_one() {
        let line = |model: &str| {
            json!({"message": {"id": "m", "model": model,
            "usage": {"input_tokens": 3, "output_tokens": 2, "cache_read_input_tokens": 1, "x": "y"}}})
        };
        let spent = Spent::read(&line("opus")).unwrap();
        assert_eq!(spent.tokens, Tokens { input: 3, output: 2, cache_read: 1, cache_write: 0 });
        assert_eq!(Spent::read(&line("<synthetic>")), None);
        assert_eq!(Spent::read(&json!({"message": {"id": "m", "model": "opus"}})), None);
        let mut sum = spent.tokens.most(Tokens { output: 9, ..Tokens::default() });
        sum += Tokens { output: u64::MAX, ..Tokens::default() };
        assert_eq!(sum, Tokens { input: 3, output: u64::MAX, cache_read: 1, cache_write: 0 });
    }
}
