//! Keys, from the bytes that a terminal sends for them.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    Char(char),
    /// A key with Ctrl.
    Ctrl(char),
    Enter,
    Escape,
    Tab,
    BackTab,
    Backspace,
    Up,
    Down,
    Left,
    Right,
    /// An arrow with Shift, or with any other modifier.
    ShiftLeft,
    ShiftRight,
    Home,
    End,
    PageUp,
    PageDown,
}

/// The parser does not wait for the end of a longer sequence.
const MAX_SEQUENCE_BYTES: usize = 32;

/// Parses keys. A character or a sequence can be split over two reads.
#[derive(Debug, Default)]
pub struct KeyParser {
    rest: Vec<u8>,
}

impl KeyParser {
    pub fn parse(&mut self, bytes: &[u8]) -> Vec<Key> {
        let mut input = std::mem::take(&mut self.rest);
        input.extend_from_slice(bytes);
        let (mut keys, mut rest) = (Vec::new(), input.as_slice());
        while let Some(first) = rest.first() {
            let Some((key, length)) = next(rest) else {
                if rest.len() > MAX_SEQUENCE_BYTES {
                    rest = &rest[1..];
                    continue;
                }
                break;
            };
            debug_assert!(length > 0, "{first}");
            keys.extend(key);
            rest = &rest[length..];
        }
        self.rest = rest.to_vec();
        keys
    }
}

/// The first key, if it is known, and the number of its bytes; `None` if more bytes must follow.
fn next(bytes: &[u8]) -> Option<(Option<Key>, usize)> {
    let key = match bytes {
        // A terminal sends the whole sequence of a key at once, so an escape at the end is the key.
        [0x1b] => Key::Escape,
        [0x1b, b'[' | b'O', sequence @ ..] => return self::sequence(sequence),
        [0x1b, ..] => Key::Escape,
        [b'\r' | b'\n', ..] => Key::Enter,
        [b'\t', ..] => Key::Tab,
        [0x7f | 0x08, ..] => Key::Backspace,
        [control @ 1..=26, ..] => Key::Ctrl(char::from(control + b'a' - 1)),
        [0..=31, ..] => return Some((None, 1)),
        _ => return character(bytes),
    };
    Some((Some(key), 1))
}

/// The key of a sequence after `ESC [` or `ESC O`: parameters, and a final byte.
fn sequence(bytes: &[u8]) -> Option<(Option<Key>, usize)> {
    let end = bytes.iter().position(|byte| (0x40..=0x7e).contains(byte))?;
    let parameters = std::str::from_utf8(&bytes[..end]).unwrap_or_default();
    let (first, modifier) = parameters.split_once(';').unwrap_or((parameters, ""));
    let is_modified = !modifier.is_empty() && modifier != "1";
    let key = match (bytes[end], first) {
        (b'A', _) => Some(Key::Up),
        (b'B', _) => Some(Key::Down),
        (b'C', _) if is_modified => Some(Key::ShiftRight),
        (b'D', _) if is_modified => Some(Key::ShiftLeft),
        (b'C', _) => Some(Key::Right),
        (b'D', _) => Some(Key::Left),
        (b'c', "") => Some(Key::ShiftRight),
        (b'd', "") => Some(Key::ShiftLeft),
        (b'H', _) | (b'~', "1" | "7") => Some(Key::Home),
        (b'F', _) | (b'~', "4" | "8") => Some(Key::End),
        (b'Z', _) => Some(Key::BackTab),
        (b'~', "5") => Some(Key::PageUp),
        (b'~', "6") => Some(Key::PageDown),
        _ => None,
    };
    Some((key, end + 3))
}

fn character(bytes: &[u8]) -> Option<(Option<Key>, usize)> {
    let head = &bytes[..bytes.len().min(4)];
    let (valid, error) = match std::str::from_utf8(head) {
        Ok(text) => (text, None),
        Err(error) => {
            (std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default(), Some(error.error_len()))
        }
    };
    match (valid.chars().next(), error) {
        (Some(c), _) => Some((Some(Key::Char(c)), c.len_utf8())),
        (None, Some(None)) => None,
        (None, Some(Some(length))) => Some((None, length)),
        (None, None) => Some((None, 1)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn keys(bytes: &[u8]) -> Vec<Key> {
        KeyParser::default().parse(bytes)
    }

    #[test]
    fn letters_and_sequences_are_keys() {
        assert_eq!(
            keys(b"q\r\t\x7f\x03"),
            [Key::Char('q'), Key::Enter, Key::Tab, Key::Backspace, Key::Ctrl('c')]
        );
        assert_eq!(
            keys(b"\x1b[A\x1bOB\x1b[1;2C\x1b[d\x1b[5~\x1b[Z"),
            [Key::Up, Key::Down, Key::ShiftRight, Key::ShiftLeft, Key::PageUp, Key::BackTab]
        );
        assert_eq!(keys("é日".as_bytes()), [Key::Char('é'), Key::Char('日')]);
        assert_eq!(keys(b"\x1b"), [Key::Escape]);
        assert_eq!(keys(b"\x1bj"), [Key::Escape, Key::Char('j')]);
    }

    #[test]
    fn unknown_sequences_and_invalid_bytes_are_no_keys() {
        assert_eq!(keys(b"\x1b[200~\x1b[?1;2c\xff\x00k"), [Key::Char('k')]);
    }

    #[test]
    fn a_key_can_be_split_over_two_reads() {
        let mut parser = KeyParser::default();
        assert!(parser.parse(b"\x1b[1;").is_empty());
        assert_eq!(parser.parse(b"2Dx"), [Key::ShiftLeft, Key::Char('x')]);
        assert!(parser.parse(&[0xe6, 0x97]).is_empty());
        assert_eq!(parser.parse(&[0xa5]), [Key::Char('日')]);
    }

    proptest! {
        #[test]
        fn no_input_is_kept_for_ever(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut parser = KeyParser::default();
            parser.parse(&bytes);
            prop_assert!(parser.rest.len() <= MAX_SEQUENCE_BYTES);
            // Whatever came before, a key is found after a few more bytes.
            prop_assert!(parser.parse(&[b'q'; 40]).contains(&Key::Char('q')));
        }
    }
}
