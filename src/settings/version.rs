//! A version of Claude Code, and what depends on it.

use std::fmt;
use std::str::FromStr;

/// A version as `claude --version` prints it, without anything after the third number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32, pub u32);

/// The text after the version in the output of `claude --version`.
const NAME: &str = "(Claude Code)";

/// The first version with agent teams and their events.
pub const FIRST_WITH_TEAMS: Version = Version(2, 1, 33);

/// The first version that ignores an unknown event; earlier ones skip the whole file.
pub const FIRST_LENIENT: Version = Version(2, 1, 101);

/// The first version that runs a hook's command without a shell (`args`).
pub const FIRST_WITH_ARGS: Version = Version(2, 1, 139);

impl Version {
    /// Finds the `X.Y.Z` in the output of `claude --version`: the one before the product's name, else the first.
    pub fn find(text: &str) -> Option<Version> {
        let named = text.lines().filter_map(|line| line.trim_end().strip_suffix(NAME));
        named.chain([text]).find_map(|text| {
            text.split(|c: char| c.is_whitespace() || c == '(' || c == ')')
                .find_map(|word| word.trim_start_matches('v').parse().ok())
        })
    }
}

impl FromStr for Version {
    type Err = String;

    /// Parses `X.Y.Z`; a suffix such as `-beta.1` is ignored.
    fn from_str(text: &str) -> Result<Version, String> {
        let bad = || format!("invalid version `{text}`; expected a value such as 2.1.139");
        let core = text.split(['-', '+']).next().unwrap_or_default();
        let mut numbers = core.split('.').map(|part| {
            let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| part.parse::<u32>().ok()).flatten()
        });
        let mut next = || numbers.next().flatten().ok_or_else(bad);
        let version = Version(next()?, next()?, next()?);
        if numbers.next().is_some() { Err(bad()) } else { Ok(version) }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{}.{}", self.0, self.1, self.2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_in_what_clients_print() {
        assert_eq!(Version::find("2.1.328 (Claude Code)\n"), Some(Version(2, 1, 328)));
        assert_eq!(Version::find("warning: old node\nclaude v2.1.47\n"), Some(Version(2, 1, 47)));
        assert_eq!(Version::find("node 18.0.0 is old\n2.1.47 (Claude Code)\n"), Some(Version(2, 1, 47)));
        assert_eq!(Version::find("2.2.0-beta.1"), Some(Version(2, 2, 0)));
        for nonsense in ["", "segmentation fault", "2.1", "1.2.3.4", "2.1.99999999999", "2..1", "+2.1.3"] {
            assert_eq!(Version::find(nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn versions_are_ordered_by_number_not_by_letter() {
        assert!(Version(2, 1, 139) > Version(2, 1, 47));
        assert!(Version(2, 2, 0) > Version(2, 1, 999));
    }
}
