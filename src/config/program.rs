//! A regular expression, and how much text it may look at. A match cannot be interrupted: what bounds it is the size of
//! the compiled program times the length of the text.

use regex_lite::{Regex, RegexBuilder};

/// The largest program, in bytes.
const LARGEST: usize = 64 << 10;
/// No program is counted as smaller.
const SMALLEST: usize = 1 << 10;
/// Bytes of program times bytes of text. At its worst a match takes 0.25 ns for each, so half a second.
const WORK: usize = 1 << 31;

/// A regular expression that was compiled.
#[derive(Debug)]
pub struct Program {
    regex: Regex,
    /// Bytes, to the next power of two.
    size: usize,
}

/// Why a text is no regular expression that can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unfit {
    /// It is none.
    Malformed(String),
    /// Its program is larger than any may be.
    TooLarge,
}

impl Program {
    /// Compiles it.
    ///
    /// # Errors
    /// When it is none, or its program is too large.
    pub fn of(expression: &str) -> Result<Program, Unfit> {
        let mut size = SMALLEST;
        while size <= LARGEST {
            match RegexBuilder::new(expression).size_limit(size).build() {
                Ok(regex) => return Ok(Program { regex, size }),
                Err(error) if error.to_string().contains("size limit") => size *= 2,
                Err(error) => return Err(Unfit::Malformed(error.to_string())),
            }
        }
        Err(Unfit::TooLarge)
    }

    /// How many bytes it looks at: from 32 KiB for the largest program to 2 MiB for a small one.
    pub fn reach(&self) -> usize {
        WORK / self.size
    }

    /// Whether it means a part of the text; `None` for a text that is longer than it looks at.
    pub fn means(&self, text: &str) -> Option<bool> {
        (text.len() <= self.reach()).then(|| self.regex.is_match(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_larger_the_program_the_less_it_looks_at() {
        let small = Program::of("git push.*--force").unwrap();
        assert_eq!(small.reach(), 2 << 20);
        let long = "x".repeat(small.reach());
        assert_eq!(small.means(&long), Some(false));
        assert_eq!(
            small.means(&(long + "git push --force")),
            None,
            "beyond is not looked at, and it says so"
        );
        let large = Program::of(r"(.*a){30}\w{200}b").unwrap();
        assert_eq!(large.reach(), 64 << 10);
        assert_eq!(Program::of(r"\w{1000}").unwrap().reach(), 32 << 10);
    }

    #[test]
    fn what_repeats_without_measure_is_refused_at_once() {
        for large in [r"\w{5000}", "(?:(?:a{100}){100}){100}", "(?:(?:(?:x{1000}){1000}){1000}){1000}"] {
            assert_eq!(Program::of(large).unwrap_err(), Unfit::TooLarge, "{large}");
        }
        assert!(matches!(Program::of("a("), Err(Unfit::Malformed(_))));
    }
}
