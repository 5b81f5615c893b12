//! The strings of a JSON text, one by one: what is not taken out stays as it is written, numbers that no float holds
//! and keys that stand twice included.

use std::borrow::Cow;

use serde::de::IgnoredAny;

use super::Redactor;
use super::escapes::opened;

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
        let (string, exact) = open(token);
        let is_key = text[end..].trim_start().starts_with(':');
        let is_value = !is_key && text[..start].trim_end().ends_with(':');
        let new = match is_value && redactor.is_secret(&key, &string) {
            true => Some(quoted(redactor.stand_in())),
            false => clean(redactor, inner(token), &string, exact, depth),
        };
        if is_key {
            key = string.into_owned();
        }
        if let Some(new) = new {
            let so_far = changed.get_or_insert_with(|| String::with_capacity(text.len()));
            so_far.push_str(&text[copied..start]);
            so_far.push_str(&new);
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

/// A string as it is to be written, where the rules find anything in it.
fn clean(redactor: &Redactor, written: &str, said: &str, exact: bool, depth: usize) -> Option<String> {
    // What cannot be said exactly stays as it is written, unless it is JSON itself.
    if !exact && !said.trim_start().starts_with(['{', '[']) {
        return match redactor.nested(written, depth + 1) {
            Cow::Owned(new) => Some(format!("\"{new}\"")),
            Cow::Borrowed(_) => None,
        };
    }
    match redactor.nested(said, depth + 1) {
        Cow::Owned(new) => Some(quoted(&new)),
        Cow::Borrowed(_) => None,
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
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

/// What stands between the quotes of a string; the second is missing where a text was cut.
fn inner(token: &str) -> &str {
    let inner = token.strip_prefix('"').unwrap_or(token);
    let closed = inner.strip_suffix('"').filter(|inner| {
        let backslashes = inner.bytes().rev().take_while(|byte| *byte == b'\\').count();
        backslashes % 2 == 0
    });
    closed.unwrap_or(inner)
}

/// What a string says, and whether it says so exactly: half a surrogate pair and a cut are opened as far as they go.
fn open(token: &str) -> (Cow<'_, str>, bool) {
    let inner = inner(token);
    if !inner.contains('\\') {
        return (Cow::Borrowed(inner), true);
    }
    match serde_json::from_str::<String>(token) {
        Ok(said) => (Cow::Owned(said), true),
        Err(_) => (Cow::Owned(opened(inner)), false),
    }
}
