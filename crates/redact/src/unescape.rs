//! Decodes JSON escapes in a text: in a document that was not parsed, was truncated, or has half a surrogate pair.

use std::ops::Range;

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
