//! Tolerant JSON reading: one odd value must not hide the rest of a document.
//!
//! When a JavaScript program cuts a text in the middle of an emoji, it writes half a surrogate pair (`\ud83d`), and a
//! number may be larger than any float. Both are legal to write, but a strict parser rejects the whole document. Here
//! half a pair becomes U+FFFD and such a number becomes null. Keys with a special meaning for `serde_json` are read as
//! plain keys.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

#[derive(Debug, Default)]
pub struct Opened {
    pub value: Value,
    pub cut: bool,
}

pub fn parse_lossy(bytes: &[u8]) -> Option<Value> {
    let opened = read(bytes, usize::MAX).ok().or_else(|| match String::from_utf8_lossy(bytes) {
        Cow::Owned(text) => read(text.as_bytes(), usize::MAX).ok(),
        Cow::Borrowed(_) => None,
    });
    opened.map(|opened| opened.value)
}

/// Parses a document but keeps at most `most` values in each part, so that a huge document costs little. Values beyond
/// the limit, or nested too deep, become null or are left out. Objects on the first three levels keep every key, and
/// each of their keys has its own limit: large values cannot displace another key.
pub fn read(bytes: &[u8], most: usize) -> serde_json::Result<Opened> {
    read_without(bytes, most, &[])
}

/// The same without these keys of the outermost object.
pub(crate) fn read_without(bytes: &[u8], most: usize, unused: &[&str]) -> serde_json::Result<Opened> {
    parse(bytes, most, unused).or_else(|error| match repair_surrogates(bytes) {
        Some(repaired) => parse(&repaired, most, unused),
        None => Err(error),
    })
}

fn parse(bytes: &[u8], most: usize, unused: &[&str]) -> serde_json::Result<Opened> {
    let (left, cut) = (Cell::new(most), Cell::new(false));
    let mut from = serde_json::Deserializer::from_slice(bytes);
    let value = BoundedJson { left: &left, most, depth: 0, cut: &cut, unused }.deserialize(&mut from)?;
    from.end()?;
    Ok(Opened { value, cut: cut.get() })
}

/// Parses the document at the beginning of a text and ignores the rest.
pub fn parse_prefix(text: &str) -> Option<Value> {
    let (left, cut) = (Cell::new(usize::MAX), Cell::new(false));
    let plain = || BoundedJson { left: &left, most: usize::MAX, depth: 0, cut: &cut, unused: &[] };
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
                // Rust also parses numbers that are none in JSON, such as 09e999.
                let is_valid = || serde_json::from_slice::<IgnoredAny>(token).is_ok();
                let endless = number.is_some_and(f64::is_infinite) && is_valid();
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

/// Maximum depth of nested containers; deeper values become null. `serde_json` fails at 128.
const MAX_DEPTH: usize = 100;

/// Number of levels on which objects keep all their keys, regardless of the limit.
const FULL_DEPTH: usize = 3;

#[derive(Clone, Copy)]
struct BoundedJson<'a> {
    /// Number of values that this part may still keep.
    pub left: &'a Cell<usize>,
    /// Number of values that each part may keep.
    pub most: usize,
    pub depth: usize,
    /// Set when something was left out.
    pub cut: &'a Cell<bool>,
    /// Keys that are left out of this object, but not of those in it.
    pub unused: &'a [&'a str],
}

impl BoundedJson<'_> {
    fn inner(self) -> Self {
        BoundedJson { depth: self.depth + 1, unused: &[], ..self }
    }
}

impl<'de> DeserializeSeed<'de> for BoundedJson<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        match self.left.get().checked_sub(1).filter(|_| self.depth < MAX_DEPTH) {
            Some(left) => {
                self.left.set(left);
                from.deserialize_any(self)
            }
            None => {
                // Skipping does not recurse, so it needs no depth limit.
                self.cut.set(true);
                IgnoredAny::deserialize(from).map(|_| Value::Null)
            }
        }
    }
}

impl<'de> Visitor<'de> for BoundedJson<'_> {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while self.left.get() > 0 {
            match from.next_element_seed(self.inner())? {
                Some(value) => values.push(value),
                None => return Ok(Value::Array(values)),
            }
        }
        while from.next_element::<IgnoredAny>()?.is_some() {
            self.cut.set(true);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut values = Map::new();
        while let Some(key) = from.next_key::<Cow<'_, str>>()? {
            if self.unused.contains(&&*key) {
                from.next_value::<IgnoredAny>()?;
                continue;
            }
            let key = key.into_owned();
            let own = Cell::new(self.most);
            let left = if self.depth < FULL_DEPTH { &own } else { self.left };
            let room = left.get() > 0;
            let value = from.next_value_seed(BoundedJson { left, ..self.inner() })?;
            if room {
                values.insert(key, value);
            }
        }
        Ok(Value::Object(values))
    }
}

/// The string values of these keys on the first level of an object, even if the object is truncated after them.
pub(crate) fn scan_top_level(bytes: &[u8], keys: &[&str]) -> Map<String, Value> {
    let found = RefCell::default();
    // The result does not matter: values found before an error are kept.
    let _ =
        TopLevelFields { keys, found: &found }.deserialize(&mut serde_json::Deserializer::from_slice(bytes));
    found.into_inner()
}

struct TopLevelFields<'a> {
    keys: &'a [&'a str],
    found: &'a RefCell<Map<String, Value>>,
}

impl<'de> DeserializeSeed<'de> for TopLevelFields<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for TopLevelFields<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<(), A::Error> {
        while let Some(key) = from.next_key::<Cow<'_, str>>()? {
            if self.keys.contains(&&*key) {
                let text = from.next_value::<String>()?;
                self.found.borrow_mut().insert(key.into_owned(), Value::String(text));
            } else {
                from.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
