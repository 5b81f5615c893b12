//! Names from outside that may become file names.

use std::fmt;

/// A name that is safe as one component of a path: not empty, at most 200 bytes, no `/`, no NUL, no control
/// character, and not `.`, `..` or anything else that begins with a dot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SafeName(String);

impl SafeName {
    /// Takes the name when it is safe.
    pub fn new(name: &str) -> Option<SafeName> {
        let safe = !name.is_empty()
            && name.len() <= 200
            && !name.starts_with('.')
            && !name.chars().any(|c| c == '/' || c == '\\' || c.is_control());
        safe.then(|| SafeName(name.to_owned()))
    }

    /// The text.
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
    fn names_that_lead_out_of_a_directory_are_refused() {
        for bad in ["", ".", "..", "../../etc", "a/b", "a\0b", "a\nb", ".hidden", "a\\b"] {
            assert_eq!(SafeName::new(bad), None, "{bad:?}");
        }
        assert_eq!(SafeName::new(&"x".repeat(201)), None);
        for good in ["parser-team", "session-1353b3db", "Team über alles", "a..b"] {
            assert_eq!(SafeName::new(good).unwrap().as_str(), good);
        }
    }
}
