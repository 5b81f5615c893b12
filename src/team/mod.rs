//! Parsers for Claude Code's team files. They tolerate missing and unknown fields, and never write.

mod config;
mod inbox;
mod lists;
mod names;
mod transcript;

pub use config::{LeadProcess, Member, Task, TeamConfig};
pub use inbox::{Entry, Notice, entries, fresh_entries};
pub use lists::{HIGHEST_NUMBER, Lists, NamedLists};
pub use names::{TeamPath, directory, erasing, is_of, is_uuid, mailbox, reached, spelled, without_reference};
pub use transcript::{Delivered, Record, Said, Spent, Tokens, read_as, records};

use serde_json::Value;

/// The first non-empty string under one of these keys.
pub(crate) fn text(value: &Value, keys: &[&str]) -> Option<String> {
    let mut texts = keys.iter().filter_map(|key| value.get(key)?.as_str());
    texts.find(|text| !text.is_empty()).map(str::to_owned)
}

/// The first integer under one of these keys.
pub(crate) fn whole(value: &Value, keys: &[&str]) -> Option<i64> {
    keys.iter().find_map(|key| {
        let number = value.get(key)?;
        number.as_i64().or_else(|| number.as_f64().map(|float| float as i64))
    })
}
