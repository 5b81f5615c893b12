//! Patterns that the user writes: globs for names and texts, regular expressions between slashes.

use glob::Pattern;
use regex_lite::Regex;

/// Whether a glob means this text. `*` crosses slashes: a command is no path. A pattern that is none means nothing.
pub fn glob(pattern: &str, text: &str) -> bool {
    match pattern {
        "*" => true,
        plain if !plain.contains(['*', '?', '[']) => plain == text,
        stars if !stars.contains(['?', '[']) && !stars.contains("**") => parts_are_in(stars, text),
        _ => Pattern::new(pattern).is_ok_and(|pattern| pattern.matches(text)),
    }
}

/// A glob of stars and words alone, without a step for each character: texts are long, and rules are many.
fn parts_are_in(stars: &str, text: &str) -> bool {
    let mut parts = stars.split('*');
    let rest = parts.next().and_then(|first| text.strip_prefix(first));
    let rest = parts.next_back().and_then(|last| rest?.strip_suffix(last));
    let find = |rest: &str, part: &str| rest.find(part).map(|at| at + part.len());
    parts.try_fold(rest.unwrap_or_default(), |rest, part| rest.get(find(rest, part)?..)).is_some()
        && rest.is_some()
}

/// Whether one of these globs means the text; no globs mean all.
pub fn any(patterns: &[String], text: &str) -> bool {
    patterns.is_empty() || patterns.iter().any(|pattern| glob(pattern, text))
}

/// Whether a pattern means a text: a regular expression where it stands between slashes, else a glob.
pub fn matches(pattern: &str, text: &str) -> bool {
    match expression(pattern) {
        Some(expression) => Regex::new(expression).is_ok_and(|expression| expression.is_match(text)),
        None => glob(pattern, text),
    }
}

/// What is wrong with a pattern.
pub fn problem(pattern: &str) -> Option<String> {
    match expression(pattern) {
        Some(expression) => Regex::new(expression).err().map(|error| error.to_string()),
        None => Pattern::new(pattern).err().map(|error| error.to_string()),
    }
}

fn expression(pattern: &str) -> Option<&str> {
    pattern.strip_prefix('/')?.strip_suffix('/').filter(|inner| !inner.is_empty())
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
    fn stars_alone_mean_what_the_whole_language_means() {
        for pattern in ["a*", "*a", "*a*", "a*a", "a*b*a", "*ab*b*", "ab*ba", "*ä*", "é*"] {
            for text in ["", "a", "aa", "ab", "aba", "abba", "abab", "bab", "ba", "xäy", "é", "aXbYa"] {
                let whole = Pattern::new(pattern).unwrap().matches(text);
                assert_eq!(parts_are_in(pattern, text), whole, "{pattern} {text}");
            }
        }
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
        assert_eq!((problem("/a+/"), problem("a*")), (None, None));
        assert!(problem("/(/").is_some() && problem("[").is_some());
    }
}
