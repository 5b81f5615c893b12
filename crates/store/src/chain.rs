//! The hashes of the chain: each line of the log commits to the line before it, and each state of a journal to the state
//! before it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

const LINE_CONTEXT: &str = "teamkeep 2026 line of the event log";
const JOURNAL_CONTEXT: &str = "teamkeep 2026 line of a journal";
const BYTES: usize = 16;

/// The first 128 bits of a BLAKE3 hash. All zero is the state before a first line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ChainHash([u8; BYTES]);

impl ChainHash {
    pub const START: ChainHash = ChainHash([0; BYTES]);

    /// The hash of a line of the log, without its mark.
    pub fn of_line(number: u64, after: ChainHash, body: &[u8]) -> ChainHash {
        ChainHash::derive(LINE_CONTEXT, &[&number.to_le_bytes(), &after.0, body])
    }

    /// The hash of a journal in this state with one more line, which has no line break.
    pub fn with_line(self, line: &[u8]) -> ChainHash {
        ChainHash::derive(JOURNAL_CONTEXT, &[&self.0, line])
    }

    fn derive(context: &str, parts: &[&[u8]]) -> ChainHash {
        let mut hasher = blake3::Hasher::new_derive_key(context);
        for part in parts {
            hasher.update(part);
        }
        let mut bytes = [0; BYTES];
        hasher.finalize_xof().fill(&mut bytes);
        ChainHash(bytes)
    }
}

impl fmt::Display for ChainHash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for ChainHash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected COUNT:HASH with {} lower-case hexadecimal digits, as `teamkeep verify --head` prints it", BYTES * 2)]
pub struct InvalidPoint;

impl FromStr for ChainHash {
    type Err = InvalidPoint;

    fn from_str(text: &str) -> Result<ChainHash, InvalidPoint> {
        // `from_str_radix` takes upper-case digits and a sign, too.
        let is_hex = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let number = u128::from_str_radix(text, 16).ok().filter(|_| is_hex && text.len() == BYTES * 2);
        number.map(|number| ChainHash(number.to_be_bytes())).ok_or(InvalidPoint)
    }
}

impl Serialize for ChainHash {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// A place in a chain and the hash there: of a line and of all before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ChainPoint {
    /// In the log, how many lines there are up to here. In a journal, how many bytes.
    pub count: u64,
    pub hash: ChainHash,
}

impl fmt::Display for ChainPoint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.count, self.hash)
    }
}

impl FromStr for ChainPoint {
    type Err = InvalidPoint;

    fn from_str(text: &str) -> Result<ChainPoint, InvalidPoint> {
        let (count, hash) = text.split_once(':').ok_or(InvalidPoint)?;
        if !count.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(InvalidPoint);
        }
        Ok(ChainPoint { count: count.parse().map_err(|_| InvalidPoint)?, hash: hash.parse()? })
    }
}

impl Serialize for ChainPoint {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ChainPoint {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<ChainPoint, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_parsed_as_it_is_shown_and_nothing_else_is() {
        let point = ChainPoint { count: 7, hash: ChainHash::of_line(7, ChainHash::START, b"{}") };
        assert_eq!(point.to_string().parse(), Ok(point));
        let upper = point.to_string().to_uppercase();
        for bad in ["", "7", ":", "7:", "7:00", "x:00000000000000000000000000000000", "+7:0", &upper] {
            assert_eq!(bad.parse::<ChainPoint>(), Err(InvalidPoint), "{bad}");
        }
    }

    #[test]
    fn a_hash_depends_on_each_part() {
        let one = ChainHash::of_line(1, ChainHash::START, b"{\"a\":1");
        let others = [
            ChainHash::of_line(2, ChainHash::START, b"{\"a\":1"),
            ChainHash::of_line(1, one, b"{\"a\":1"),
            ChainHash::of_line(1, ChainHash::START, b"{\"a\":2"),
            ChainHash::START.with_line(b"{\"a\":1"),
            ChainHash::START,
        ];
        assert!(others.iter().all(|other| *other != one));
        let journal =
            [ChainHash::START.with_line(b"a"), ChainHash::START.with_line(b"b"), one.with_line(b"a")];
        assert!(journal.iter().all(|hash| journal.iter().filter(|other| *other == hash).count() == 1));
    }

    #[test]
    fn a_point_in_json_is_its_text() {
        let point = ChainPoint { count: 7, hash: ChainHash::of_line(7, ChainHash::START, b"{}") };
        let text = serde_json::to_string(&point).unwrap();
        assert_eq!(text, format!("\"{point}\""));
        assert_eq!(serde_json::from_str::<ChainPoint>(&text).unwrap(), point);
        assert_eq!(format!("{:?}", point.hash), point.hash.to_string());
    }
}
