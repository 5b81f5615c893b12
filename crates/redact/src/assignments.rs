//! Values that are assigned to a name, in any syntax: configuration, program text, headers, options, queries.

use std::ops::Range;

use super::names::{Strength, is_code, is_mixed, is_name, is_placeholder, is_random, is_reference, strength};

/// A longer value ends here if its quote is not closed.
const MAX_QUOTED: usize = 4096;
/// The part of a value that is checked.
const MAX_CHECKED: usize = 512;
const MAX_NAME: usize = 64;
const MAX_LINE: usize = 200;
const MAX_COLOR: usize = 16;

const QUOTES: &[&str] = &["\"", "'", "`", "&quot;", "&#34;", "&#39;", "%22"];

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Quoted,
    /// After `=` without spaces, or after an option.
    Shell,
    /// After a colon, or with spaces, as prose and program text have it.
    Loose,
    /// The argument of a function, or a quoted text that follows a name.
    Argument,
}

struct Value {
    style: Style,
    range: Range<usize>,
}

/// The identifier around a trigger.
pub(super) fn identifier(text: &str, trigger: Range<usize>) -> Range<usize> {
    let bytes = text.as_bytes();
    let part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let before = bytes[..trigger.start].iter().rev().take(MAX_NAME).take_while(|byte| part(byte)).count();
    let after =
        bytes[trigger.end..].iter().take(MAX_NAME).take_while(|byte| part(byte) && **byte != b'.').count();
    trigger.start - before..trigger.end + after
}

/// The secret that is assigned to the identifier at this place.
pub(super) fn find(text: &str, name: Range<usize>) -> Option<Range<usize>> {
    let mut value = value(text, &name)?;
    let strength = strength(&text[name.clone()])?;
    if text[..name.start].ends_with("[redacted:") {
        return None;
    }
    let name = &text[name];
    let found = &text[value.range.clone()];
    let found = &found[..found.floor_char_boundary(MAX_CHECKED)];
    let next = text[value.range.end..].chars().next();
    if !counts(strength, name, value.style, found, next) {
        return None;
    }
    if matches!(value.style, Style::Shell | Style::Loose) && value.range.len() + 4 > MAX_CHECKED {
        let rest = &text[value.range.end..];
        value.range.end += rest.find(is_end).unwrap_or(rest.len());
    }
    Some(value.range)
}

/// Whether the value of a key in JSON is a secret.
pub(super) fn is_secret(strength: Strength, key: &str, value: &str) -> bool {
    let short = &value[..value.floor_char_boundary(MAX_CHECKED)];
    counts(strength, key, Style::Quoted, short, None)
}

/// Words without a capital letter or punctuation, such as `correct horse`. Text about a password is a sentence.
fn is_passphrase(value: &str) -> bool {
    let mut words = value.split(' ');
    words.clone().count() > 1
        && words.all(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase()))
}

fn counts(strength: Strength, name: &str, style: Style, value: &str, next: Option<char>) -> bool {
    if value.is_empty() || is_placeholder(value) || is_reference(value) {
        return false;
    }
    let is_shouted = name.bytes().any(|byte| byte.is_ascii_uppercase())
        && !name.bytes().any(|byte| byte.is_ascii_lowercase());
    if is_name(value, !is_shouted && style != Style::Quoted) {
        return false;
    }
    let is_call = matches!(next, Some('(' | '[' | '{' | '<'));
    let has_letter = value.bytes().any(|byte| byte.is_ascii_alphabetic());
    match (style, strength) {
        (Style::Quoted, Strength::Strong) => {
            !value.contains(char::is_whitespace)
                || is_mixed(value)
                || is_phrase(name)
                || (is_password(name) && is_passphrase(value))
        }
        (Style::Quoted | Style::Argument, Strength::Weak) => {
            is_random(value, if is_shouted { 10 } else { 16 })
        }
        (Style::Argument, Strength::Strong) => {
            value.len() >= 6 && has_variety(value) && !value.contains(char::is_whitespace)
        }
        _ if is_call || is_code(value) => false,
        (Style::Shell, Strength::Strong) => {
            value.len() >= 4 && (is_mixed(value) || is_shouted || is_password(name))
        }
        (Style::Shell, Strength::Weak) => {
            is_random(value, 16) || is_shouted && value.len() >= 8 && is_mixed(value) && has_letter
        }
        (_, Strength::Strong) if next == Some(';') => is_random(value, 16),
        (_, Strength::Strong) => value.len() >= 6 && has_variety(value),
        (_, Strength::Weak) => is_random(value, 20),
    }
}

