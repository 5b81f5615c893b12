//! The user's patterns: globs for names and texts, regular expressions between slashes.

use std::cell::OnceCell;

pub use crate::config::pattern::matches as glob;
use crate::config::pattern::{max_input_len, regex_of};
use crate::config::{BoundedRegex, required_literal};

/// Whether one of these globs matches the text. An empty list matches everything.
pub fn any(patterns: &[String], text: &str) -> bool {
    patterns.is_empty() || patterns.iter().any(|pattern| glob(pattern, text))
}

/// A pattern for texts of any length: a regular expression if it is between slashes, else a glob. It is compiled when
/// first used.
#[derive(Debug)]
pub struct Pattern<'a> {
    text: &'a str,
    program: OnceCell<Option<BoundedRegex>>,
}

/// Why a pattern has no result for a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undecidable {
    /// The text is longer than the limit of the pattern, in bytes.
    TooLong {
        /// Its length.
        has: usize,
        /// The limit.
        most: usize,
    },
    /// The regular expression is invalid. A checked file has no such pattern.
    Unfit,
}

impl<'a> Pattern<'a> {
    /// A pattern as written.
    pub fn of(text: &'a str) -> Pattern<'a> {
        Pattern { text, program: OnceCell::new() }
    }

    /// Whether it matches every text.
    pub fn matches_all(&self) -> bool {
        self.text == "*"
    }

    /// Whether it matches a text.
    ///
    /// # Errors
    /// It has no result. This is not a mismatch.
    pub fn is_match(&self, text: &str) -> Result<bool, Undecidable> {
        let too_long = |most| Undecidable::TooLong { has: text.len(), most };
        let Some(expression) = regex_of(self.text) else {
            let most = max_input_len(self.text);
            return if text.len() > most { Err(too_long(most)) } else { Ok(glob(self.text, text)) };
        };
        if required_literal(expression).is_some_and(|literal| !text.contains(literal)) {
            return Ok(false);
        }
        let program = self.program.get_or_init(|| BoundedRegex::of(expression).ok());
        let program = program.as_ref().ok_or(Undecidable::Unfit)?;
        program.is_match(text).ok_or_else(|| too_long(program.max_input_len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_mean_the_whole_text_and_cross_slashes() {
        for (pattern, text) in
            [("*", "a/b"), ("rm *", "rm -rf /tmp/x"), ("bo?", "bob"), ("b[oa]b", "bab"), ("a", "a")]
        {
            assert!(glob(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in
            [("b", "bob"), ("rm *", "echo rm x"), ("[", "["), ("a**b", "ab"), ("Bob*", "bob")]
        {
            assert!(!glob(pattern, text), "{pattern} {text}");
        }
        assert!(any(&[], "x") && any(&["a".into(), "x*".into()], "xy") && !any(&["a".into()], "x"));
    }

    #[test]
    fn regular_expressions_stand_between_slashes_and_mean_a_part() {
        let matches = |pattern: &str, text: &str| Pattern::of(pattern).is_match(text).unwrap();
        assert!(matches("/git +push.*--force/", "cd x && git  push --force"));
        assert!(!matches("/^push/", "git push") && matches("/", "/") && matches("//", "//"));
    }

    #[test]
    fn a_pattern_that_cannot_say_does_not_say_no() {
        let long = "x".repeat(8 << 20);
        assert_eq!(Pattern::of("/git push/").is_match(&long), Ok(false), "what it needs is not there");
        for pattern in ["/x/", "*?xxxxxxxxxx", "*[xy]xxxxxx*"] {
            assert!(
                matches!(Pattern::of(pattern).is_match(&long), Err(Undecidable::TooLong { .. })),
                "{pattern}"
            );
        }
        assert_eq!(Pattern::of("*x").is_match(&long), Ok(true), "stars alone look at everything");
        assert_eq!(Pattern::of("/(/").is_match("("), Err(Undecidable::Unfit));
        assert_eq!(Pattern::of("/x{9999}/").is_match("x"), Err(Undecidable::Unfit));
    }
}
