//! Tolerant JSON reading: one odd value must not hide the rest of a document.
//!
//! When a JavaScript program cuts a text in the middle of an emoji, it writes half a surrogate pair (`\ud83d`), and a
//! number may be larger than any float. Both are legal to write, but a strict parser rejects the whole document. Here
//! half a pair becomes U+FFFD and such a number becomes null. Keys with a special meaning for `serde_json` are read as
//! plain keys.

mod bounded;

use std::cell::Cell;

use serde::Serialize;
use serde::de::DeserializeSeed;
use serde_json::Value;

use bounded::BoundedJson;
pub use bounded::scan_top_level;

#[derive(Debug, Default)]
pub struct Opened {
    pub value: Value,
    pub cut: bool,
}

pub fn parse_lossy(bytes: &[u8]) -> Option<Value> {
    read(bytes, usize::MAX).ok().map(|opened| opened.value)
}

/// Parses a document but keeps at most `most` values in each part, so that a huge document costs little. Values beyond
/// the limit, or nested too deep, become null or are left out. Objects on the first three levels keep every key, and
/// each of their keys has its own limit: large values cannot displace another key.
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

/// The JSON spelling of a value without fields, such as `task-changed`. Empty if it is not a string in JSON.
pub fn serde_name(of: &impl Serialize) -> String {
    match serde_json::to_value(of) {
        Ok(Value::String(word)) => word,
        _ => String::new(),
    }
}

/// Replaces half surrogate pairs and numbers that are too large; `None` if there are none.
fn repair_surrogates(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(bytes.len());
    let (mut at, mut changed) = (0, false);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                let (end, mended) = string(bytes, at, &mut out);
                changed |= mended;
                at = end;
            }
            b'-' | b'0'..=b'9' => {
                let rest = &bytes[at..];
                let long = rest
                    .iter()
                    .take_while(|byte| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9'));
                let token = &rest[..long.count().max(1)];
                let number = std::str::from_utf8(token).ok().and_then(|token| token.parse::<f64>().ok());
                let endless = number.is_some_and(f64::is_infinite);
                out.extend_from_slice(if endless { b"null" } else { token });
                changed |= endless;
                at += token.len();
            }
            byte => {
                out.push(*byte);
                at += 1;
            }
        }
    }
    changed.then_some(out)
}

/// Copies one string from its opening quote. Returns the offset after it and whether it was repaired.
fn string(bytes: &[u8], start: usize, out: &mut Vec<u8>) -> (usize, bool) {
    let (mut at, mut changed) = (start + 1, false);
    out.push(b'"');
    while let Some(byte) = bytes.get(at) {
        let unit = |at: usize| -> Option<u16> {
            let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
            u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
        };
        let taken = match (byte, unit(at)) {
            (b'\\', Some(0xd800..=0xdbff)) if matches!(unit(at + 6), Some(0xdc00..=0xdfff)) => 12,
            (b'\\', Some(0xd800..=0xdfff)) => {
                out.extend_from_slice(b"\\ufffd");
                changed = true;
                at += 6;
                continue;
            }
            (b'\\', _) => 2,
            _ => 1,
        };
        let end = (at + taken).min(bytes.len());
        out.extend_from_slice(&bytes[at..end]);
        at = end;
        if *byte == b'"' {
            break;
        }
    }
    (at, changed)
}

#[cfg(test)]
mod tests;