/// Whether a text is more than words.
fn has_variety(value: &str) -> bool {
    is_mixed(value) || is_random(value, 10)
}

/// A secret of several words.
fn is_phrase(name: &str) -> bool {
    name.to_ascii_lowercase().ends_with("phrase")
}

fn is_password(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["password", "passwd", "pwd", "pass"].iter().any(|end| name.ends_with(end))
}

fn value(text: &str, name: &Range<usize>) -> Option<Value> {
    let before = &text[..name.start];
    let after = &text[name.end..];
    let quote = quote(after);
    let open = &after[quote.map_or(0, str::len)..];
    let open = open.strip_prefix(']').unwrap_or(open);
    let rest = blank(open);
    let is_tight = rest.len() == open.len();
    let at = |rest: &str| text.len() - rest.len();
    let is_word = rest.starts_with(|c: char| c.is_ascii_lowercase());
    if is_word && quote.is_none() && !is_tight && !is_argument(text, name) && !rest.starts_with("is ") {
        return typed(text, at(rest));
    }
    if let Some(sign) = ["=", ":", "%3D", "%3d", "%3A"].iter().find(|sign| rest.starts_with(**sign)) {
        let mut rest = &rest[sign.len()..];
        if *sign == ":" && rest.starts_with(':') {
            return None;
        }
        rest = rest.trim_start_matches(['=', '>']);
        let mut open = blank(rest);
        if quote.is_some() {
            // A list: its first element.
            open = open.trim_start_matches('[');
        }
        let style =
            if is_tight && open.len() == rest.len() && *sign != ":" { Style::Shell } else { Style::Loose };
        return typed(text, at(open)).or_else(|| assigned(text, at(open), style));
    }
    if quote.is_some() {
        // A pair: `"name", "value"`, or an element with a name and a value.
        let rest = rest.trim_start_matches(',').trim_start();
        let rest = rest.trim_start_matches(['"', '\'']);
        return match rest.strip_prefix("value") {
            Some(rest) => {
                let rest = blank(rest.trim_start_matches(['"', '\'']));
                let rest = rest.strip_prefix(['=', ':'])?;
                assigned(text, at(blank(rest)), Style::Loose)
            }
            None => quoted(text, at(blank(open.strip_prefix(',')?)), Style::Argument),
        };
    }
    if before.ends_with('<') && open.starts_with('>') {
        let end = open.find('<').filter(|end| *end < MAX_QUOTED)?;
        return Some(Value { style: Style::Quoted, range: at(&open[1..])..at(&open[end..]) });
    }
    if let Some(rest) = open.strip_prefix('(') {
        return quoted(text, at(rest), Style::Argument);
    }
    if let Some(value) = open.trim_start_matches([' ', '\r']).strip_prefix('\n') {
        // An entry of a list with a name and a value on the next line.
        let is_entry = line(before).trim_end_matches(['"', '\'']).trim_end().ends_with("name:");
        let value = blank(value).strip_prefix("value:").filter(|_| is_entry)?;
        return assigned(text, at(blank(value)), Style::Loose);
    }
    if is_tight {
        return None;
    }
    if is_argument(text, name) {
        return assigned(text, at(rest), Style::Shell);
    }
    if let Some(rest) = rest.strip_prefix("is ") {
        return assigned(text, at(blank(rest)), Style::Loose);
    }
    typed(text, at(rest)).or_else(|| quoted(text, at(rest), Style::Argument))
}

