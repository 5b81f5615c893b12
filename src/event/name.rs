//! Names from outside that may become file names.

use std::fmt;

/// The longest name of a directory entry, in bytes.
const MAX_BYTES: usize = 255;

/// The longest name that is used with a suffix as the name of a file in the store, in bytes.
const MAX_STEM_BYTES: usize = 200;

/// A name that is safe as one component of a path: not empty, at most 255 bytes, no `/`, no NUL, no control
/// character, and not `.`, `..` or anything else that begins with a dot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SafeName(String);

impl SafeName {
    /// Takes the name when it is safe.
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

    /// Whether it leaves room for the suffixes of files in the store.
    pub fn is_stem(&self) -> bool {
        self.0.len() <= MAX_STEM_BYTES
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
        assert_eq!(SafeName::new(&"x".repeat(256)), None);
        assert!(SafeName::new(&"x".repeat(255)).is_some_and(|name| !name.is_stem()));
        assert!(SafeName::stem(&"x".repeat(200)).is_some() && SafeName::stem(&"x".repeat(201)).is_none());
        for good in ["parser-team", "session-1353b3db", "Team über alles", "a..b"] {
            assert_eq!(SafeName::new(good).unwrap().as_str(), good);
        }
    }
}
