//! Patterns that the user writes: globs for names and texts, regular expressions between slashes.

use regex_lite::Regex;

pub use crate::config::pattern::matches as glob;
use crate::config::pattern::regex_of;

/// Whether one of these globs means the text; no globs mean all.
pub fn any(patterns: &[String], text: &str) -> bool {
    patterns.is_empty() || patterns.iter().any(|pattern| glob(pattern, text))
}

/// Whether a pattern means a text: a regular expression where it stands between slashes, else a glob.
pub fn matches(pattern: &str, text: &str) -> bool {
    match regex_of(pattern) {
        Some(expression) => Regex::new(expression).is_ok_and(|expression| expression.is_match(text)),
        None => glob(pattern, text),
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
        assert!(matches("/git +push.*--force/", "cd x && git  push --force"));
        assert!(
            !matches("/^push/", "git push")
                && !matches("/(/", "(")
                && matches("/", "/")
                && matches("//", "//")
        );
    }
}
