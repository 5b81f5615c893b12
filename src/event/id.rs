//! Ids that sort by time and never repeat, whoever makes them.

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};

use crate::clock::{self, Time};

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// 26 characters of Crockford's base 32, lower case: 48 bits of milliseconds since 1970, then 80 random bits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(String);

impl Id {
    /// A new id for this instant.
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

    /// Parses the text of an id.
    pub fn known(text: &str) -> Option<Id> {
        let is_one = text.len() == 26 && text.bytes().all(|byte| ALPHABET.contains(&byte));
        is_one.then(|| Id(text.to_owned()))
    }

    /// The instant that it was made for, in milliseconds.
    pub fn time(&self) -> Option<Time> {
        let digits = self.0.bytes().take(10);
        let mut millis = digits.map(|digit| ALPHABET.iter().position(|known| *known == digit));
        let millis = millis.try_fold(0, |sum: i64, digit| Some(sum << 5 | digit? as i64))?;
        clock::from_millis(millis)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Id {
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
}
