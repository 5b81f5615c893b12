//! Reads a whole document or a limited part of it, with repairs where needed.

use std::cell::Cell;

use serde::de::DeserializeSeed;
use serde_json::Value;

use super::bounded::BoundedJson;
use super::repair::repair_surrogates;

/// A document, possibly incomplete.
#[derive(Debug)]
pub struct Opened {
    /// The parsed value.
    pub value: Value,
    /// Whether values were left out because of a limit.
    pub cut: bool,
}

/// Parses a document; `None` if it is not valid JSON.
pub fn parse_lossy(bytes: &[u8]) -> Option<Value> {
    read(bytes, usize::MAX).ok().map(|opened| opened.value)
}

/// Parses a document but keeps at most `most` values in each part, so that a huge document costs little. Values beyond
/// the limit, or nested too deep, become null or are left out. Objects on the first three levels keep every key, and
/// each of their keys has its own limit: large values cannot displace another key.
///
/// # Errors
/// When it is not valid JSON.
pub fn read(bytes: &[u8], most: usize) -> serde_json::Result<Opened> {
    parse(bytes, most).or_else(|error| match repair_surrogates(bytes) {
        Some(repaired) => parse(&repaired, most),
        None => Err(error),
    })
}

fn parse(bytes: &[u8], most: usize) -> serde_json::Result<Opened> {
    let (left, cut) = (Cell::new(most), Cell::new(false));
    let mut from = serde_json::Deserializer::from_slice(bytes);
    let value = BoundedJson { left: &left, most, depth: 0, cut: &cut }.deserialize(&mut from)?;
    from.end()?;
    Ok(Opened { value, cut: cut.get() })
}

/// Parses the document at the beginning of a text and ignores the rest.
pub fn parse_prefix(text: &str) -> Option<Value> {
    let (left, cut) = (Cell::new(usize::MAX), Cell::new(false));
    let plain = || BoundedJson { left: &left, most: usize::MAX, depth: 0, cut: &cut };
    let read = |text: &str| plain().deserialize(&mut serde_json::Deserializer::from_str(text)).ok();
    read(text).or_else(|| read(std::str::from_utf8(&repair_surrogates(text.as_bytes())?).ok()?))
}
