//! Redacts the strings of a JSON text in place. Everything else is kept byte by byte, including numbers beyond a
//! float's range and duplicate keys. And decodes JSON escapes in other texts: in a document that was not parsed, was truncated, or has
//! half a surrogate pair.

use std::borrow::Cow;
use std::ops::Range;

use serde::de::IgnoredAny;

use super::names::Strength;
use super::{Key, Redactor, SECRET};

pub(super) fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Whether a text begins like a JSON object or list.
pub(super) fn begins(text: &str) -> bool {
    matches!(first(text), Some(b'{' | b'['))
}

fn first(text: &str) -> Option<u8> {
    text.bytes().find(is_visible)
}

fn is_visible(byte: &u8) -> bool {
    !byte.is_ascii_whitespace()
}

/// Whether a line is a JSON object.
pub(super) fn has_lines(text: &str) -> bool {
    text.lines().any(|line| line.starts_with('{') && is_json(line))
}

pub(super) fn redact<'a>(redactor: &Redactor, text: &'a str, depth: usize) -> Cow<'a, str> {
    let mut all = Changed { text, changed: None, copied: 0 };
    let mut secret = Secret::default();
    let mut key = Key::default();
    // The value of `name` in `{"name": "DB_PASSWORD", "value": "…"}`.
    let mut name = Key::default();
    let mut at = 0;
    while let Some(start) = memchr::memchr(b'"', &text.as_bytes()[at..]).map(|found| at + found) {
        secret.pass(redactor, &mut all, at..start);
        let end = end_of(text, start);
        let string = Token::parse(&text[start..end]);
        let is_key = first(&text[end..]) == Some(b':');
        let is_value = !is_key && text[..start].bytes().rev().find(is_visible) == Some(b':');
        let is_named =
            |words: &[&str]| is_value && words.iter().any(|word| key.text.eq_ignore_ascii_case(word));
        let hidden = match !is_key && secret.depth > 0 {
            true => redactor.redacts_secret(&string.decoded),
            false if is_named(&["value"]) => redactor.is_secret(&name, &string.decoded),
            false => is_value && redactor.is_secret(&key, &string.decoded),
        };
        let new = match hidden {
            true => Some(quoted(SECRET)),
            false => redact_string(redactor, &string, depth),
        };
        if is_key {
            key = redactor.key(string.decoded);
        } else if is_value {
            let names = is_named(&["name", "key"]);
            name = if names { redactor.key(string.decoded) } else { Key::default() };
        }
        // The object below a key `token` may belong to a parser.
        secret.named = is_key && key.strength == Some(Strength::Strong);
        if let Some(new) = new {
            all.put(start..end, &new);
        }
        at = end;
    }
    secret.pass(redactor, &mut all, at..text.len());
    all.done()
}

struct Changed<'a> {
    text: &'a str,
    changed: Option<String>,
    copied: usize,
}

impl<'a> Changed<'a> {
    fn put(&mut self, place: Range<usize>, new: &str) {
        let so_far = self.changed.get_or_insert_with(|| String::with_capacity(self.text.len()));
        so_far.push_str(&self.text[self.copied..place.start]);
        so_far.push_str(new);
        self.copied = place.end;
    }

    fn done(self) -> Cow<'a, str> {
        match self.changed {
            Some(mut changed) => {
                changed.push_str(&self.text[self.copied..]);
                Cow::Owned(changed)
            }
            None => Cow::Borrowed(self.text),
        }
    }
}

#[derive(Default)]
struct Secret {
    /// The key before it names a secret.
    named: bool,
    /// Number of open lists and objects inside the value of a secret.
    depth: usize,
}

impl Secret {
    /// Copies the characters between two strings, and removes numbers that are secrets.
    fn pass(&mut self, redactor: &Redactor, all: &mut Changed<'_>, between: Range<usize>) {
        if !self.named && self.depth == 0 {
            return;
        }
        let mut at = between.start;
        while at < between.end {
            let rest = &all.text[at..between.end];
            let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
            let word = rest.len() - rest.trim_start_matches(is_part).len();
            if word > 0 {
                let is_number = rest.starts_with(|c: char| c.is_ascii_digit() || c == '-');
                if is_number && (self.named || self.depth > 0) && redactor.redacts_secret(&rest[..word]) {
                    all.put(at..at + word, &quoted(SECRET));
                }
                at += word;
                continue;
            }
            match rest.chars().next() {
                Some('[' | '{') if self.named || self.depth > 0 => {
                    (self.depth, self.named) = (self.depth + 1, false)
                }
                Some(']' | '}') => self.depth = self.depth.saturating_sub(1),
                Some(',') => self.named = false,
                _ => {}
            }
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
}

fn redact_string(redactor: &Redactor, string: &Token<'_>, depth: usize) -> Option<String> {
    // A string that cannot be decoded exactly is kept, unless it contains JSON.
    let keeps_text = !string.is_exact && !begins(&string.decoded);
    match redactor.nested(if keeps_text { string.written } else { &string.decoded }, depth + 1) {
        Cow::Owned(new) if keeps_text => Some(format!("\"{new}\"")),
        Cow::Owned(new) => Some(quoted(&new)),
        Cow::Borrowed(_) => None,
    }
}

fn quoted(text: &str) -> String {
    let mut quoted = Vec::with_capacity(text.len() + text.len() / 4 + 2);
    let is_written = serde_json::to_writer(&mut quoted, text).is_ok();
    String::from_utf8(quoted).ok().filter(|_| is_written).unwrap_or_else(|| format!("\"{SECRET}\""))
}

/// The offset after the closing quote of the string that starts here, or the end of a truncated text.
fn end_of(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = start + 1;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += found + 1;
        if bytes[at - 1] == b'"' {
            return at;
        }
        // Skip the escaped character.
        at += 1;
    }
    text.len()
}

/// The characters between the quotes of a string. A truncated string has no closing quote.
fn inner(token: &str) -> &str {
    let inner = token.strip_prefix('"').unwrap_or(token);
    let closed = inner.strip_suffix('"').filter(|inner| {
        let backslashes = inner.bytes().rev().take_while(|byte| *byte == b'\\').count();
        backslashes % 2 == 0
    });
    closed.unwrap_or(inner)
}

struct Token<'a> {
    /// The characters between the quotes.
    written: &'a str,
    decoded: Cow<'a, str>,
    /// Half surrogate pairs and truncated strings are decoded as far as possible.
    is_exact: bool,
}

