//! Reads a document, whole or as much of it as is wanted; mended where it must be.

use std::cell::Cell;

use serde::de::DeserializeSeed;
use serde_json::Value;

use super::plain::Plain;
use super::repair::repaired;

/// A document, as far as it was opened.
#[derive(Debug)]
pub struct Opened {
    /// What it says.
    pub value: Value,
    /// Whether something too deep or too much was left out.
    pub cut: bool,
}

/// Reads a document; `None` when it is no JSON.
pub fn lenient(bytes: &[u8]) -> Option<Value> {
    read(bytes, usize::MAX).ok().map(|opened| opened.value)
}

/// Reads a document of which no more than `most` values are kept in any one part, so that a huge one costs little.
/// What lies past them, or deeper than anybody looks, is null or left out. The objects on the first three levels keep
/// every key, and what stands below one of their keys never costs another its place: nobody can hide a key behind
/// rubbish.
///
/// # Errors
/// When it is no JSON.
pub fn read(bytes: &[u8], most: usize) -> serde_json::Result<Opened> {
    parse(bytes, most).or_else(|error| match repaired(bytes) {
        Some(repaired) => parse(&repaired, most),
        None => Err(error),
    })
}

fn parse(bytes: &[u8], most: usize) -> serde_json::Result<Opened> {
    let (left, cut) = (Cell::new(most), Cell::new(false));
    let mut from = serde_json::Deserializer::from_slice(bytes);
    let value = Plain { left: &left, most, depth: 0, cut: &cut }.deserialize(&mut from)?;
    from.end()?;
    Ok(Opened { value, cut: cut.get() })
}

/// Reads a text whose beginning is a document, whatever follows it.
pub fn beginning(text: &str) -> Option<Value> {
    let (left, cut) = (Cell::new(usize::MAX), Cell::new(false));
    let plain = || Plain { left: &left, most: usize::MAX, depth: 0, cut: &cut };
    let read = |text: &str| plain().deserialize(&mut serde_json::Deserializer::from_str(text)).ok();
    read(text).or_else(|| read(std::str::from_utf8(&repaired(text.as_bytes())?).ok()?))
}
