//! JSON without characters that control a terminal or that only some readers take for the end of a line.

use std::io::{self, Write};

use crate::unicode::is_unsafe_on_terminal;

/// A writer of JSON. Characters that [`super::escape`] would escape are written as JSON escapes; every other byte is written
/// unchanged. Such characters occur only in strings, so the JSON stays valid.
pub struct Escaped<W> {
    pub out: W,
    /// The first bytes of an incomplete character.
    held: Vec<u8>,
}

impl<W: Write> Escaped<W> {
    pub fn new(out: W) -> Escaped<W> {
        Escaped { out, held: Vec::new() }
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        let mut from = 0;
        for (at, c) in text.char_indices().filter(|(_, c)| is_escaped(*c)) {
            self.out.write_all(text.get(from..at).unwrap_or_default().as_bytes())?;
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(self.out, "\\u{unit:04x}")?;
            }
            from = at + c.len_utf8();
        }
        self.out.write_all(text.get(from..).unwrap_or_default().as_bytes())
    }
}

impl<W: Write> Write for Escaped<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.held.is_empty() && bytes.iter().all(is_plain) {
            self.out.write_all(bytes)?;
            return Ok(bytes.len());
        }
        self.held.extend_from_slice(bytes);
        let all = std::mem::take(&mut self.held);
        for chunk in all.utf8_chunks() {
            self.text(chunk.valid())?;
            let rest = chunk.invalid();
            let is_last = rest.as_ptr_range().end == all.as_ptr_range().end;
            let is_begun = || std::str::from_utf8(rest).is_err_and(|error| error.error_len().is_none());
            match is_last && is_begun() {
                true => self.held.extend_from_slice(rest),
                false => self.out.write_all(rest)?,
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&std::mem::take(&mut self.held))?;
        self.out.flush()
    }
}

/// JSON's own white space is not escaped.
fn is_escaped(c: char) -> bool {
    is_unsafe_on_terminal(c) && !matches!(c, '\n' | '\r' | '\t')
}

fn is_plain(byte: &u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn written(text: &[u8], step: usize) -> Vec<u8> {
        let mut escaped = Escaped::new(Vec::new());
        text.chunks(step).for_each(|chunk| escaped.write_all(chunk).unwrap());
        escaped.flush().unwrap();
        escaped.out
    }

    #[test]
    fn what_drives_a_terminal_or_ends_a_line_for_some_readers_is_escaped() {
        let text = "{\n\t\"a\": \"x\u{85}y\u{2028}\u{2029}\u{9b}31m\u{80}\u{9f}\u{7f}\u{202e}\u{e0041} ü 💥 👩\u{200d}💻 \u{a0}\"\n}\r\n";
        let expected = "{\n\t\"a\": \"x\\u0085y\\u2028\\u2029\\u009b31m\\u0080\\u009f\\u007f\\u202e\\udb40\\udc41 ü 💥 👩\u{200d}💻 \u{a0}\"\n}\r\n";
        for step in 1..=text.len() {
            assert_eq!(String::from_utf8(written(text.as_bytes(), step)).unwrap(), expected, "{step}");
        }
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!(read(expected), read(text));
    }

    #[test]
    fn what_is_no_utf8_goes_through() {
        for broken in [&b"a\xe2\x80"[..], b"\xc2", b"\xe2\xe2\x80\xc2", b"\xff\xfe\xe2", b"\xc2a\xff\xc3\xbc"]
        {
            for step in [1, 2, 9] {
                assert_eq!(written(broken, step), broken);
            }
        }
    }

    proptest! {
        #[test]
        fn json_means_the_same_and_nothing_unsafe_is_left(text in "\\PC{0,20}[\u{0}-\u{a0}\u{2028}\u{202e}\u{e0041}é💥\"\\\\]{0,20}", step in 1usize..9) {
            let value = Value::from(text);
            let out = written(value.to_string().as_bytes(), step);
            prop_assert_eq!(serde_json::from_slice::<Value>(&out).unwrap(), value);
            prop_assert!(!String::from_utf8(out).unwrap().contains(is_unsafe_on_terminal));
        }
    }
}
