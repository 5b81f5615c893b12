//! The strings of a JSON text, one by one: what is not taken out stays as it is written, numbers that no float holds
//! and keys that stand twice included.

use std::borrow::Cow;

use serde::de::IgnoredAny;

use super::Redactor;

/// Whether a text is one JSON document.
pub(super) fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Leads the rules over every string of a text that stands so deep in others.
pub(super) fn redact<'a>(redactor: &Redactor, text: &'a str, depth: usize) -> Cow<'a, str> {
    let mut changed: Option<String> = None;
    let mut copied = 0;
    let mut key = String::new();
    let mut at = 0;
    while let Some(start) = text[at..].find('"').map(|found| at + found) {
        let end = end_of(text, start);
        let token = &text[start..end];
        let string = open(token);
        let is_key = text[end..].trim_start().starts_with(':');
        let is_value = !is_key && text[..start].trim_end().ends_with(':');
        let new = match is_value && redactor.is_secret(&key, &string) {
            true => Some(redactor.stand_in().to_owned()),
            false => match redactor.nested(&string, depth + 1) {
                Cow::Owned(new) => Some(new),
                Cow::Borrowed(_) => None,
            },
        };
        if is_key {
            key = string.into_owned();
        }
        if let Some(new) = new {
            let so_far = changed.get_or_insert_with(|| String::with_capacity(text.len()));
            so_far.push_str(&text[copied..start]);
            so_far.push_str(&serde_json::Value::String(new).to_string());
            copied = end;
        }
        at = end;
    }
    match changed {
        Some(mut changed) => {
            changed.push_str(&text[copied..]);
            Cow::Owned(changed)
        }
        None => Cow::Borrowed(text),
    }
}

/// Where the string that begins at a quote ends, behind its closing quote; the end of a text that was cut.
fn end_of(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            // What follows is a whole character, or the text is none that ends well.
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

/// What a string says. One that cannot be opened (half a surrogate pair, a cut) is taken as it is written.
fn open(token: &str) -> Cow<'_, str> {
    let inner = token.get(1..token.len().saturating_sub(1)).unwrap_or_default();
    if !inner.contains('\\') && token.len() > 1 && token.ends_with('"') {
        return Cow::Borrowed(inner);
    }
    match serde_json::from_str::<String>(token) {
        Ok(said) => Cow::Owned(said),
        Err(_) => Cow::Borrowed(token.trim_matches('"')),
    }
}
