//! JSON that every reader takes for as many lines as it has.

use std::io::{self, Write};

/// The characters beside the line feed that some readers take for the end of a line (Python's `splitlines`, U+0085,
/// U+2028 and U+2029), and the escapes that JSON reads as the same. They stand in strings alone.
const ENDS: [(&[u8], &[u8]); 3] =
    [(b"\xc2\x85", b"\\u0085"), (b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029")];

/// A writer of JSON that escapes them; every other byte goes through as it is.
pub struct Lines<W> {
    pub out: W,
    /// The beginning of such a character, whose rest may still come.
    held: Vec<u8>,
}

impl<W: Write> Lines<W> {
    pub fn new(out: W) -> Lines<W> {
        Lines { out, held: Vec::new() }
    }
}

impl<W: Write> Write for Lines<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let begins = |byte: &u8| matches!(byte, 0xc2 | 0xe2);
        if self.held.is_empty() && !bytes.iter().any(begins) {
            self.out.write_all(bytes)?;
            return Ok(bytes.len());
        }
        self.held.extend_from_slice(bytes);
        let text = std::mem::take(&mut self.held);
        let (mut from, mut at) = (0, 0);
        while let Some(next) = text.get(at..).and_then(|rest| rest.iter().position(begins)) {
            at += next;
            let rest = text.get(at..).unwrap_or_default();
            if let Some((end, escape)) = ENDS.iter().find(|(end, _)| rest.starts_with(end)) {
                self.out.write_all(text.get(from..at).unwrap_or_default())?;
                self.out.write_all(escape)?;
                at += end.len();
                from = at;
            } else if ENDS.iter().any(|(end, _)| end.starts_with(rest)) {
                self.held.extend_from_slice(rest);
                break;
            } else {
                at += 1;
            }
        }
        let whole = text.len() - self.held.len();
        self.out.write_all(text.get(from..whole).unwrap_or_default())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&std::mem::take(&mut self.held))?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(text: &[u8], step: usize) -> Vec<u8> {
        let mut lines = Lines::new(Vec::new());
        text.chunks(step).for_each(|chunk| lines.write_all(chunk).unwrap());
        lines.flush().unwrap();
        lines.out
    }

    #[test]
    fn what_some_readers_take_for_the_end_of_a_line_is_escaped() {
        let text = "{\"a\":\"x\u{85}y\u{2028}\u{2029}z â 💥 \u{2026} Â\"}\n";
        for step in 1..text.len() {
            let out = written(text.as_bytes(), step);
            let out = String::from_utf8(out).unwrap();
            assert_eq!(out, "{\"a\":\"x\\u0085y\\u2028\\u2029z â 💥 \u{2026} Â\"}\n");
        }
    }

    #[test]
    fn a_character_that_breaks_off_goes_through() {
        for broken in [&b"a\xe2\x80"[..], b"\xc2", b"\xe2\xe2\x80\xc2", b"\xff\xfe\xe2"] {
            assert_eq!(written(broken, 1), broken);
        }
    }

    proptest! {
        #[test]
        fn json_means_the_same(text in "[a\u{85}\u{2028}\u{2029}\u{2026}éÂâ💥\"\\\\\n]{0,40}", step in 1usize..9) {
            let value = serde_json::Value::from(text);
            let out = written(value.to_string().as_bytes(), step);
            prop_assert_eq!(serde_json::from_slice::<serde_json::Value>(&out).unwrap(), value);
            let out = String::from_utf8(out).unwrap();
            prop_assert_eq!(out.find(['\u{85}', '\u{2028}', '\u{2029}']), None);
        }
    }
}