impl Token<'_> {
    fn parse(token: &str) -> Token<'_> {
        let written = inner(token);
        if memchr::memchr(b'\\', written.as_bytes()).is_none() {
            return Token { written, decoded: Cow::Borrowed(written), is_exact: true };
        }
        match serde_json::from_str::<String>(token) {
            Ok(decoded) => Token { written, decoded: Cow::Owned(decoded), is_exact: true },
            Err(_) => Token { written, decoded: Cow::Owned(unescaped(written)), is_exact: false },
        }
    }
}

/// A text with decoded escapes, and its positions in the original text.
#[derive(Debug)]
pub(super) struct View {
    pub text: String,
    /// After each escape: the offset in the decoded text and in the original.
    breaks: Vec<(usize, usize)>,
}

impl View {
    /// A text with its escapes decoded; `None` if it has none. Any number of backslashes counts as one, so a string that is
    /// nested in other strings is decoded at once.
    pub(crate) fn of(text: &str) -> Option<View> {
        unescape(text, Backslashes::Any)
    }

    pub(crate) fn written(&self, decoded: &Range<usize>) -> Range<usize> {
        self.offset(decoded.start)..self.offset(decoded.end)
    }

    fn offset(&self, decoded: usize) -> usize {
        let behind = self.breaks.partition_point(|(place, _)| *place <= decoded);
        let last = behind.checked_sub(1).and_then(|last| self.breaks.get(last));
        last.map_or(decoded, |(place, written)| written + (decoded - place))
    }
}

#[derive(Clone, Copy)]
enum Backslashes {
    One,
    /// Any number counts as one: the text may be nested in several strings.
    Any,
}

impl Backslashes {
    /// Number of backslashes of the escape at the beginning of a text.
    fn before_escape(self, text: &str) -> usize {
        let count = text.bytes().take_while(|byte| *byte == b'\\').count();
        if let Backslashes::One = self { count.min(1) } else { count }
    }
}

/// Decodes the characters between the quotes of a JSON string. Half a surrogate pair becomes U+FFFD, and invalid
/// escapes are kept.
pub(super) fn unescaped(inner: &str) -> String {
    unescape(inner, Backslashes::One).map_or_else(|| inner.to_owned(), |view| view.text)
}

fn unescape(text: &str, backslashes: Backslashes) -> Option<View> {
    let mut view = View { text: String::new(), breaks: Vec::new() };
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = text.as_bytes().get(at..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        let start = at + found;
        let rest = &text[start..];
        let Some((decoded, length)) = escape(rest, backslashes) else {
            at = start + rest.bytes().take_while(|byte| *byte == b'\\').count();
            continue;
        };
        if copied == 0 {
            view.text.reserve(text.len());
        }
        view.text.push_str(&text[copied..start]);
        view.text.push(decoded);
        at = start + length;
        copied = at;
        view.breaks.push((view.text.len(), at));
    }
    view.text.push_str(&text[copied..]);
    (!view.breaks.is_empty()).then_some(view)
}

/// The escape at the beginning of a text: its character and its length in bytes.
fn escape(text: &str, backslashes: Backslashes) -> Option<(char, usize)> {
    let run = backslashes.before_escape(text);
    let decoded = match text.as_bytes().get(run)? {
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'"' => '"',
        b'\'' => '\'',
        b'/' => '/',
        b'\\' => '\\',
        b'u' => {
            return unit(text, run)
                .map(|(high, length)| character(high, length, &text[length..], backslashes));
        }
        _ => return None,
    };
    Some((decoded, run + 1))
}

/// The value of the four digits after `u`, and the length of the escape.
fn unit(text: &str, run: usize) -> Option<(u32, usize)> {
    let digits = text.get(run + 1..run + 5)?;
    let all = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    all.then(|| u32::from_str_radix(digits, 16).ok()).flatten().map(|number| (number, run + 5))
}

/// The character of a code unit, or of a surrogate pair with the one that follows.
fn character(high: u32, length: usize, after: &str, backslashes: Backslashes) -> (char, usize) {
    if (0xd800..0xdc00).contains(&high) {
        let run = backslashes.before_escape(after);
        let low = match run > 0 && after.as_bytes().get(run) == Some(&b'u') {
            true => unit(after, run).filter(|(low, _)| (0xdc00..0xe000).contains(low)),
            false => None,
        };
        if let Some((low, more)) = low {
            let number = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
            return (char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER), length + more);
        }
    }
    (char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER), length)
}