/// The end of the line before a name.
fn line(before: &str) -> &str {
    let line = &before[before.ceil_char_boundary(before.len().saturating_sub(MAX_LINE))..];
    line.rsplit('\n').next().unwrap_or_default()
}

/// Whether the word after a name is its value.
fn is_argument(text: &str, name: &Range<usize>) -> bool {
    let before = &text[..name.start];
    match &text[name.clone()] {
        "requirepass" | "masterauth" => true,
        // In a file `.netrc`.
        "password" => ["machine ", "login "].iter().any(|word| line(before).trim_start().starts_with(word)),
        name => name.starts_with("--") || before.ends_with("ENV ") || before.ends_with("ARG "),
    }
}

/// The quote at the beginning of a text.
fn quote(text: &str) -> Option<&'static str> {
    let is_quote = matches!(text.as_bytes().first()?, b'"' | b'\'' | b'`' | b'&' | b'%');
    QUOTES.iter().find(|quote| is_quote && text.starts_with(**quote)).copied()
}

fn is_end(c: char) -> bool {
    c.is_whitespace() || c.is_control() || "\"'`,;&<>(){}[]|\\".contains(c)
}

/// A value with or without quotes. One without ends at the limit of the check.
fn assigned(text: &str, at: usize, style: Style) -> Option<Value> {
    quoted(text, at, Style::Quoted).or_else(|| {
        let rest = text[at..].strip_prefix("!!str ").unwrap_or(&text[at..]);
        let at = text.len() - rest.len();
        let rest = &rest[..rest.floor_char_boundary(MAX_CHECKED)];
        let mut end = rest.find(is_end).unwrap_or(rest.len());
        end = rest[..end].find("%26").or_else(|| rest[..end].find("%22")).unwrap_or(end);
        let range = at..at + rest[..end].trim_end_matches(['.', ':', '?']).len();
        (!range.is_empty()).then_some(Value { style, range })
    })
}

/// A value in quotes, after the prefix of a string literal.
fn quoted(text: &str, at: usize, style: Style) -> Option<Value> {
    let rest = &text[at..];
    let literal =
        ["[]byte(", "b", "r", "u", "f", "L", "@", "$"].iter().find_map(|start| rest.strip_prefix(*start));
    let rest = literal.filter(|rest| quote(rest).is_some()).unwrap_or(rest);
    let quote = quote(rest)?;
    let value = &rest[quote.len()..];
    let value = value.strip_prefix("\"\"").filter(|_| quote == "\"").unwrap_or(value);
    let limit = &value[..value.floor_char_boundary(MAX_QUOTED)];
    let end = limit.find(quote).or_else(|| limit.find('\n')).unwrap_or(limit.len());
    let start = text.len() - value.len();
    Some(Value { style, range: start..start + end })
}

/// A literal after a type: `password: &str = "…"`.
fn typed(text: &str, at: usize) -> Option<Value> {
    let rest = &text[at..text.floor_char_boundary(at + 40)];
    let literal = rest.find('=').filter(|end| {
        *end > 0 && rest[..*end].bytes().all(|byte| byte.is_ascii_alphabetic() || b" &:'<>".contains(&byte))
    })?;
    quoted(text, text.len() - blank(&text[at + literal + 1..]).len(), Style::Quoted)
}

/// A text without the spaces and the color codes at its beginning.
pub(super) fn blank(text: &str) -> &str {
    let mut text = text.trim_start_matches([' ', '\t']);
    while let Some(rest) = text.strip_prefix("\u{1b}[") {
        let Some(end) = rest.bytes().take(MAX_COLOR).position(|byte| byte == b'm') else { break };
        text = rest[end + 1..].trim_start_matches([' ', '\t']);
    }
    text
}
