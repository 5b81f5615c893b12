//! Ids of events, and names from outside that may become file names.

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};

use crate::clock::{self, Time};

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// 26 characters of Crockford's base 32, lower case: 48 bits of milliseconds since 1970, then 80 random bits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(String);

impl Id {
    pub fn new(at: Time) -> Id {
        // RandomState takes its keys from the system's randomness once a thread; the pid keeps forks apart.
        let random = |salt: u32| {
            let mut hasher = RandomState::new().build_hasher();
            hasher.write_u32(salt);
            hasher.write_u32(std::process::id());
            hasher.finish()
        };
        let millis = at.timestamp_millis().clamp(0, (1 << 48) - 1) as u128;
        let bits = (millis << 80) | (u128::from(random(1)) << 16) | u128::from(random(2) & 0xffff);
        let text = (0..26).map(|place| {
            let five = (bits >> (125 - 5 * place)) as usize & 31;
            char::from(ALPHABET[five])
        });
        Id(text.collect())
    }

    pub fn known(text: &str) -> Option<Id> {
        let is_one = text.len() == 26 && text.bytes().all(|byte| ALPHABET.contains(&byte));
        is_one.then(|| Id(text.to_owned()))
    }

    pub fn time(&self) -> Option<Time> {
        let digits = self.0.bytes().take(10);
        let mut millis = digits.map(|digit| ALPHABET.iter().position(|known| *known == digit));
        let millis = millis.try_fold(0, |sum: i64, digit| Some(sum << 5 | digit? as i64))?;
        clock::from_millis(millis)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// The longest name of a directory entry, in bytes.
const MAX_BYTES: usize = 255;

/// The longest name that is used with a suffix as the name of a file in the store, in bytes.
const MAX_STEM_BYTES: usize = 200;

/// A name that is safe as one component of a path: not empty, at most 255 bytes, no `/`, no NUL, no control
/// character, and not `.`, `..` or anything else that begins with a dot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SafeName(String);

impl SafeName {
    pub fn new(name: &str) -> Option<SafeName> {
        let safe = !name.is_empty()
            && name.len() <= MAX_BYTES
            && !name.starts_with('.')
            && !name.chars().any(|c| c == '/' || c == '\\' || c.is_control());
        safe.then(|| SafeName(name.to_owned()))
    }

    /// Takes the name when it is safe and leaves room for the suffixes of files in the store.
    pub fn stem(name: &str) -> Option<SafeName> {
        SafeName::new(name).filter(SafeName::is_stem)
    }

    pub fn is_stem(&self) -> bool {
        self.0.len() <= MAX_STEM_BYTES
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl AsRef<std::path::Path> for SafeName {
    fn as_ref(&self) -> &std::path::Path {
        self.0.as_ref()
    }
}

impl fmt::Display for SafeName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_time_and_never_repeat() {
        let early = clock::parse("2026-01-01T00:00:00Z").unwrap();
        let late = clock::parse("2026-01-01T00:00:00.001Z").unwrap();
        let ids: std::collections::HashSet<Id> = (0..1000).map(|_| Id::new(early)).collect();
        assert_eq!(ids.len(), 1000);
        assert!(ids.iter().all(|id| id.as_str().len() == 26 && *id < Id::new(late)));
        assert!(ids.iter().all(|id| id.time() == Some(early)));
    }

    #[test]
    fn names_that_lead_out_of_a_directory_are_refused() {
        for bad in ["", ".", "..", "../../etc", "a/b", "a\0b", "a\nb", ".hidden", "a\\b"] {
            assert_eq!(SafeName::new(bad), None, "{bad:?}");
        }
        assert_eq!(SafeName::new(&"x".repeat(256)), None);
        assert!(SafeName::new(&"x".repeat(255)).is_some_and(|name| !name.is_stem()));
        assert!(SafeName::stem(&"x".repeat(200)).is_some() && SafeName::stem(&"x".repeat(201)).is_none());
        for good in ["parser-team", "session-1353b3db", "Team über alles", "a..b"] {
            assert_eq!(SafeName::new(good).unwrap().as_str(), good);
        }
    }
}
