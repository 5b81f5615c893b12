//! What a text says behind the escapes of JSON: one that was never opened, that was cut, or that holds half a character.

use std::ops::Range;

/// How often what was opened is opened again: a string in a string in a string.
const DEEPEST: usize = 4;

/// A text without its escapes, and where in the text each part of it stands.
#[derive(Debug)]
pub(super) struct View {
    /// What the text says.
    pub text: String,
    /// Behind every escape: the place in what is said, and in what is written.
    breaks: Vec<(usize, usize)>,
}

impl View {
    /// Where something that is said is written.
    pub fn written(&self, said: &Range<usize>) -> Range<usize> {
        self.place(said.start)..self.place(said.end)
    }

    fn place(&self, said: usize) -> usize {
        let behind = self.breaks.partition_point(|(place, _)| *place <= said);
        let last = behind.checked_sub(1).and_then(|last| self.breaks.get(last));
        last.map_or(said, |(place, written)| written + (said - place))
    }
}

/// What a text says when it is opened once, twice and so on; nothing for one without escapes. However many backslashes
/// stand before an escape, they are one: so deep a string was in strings.
pub(super) fn views(text: &str) -> Vec<View> {
    let mut views: Vec<View> = Vec::new();
    while views.len() < DEEPEST {
        let last = views.last().map_or(text, |view| &view.text);
        match unescape(last, true) {
            Some(view) => views.push(view),
            None => break,
        }
    }
    views
}

/// Opens what stands between the quotes of a JSON string, whatever it is: half a pair becomes the sign for what is no
/// character, and what is no escape stays.
pub(super) fn opened(inner: &str) -> String {
    unescape(inner, false).map_or_else(|| inner.to_owned(), |view| view.text)
}

/// Takes the escapes out of a text; `None` where there are none.
fn unescape(text: &str, any_depth: bool) -> Option<View> {
    let mut view = View { text: String::new(), breaks: Vec::new() };
    let mut copied = 0;
    let mut at = 0;
    while let Some(start) = text.get(at..).and_then(|rest| rest.find('\\')).map(|found| at + found) {
        let rest = &text[start..];
        let Some((said, length)) = escape(rest, any_depth) else {
            at = start + rest.bytes().take_while(|byte| *byte == b'\\').count();
            continue;
        };
        view.text.push_str(&text[copied..start]);
        view.text.push(said);
        at = start + length;
        copied = at;
        view.breaks.push((view.text.len(), at));
    }
    view.text.push_str(&text[copied..]);
    (!view.breaks.is_empty()).then_some(view)
}

/// The escape that a text begins with: what it says, and its length in bytes.
fn escape(text: &str, any_depth: bool) -> Option<(char, usize)> {
    let run = match any_depth {
        true => text.bytes().take_while(|byte| *byte == b'\\').count(),
        false => 1,
    };
    let said = match text.as_bytes().get(run)? {
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
            return unit(text, run).map(|(high, length)| character(high, length, &text[length..], any_depth));
        }
        _ => return None,
    };
    Some((said, run + 1))
}

/// The number that four digits behind a `u` write, and the length of it all.
fn unit(text: &str, run: usize) -> Option<(u32, usize)> {
    let digits = text.get(run + 1..run + 5)?;
    let all = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    all.then(|| u32::from_str_radix(digits, 16).ok()).flatten().map(|number| (number, run + 5))
}

/// The character of a number, or of a pair with the one that follows it.
fn character(high: u32, length: usize, after: &str, any_depth: bool) -> (char, usize) {
    if (0xd800..0xdc00).contains(&high) {
        let backslashes = after.bytes().take_while(|byte| *byte == b'\\').count();
        let run = if any_depth { backslashes } else { backslashes.min(1) };
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
