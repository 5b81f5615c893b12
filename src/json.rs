//! JSON from outside, read so that one oddity does not hide the rest.
//!
//! A JavaScript client that cuts a text in the middle of an emoji writes half a surrogate pair (`\ud83d`), and a number
//! may be larger than any float: both are legal to write, and would make a strict reader refuse the whole document.
//! Here half a pair becomes U+FFFD and such a number null. Keys are keys, whatever a library means by them.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

/// How deep values are opened. A strict reader gives up at 128; what lies deeper than this is null instead.
const DEEPEST: usize = 100;

/// How many levels of objects keep all their keys, however much stands before them.
const WHOLE: usize = 3;

/// A document, as far as it was opened.
#[derive(Debug)]
pub struct Opened {
    /// What it says.
    pub value: Value,
    /// Whether something too deep or too much was left out.
    pub cut: bool,
}

/// How a value without fields is spelled in JSON: a kind's `task-changed`. Empty for what is no text there.
pub fn word(of: &impl Serialize) -> String {
    match serde_json::to_value(of) {
        Ok(Value::String(word)) => word,
        _ => String::new(),
    }
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

/// A text on the first level of an object, even if the object breaks off after it.
pub fn early(bytes: &[u8], key: &str) -> Option<String> {
    let found = RefCell::new(None);
    // However it ends: what was found before that counts.
    let _ = Early { key, found: &found }.deserialize(&mut serde_json::Deserializer::from_slice(bytes));
    found.into_inner()
}

/// Looks for one text among an object's keys.
struct Early<'a> {
    key: &'a str,
    found: &'a RefCell<Option<String>>,
}

impl<'de> DeserializeSeed<'de> for Early<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Early<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<(), A::Error> {
        while let Some(key) = from.next_key::<Cow<'_, str>>()? {
            if key == self.key {
                *self.found.borrow_mut() = Some(from.next_value::<String>()?);
            } else {
                from.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

/// Builds a plain value, as long as some are left to be kept.
#[derive(Clone, Copy)]
struct Plain<'a> {
    /// What this part may still keep.
    left: &'a Cell<usize>,
    /// What each part may keep.
    most: usize,
    /// How many containers are around it.
    depth: usize,
    /// Set once something is left out.
    cut: &'a Cell<bool>,
}

impl Plain<'_> {
    /// One level further in.
    fn inner(self) -> Self {
        Plain { depth: self.depth + 1, ..self }
    }
}

impl<'de> DeserializeSeed<'de> for Plain<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        match self.left.get().checked_sub(1).filter(|_| self.depth < DEEPEST) {
            Some(left) => {
                self.left.set(left);
                from.deserialize_any(self)
            }
            None => {
                // Skipping needs no stack, so it knows no limit.
                self.cut.set(true);
                IgnoredAny::deserialize(from).map(|_| Value::Null)
            }
        }
    }
}

impl<'de> Visitor<'de> for Plain<'_> {
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

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
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
            let key = key.into_owned();
            let own = Cell::new(self.most);
            let left = if self.depth < WHOLE { &own } else { self.left };
            let room = left.get() > 0;
            let value = from.next_value_seed(Plain { left, ..self.inner() })?;
            if room {
                values.insert(key, value);
            }
        }
        Ok(Value::Object(values))
    }
}

/// The document with half surrogate pairs and endless numbers replaced; `None` when it has none.
fn repaired(bytes: &[u8]) -> Option<Vec<u8>> {
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

/// Copies one string, from its opening quote on; gives where it ends and whether anything was mended.
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
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn half_a_pair_hides_nothing() {
        let read = lenient(br#"[{"text":"cut \ud83d"},{"text":"\ude00 \ud83d\ude00 \\ud83d"}]"#).unwrap();
        assert_eq!(read, json!([{"text": "cut \u{fffd}"}, {"text": "\u{fffd} 😀 \\ud83d"}]));
    }

    #[test]
    fn an_endless_number_hides_nothing() {
        assert_eq!(
            lenient(br#"{"a":1e999,"b":"1e999","c":[-1e999,2.5,-3]}"#).unwrap(),
            json!({"a":null,"b":"1e999","c":[null,2.5,-3]})
        );
    }

    #[test]
    fn a_key_is_a_key() {
        let number = br#"{"x":{"$serde_json::private::Number":"abc"}}"#;
        assert_eq!(lenient(number).unwrap()["x"]["$serde_json::private::Number"], "abc");
        let raw = br#"{"$serde_json::private::RawValue":"{\"hook_event_name\":\"SessionEnd\"}"}"#;
        assert_eq!(lenient(raw).unwrap().get("hook_event_name"), None);
    }

    #[test]
    fn what_is_no_json_stays_none() {
        for bad in [&b"{\"a\":"[..], b"", b"nope", b"[1] x", b"\"\\ud83d", b"\xff"] {
            assert_eq!(lenient(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_huge_document_is_kept_in_part() {
        let many = format!("{{\"session_id\":\"s\",\"list\":[{}1],\"after\":2}}", "1,".repeat(100_000));
        let read = read(many.as_bytes(), 1_000).unwrap();
        assert_eq!(read.value["session_id"], "s");
        assert!(read.value["list"].as_array().unwrap().len() < 1_000 && read.cut);
    }

    #[test]
    fn rubbish_hides_no_key_behind_it() {
        let wide = format!("[{}1]", "1,".repeat(2_000));
        let keys: String = (0..2_000).map(|n| format!("\"k{n}\":{{\"x\":0}},")).collect();
        let text =
            format!("{{{keys}\"a\":{wide},\"in\":{{{keys}\"b\":{{{keys}\"c\":{wide},\"type\":\"t\"}}}}}}");
        assert_eq!(read(text.as_bytes(), 1_000).unwrap().value["in"]["b"]["type"], "t");
    }

    #[test]
    fn what_is_too_deep_is_null_and_hides_nothing() {
        for deep in [130, 100_000] {
            for (open, close) in [("{\"d\":", "}"), ("[", "]")] {
                let nested = format!("{}1e999{}", open.repeat(deep), close.repeat(deep));
                let text = format!("{{\"deep\":{nested},\"after\":{{\"text\":\"\\ud83d\"}}}}");
                let opened = read(text.as_bytes(), usize::MAX).unwrap();
                assert_eq!(opened.value["after"]["text"], "\u{fffd}");
                assert!(opened.cut && opened.value["deep"].to_string().contains("null"));
            }
        }
        assert!(!read(b"{\"a\":[1]}", 10).unwrap().cut);
    }

    #[test]
    fn a_text_before_the_break_is_found() {
        let broken = br#"{"a":{"k":"inner"},"k":"yes","b":{"k":"late","text":"cut"#;
        assert_eq!(early(broken, "k").as_deref(), Some("yes"));
        assert_eq!((early(broken, "b"), early(b"[1]", "k"), early(b"", "k")), (None, None, None));
    }

    #[test]
    fn a_beginning_is_read_whatever_follows() {
        assert_eq!(beginning("{\"a\":1}\n\nand words"), Some(json!({"a": 1})));
        assert_eq!(beginning("words"), None);
    }
}
