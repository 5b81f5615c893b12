//! Globs, regular expressions and JSON pointers, with limits for their cost.

use glob::Pattern;
use regex_lite::{Regex, RegexBuilder};

/// Limit for a glob that is matched character by character: characters of the glob times bytes of the text.
const MAX_GLOB_STEPS: usize = 1 << 26;
/// Maximum size of a regular expression's program in bytes.
const MAX_COMPILED_BYTES: usize = 64 << 10;
/// Limit for bytes of program times bytes of text. The worst case measured is 0.25 ns for each, so half a second.
const MAX_WORK: usize = 1 << 31;

/// Whether a glob matches the whole text. `*` matches slashes, because names, subjects and commands are not paths. An
/// invalid glob matches nothing.
pub fn matches(glob: &str, text: &str) -> bool {
    match glob {
        "*" => true,
        plain if is_plain(plain) => plain == text,
        stars if !stars.contains(['?', '[']) && !stars.contains("**") => parts_are_in(stars, text),
        _ => Pattern::new(glob).is_ok_and(|glob| glob.matches(text)),
    }
}

/// Matches a glob that has only stars and literals, in linear time.
fn parts_are_in(stars: &str, text: &str) -> bool {
    let mut parts = stars.split('*');
    let rest = parts.next().and_then(|first| text.strip_prefix(first));
    let rest = parts.next_back().and_then(|last| rest?.strip_suffix(last));
    let find = |rest: &str, part: &str| rest.find(part).map(|at| at + part.len());
    parts.try_fold(rest.unwrap_or_default(), |rest, part| rest.get(find(rest, part)?..)).is_some()
        && rest.is_some()
}

/// Whether a glob has no special characters.
pub fn is_plain(glob: &str) -> bool {
    !glob.contains(['*', '?', '['])
}

/// Validates a glob.
///
/// # Errors
/// The reason why it is invalid.
pub(crate) fn check_glob(glob: &str) -> Result<(), String> {
    if glob.is_empty() {
        return Err("it is empty; use \"*\" to match everything".to_owned());
    }
    // Most globs are valid for certain. A hook call checks them all, so it compiles only the others.
    if !(glob.contains('[') || glob.contains("**")) || Pattern::new(glob).is_ok() {
        return Ok(());
    }
    // Without wildcards, only a range can be invalid.
    match Pattern::new(&glob.replace('*', "x")) {
        Ok(_) => Err("use `*` instead of `**`; it also matches slashes".to_owned()),
        Err(range) => Err(format!("{} at character {}", range.msg, range.pos + 1)),
    }
}

/// The regular expression in `/…/`; `None` for a glob.
pub fn regex_of(pattern: &str) -> Option<&str> {
    pattern.strip_prefix('/')?.strip_suffix('/').filter(|inner| !inner.is_empty())
}

/// Maximum length of a text for this glob, in bytes.
pub fn max_input_len(glob: &str) -> usize {
    if glob.contains(['?', '[']) { MAX_GLOB_STEPS / glob.len() } else { usize::MAX }
}

/// Validates a JSON pointer.
///
/// # Errors
/// The reason why it is invalid.
pub(crate) fn check_pointer(pointer: &str) -> Result<(), String> {
    let Some(rest) = pointer.strip_prefix('/') else {
        return Err("a JSON pointer starts with a slash, such as \"/tool_input/command\"".to_owned());
    };
    match rest.split('~').skip(1).all(|after| after.starts_with(['0', '1'])) {
        true => Ok(()),
        false => Err("in a JSON pointer, write `~` as `~0` and a slash in a name as `~1`".to_owned()),
    }
}

/// A compiled regular expression with a limit for the text. A match cannot be interrupted, so its cost is limited by
/// the size of the program times the length of the text.
#[derive(Debug)]
pub struct BoundedRegex {
    regex: Regex,
    /// Size in bytes, rounded up to a power of two.
    size: usize,
}

/// Why a regular expression cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RegexTooCostly {
    Malformed(String),
    /// Its program is too large.
    TooLarge,
}

