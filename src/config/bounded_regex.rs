//! A compiled regular expression with a limit for the text. A match cannot be interrupted, so its cost is limited by
//! the size of the program times the length of the text.

use regex_lite::{Regex, RegexBuilder};

/// Maximum size of a program in bytes.
const MAX_COMPILED_BYTES: usize = 64 << 10;
/// Smallest size that is assumed for a program.
const MIN_COMPILED_BYTES: usize = 1 << 10;
/// Limit for bytes of program times bytes of text. The worst case measured is 0.25 ns for each, so half a second.
const MAX_WORK: usize = 1 << 31;

/// A compiled regular expression.
#[derive(Debug)]
pub struct BoundedRegex {
    regex: Regex,
    /// Size in bytes, rounded up to a power of two.
    size: usize,
}

/// Why a regular expression cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RegexTooCostly {
    /// It is invalid.
    Malformed(String),
    /// Its program is too large.
    TooLarge,
}

impl BoundedRegex {
    /// Compiles it.
    ///
    /// # Errors
    /// It is invalid, or its program is too large.
    pub fn of(expression: &str) -> Result<BoundedRegex, RegexTooCostly> {
        let mut size = MIN_COMPILED_BYTES;
        while size <= MAX_COMPILED_BYTES {
            match RegexBuilder::new(expression).size_limit(size).build() {
                Ok(regex) => return Ok(BoundedRegex { regex, size }),
                Err(error) if is_too_large(&error) => size *= 2,
                Err(error) => return Err(RegexTooCostly::Malformed(error.to_string())),
            }
        }
        Err(RegexTooCostly::TooLarge)
    }

    /// Maximum length of a text in bytes: from 32 KiB for the largest program to 2 MiB for a small one.
    pub fn max_input_len(&self) -> usize {
        MAX_WORK / self.size
    }

    /// Whether it matches a part of the text; `None` for a text that is too long.
    pub fn is_match(&self, text: &str) -> Option<bool> {
        (text.len() <= self.max_input_len()).then(|| self.regex.is_match(text))
    }
}

/// Whether a program exceeds its size limit. The library has no kinds of errors, so this compares with the error of a
/// program that certainly does.
fn is_too_large(error: &regex_lite::Error) -> bool {
    RegexBuilder::new("").size_limit(0).build().is_err_and(|too_large| too_large == *error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn larger_program_accepts_less_text() {
        let small = BoundedRegex::of("git push.*--force").unwrap();
        assert_eq!(small.max_input_len(), 2 << 20);
        let long = "x".repeat(small.max_input_len());
        assert_eq!(small.is_match(&long), Some(false));
        assert_eq!(
            small.is_match(&(long + "git push --force")),
            None,
            "beyond is not looked at, and it says so"
        );
        let large = BoundedRegex::of(r"(.*a){30}\w{200}b").unwrap();
        assert_eq!(large.max_input_len(), 64 << 10);
        assert_eq!(BoundedRegex::of(r"\w{1000}").unwrap().max_input_len(), 32 << 10);
    }

    #[test]
    fn unbounded_repetition_is_rejected() {
        for large in [r"\w{5000}", "(?:(?:a{100}){100}){100}", "(?:(?:(?:x{1000}){1000}){1000}){1000}"] {
            assert_eq!(BoundedRegex::of(large).unwrap_err(), RegexTooCostly::TooLarge, "{large}");
        }
        assert!(matches!(BoundedRegex::of("a("), Err(RegexTooCostly::Malformed(_))));
    }
}