impl BoundedRegex {
    /// Compiles it.
    pub fn of(expression: &str) -> Result<BoundedRegex, RegexTooCostly> {
        // The library has no kinds of errors, so this compares with the error of a program that certainly is too large.
        let too_large = RegexBuilder::new("").size_limit(0).build().err();
        // The smallest size that is assumed: 1 KiB.
        let mut size = MAX_COMPILED_BYTES >> 6;
        while size <= MAX_COMPILED_BYTES {
            match RegexBuilder::new(expression).size_limit(size).build() {
                Ok(regex) => return Ok(BoundedRegex { regex, size }),
                Err(error) if too_large.as_ref() == Some(&error) => size *= 2,
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

/// The literal start of a regular expression, if every match has it; `None` if that is not obvious. Searching for it is
/// far cheaper than compiling the expression, and most texts do not contain it.
pub fn required_literal(expression: &str) -> Option<&str> {
    // Flags can change the meaning of a character, and a class can hide alternatives.
    if expression.contains("(?") || has_alternatives(expression) {
        return None;
    }
    let is_literal = |c: char| c.is_ascii_alphanumeric() || " _-/:=,;<>@%!~\"'".contains(c);
    let rest = expression.trim_start_matches('^');
    let end = rest.find(|c: char| !is_literal(c)).unwrap_or(rest.len());
    let (literal, then) = rest.split_at(end);
    // A repeated character may be missing, even after `+`, which can be repeated itself.
    let literal = match then.chars().next() {
        Some('?' | '*' | '+' | '{') => literal.get(..literal.len().checked_sub(1)?)?,
        _ => literal,
    };
    Some(literal).filter(|literal| !literal.is_empty())
}

/// Whether it has alternatives, or may have.
fn has_alternatives(expression: &str) -> bool {
    let (mut depth, mut rest) = (0_usize, expression.chars());
    while let Some(c) = rest.next() {
        match c {
            '\\' => drop(rest.next()),
            '[' => match after_class(rest.as_str()) {
                Some(after) => rest = after.chars(),
                None => return true,
            },
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            '|' if depth == 0 => return true,
            _ => {}
        }
    }
    false
}

/// The text after a class, given the text after its opening bracket; `None` for a class with brackets in it.
fn after_class(text: &str) -> Option<&str> {
    let text = text.strip_prefix('^').unwrap_or(text);
    // A first `]` is literal.
    let mut rest = text.strip_prefix(']').unwrap_or(text).chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => drop(rest.next()),
            '[' => return None,
            ']' => return Some(rest.as_str()),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BoundedRegex;
    use proptest::prelude::*;

    #[test]
    fn glob_star_matches_slashes() {
        for (glob, text) in [
            ("*", "a/b"),
            ("*parser*", "edit src/parser/mod.rs"),
            ("src/*", "src/a/b"),
            ("src/*", "src/"),
            ("claude-opus*", "claude-opus-4/x"),
            ("?lice", "alice"),
            ("[!b]*", "alice"),
            ("a[*]", "a*"),
        ] {
            assert!(matches(glob, text), "{glob} {text}");
        }
        for (glob, text) in [("src/*", "lib/a"), ("a", "A"), ("bob", "bobby"), ("b[", "b[")] {
            assert!(!matches(glob, text), "{glob} {text}");
        }
    }

    #[test]
    fn fast_path_for_stars_equals_the_glob_library() {
        for pattern in ["a*", "*a", "*a*", "a*a", "a*b*a", "*ab*b*", "ab*ba", "*ä*", "é*"] {
            for text in ["", "a", "aa", "ab", "aba", "abba", "abab", "bab", "ba", "xäy", "é", "aXbYa"] {
                let whole = Pattern::new(pattern).unwrap().matches(text);
                assert_eq!(parts_are_in(pattern, text), whole, "{pattern} {text}");
            }
        }
    }

    #[test]
    fn invalid_glob_is_rejected_with_the_reason() {
        for bad in ["", "[a", "a**b", "***"] {
            assert!(check_glob(bad).is_err(), "{bad}");
        }
        assert!(check_glob("[").is_err() && check_glob("a*").is_ok() && check_glob("B*").is_ok());
        assert!(max_input_len("a*b") > max_input_len("a?b") && max_input_len("*[ab]*") > 1 << 20);
        assert_eq!(regex_of("/a b/"), Some("a b"));
        for glob in ["/", "//", "/src/*", "src/", "*"] {
            assert_eq!(regex_of(glob), None, "{glob}");
        }
        for bad in ["", "tool_input", "/a~", "/a~2b"] {
            assert!(check_pointer(bad).is_err(), "{bad}");
        }
        for good in ["/", "/a", "/a~1b~0/0", "/tool_input/command"] {
            assert!(check_pointer(good).is_ok(), "{good}");
        }
    }

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

    #[test]
    fn literal_prefix_is_required() {
        let cases = [
            ("git push.*--force", Some("git push")),
            ("^rm -rf", Some("rm -rf")),
            ("git (push|reset) --hard", Some("git ")),
            ("pushes?", Some("pushe")),
            ("push+", Some("pus")),
            ("x{0}y", None),
            ("a|b", None),
            ("(a)|b", None),
            ("a[|]b", Some("a")),
            ("a[]|]b", Some("a")),
            ("a[^]]|b", None),
            ("a[[:alpha:]]b(c|d)", None),
            ("forbidden +(word|name).*[0-9]", Some("forbidden")),
            (r"a\|b", Some("a")),
            ("a(?i)b", None),
            (".*a", None),
            ("", None),
        ];
        for (expression, wanted) in cases {
            assert_eq!(required_literal(expression), wanted, "{expression}");
        }
    }

    proptest! {
        #[test]
        fn text_without_the_literal_never_matches(
            pieces in prop::collection::vec(
                prop::sample::select(vec![
                    "a", "b", "ab", "^", "$", ".", ".*", "?", "*", "+", "{0}", "{2}", "|", "(", ")", "[ab]", "[^a]", "[|]", "[]|]", "[^]]", "[(]", "[", "]", r"\|",
                    r"\w", "(?i)", "(?:", " ", "-", r"\(",
                ]),
                0..9,
            ),
            text in "[abAB| (-]{0,6}",
        ) {
            let expression = pieces.concat();
            if let (Some(required_literal), Ok(program)) = (required_literal(&expression), BoundedRegex::of(&expression))
                && !text.contains(required_literal)
            {
                prop_assert_eq!(program.is_match(&text), Some(false), "{} {}", expression, required_literal);
            }
        }
    }
}
