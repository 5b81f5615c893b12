//! Globs, regular expressions and JSON pointers.

use glob::Pattern;

/// Maximum length of a glob, in characters.
const MAX_PATTERN_CHARS: usize = 1024;
/// Limit for a glob that is matched character by character: characters of the glob times bytes of the text.
const STEPS: usize = 1 << 26;

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
pub fn check_glob(glob: &str) -> Result<(), String> {
    if glob.is_empty() {
        return Err("it is empty; use \"*\" to match everything".to_owned());
    }
    if glob.chars().nth(MAX_PATTERN_CHARS).is_some() {
        return Err(format!("it is longer than {MAX_PATTERN_CHARS} characters"));
    }
    if Pattern::new(glob).is_ok() {
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
    if glob.contains(['?', '[']) { STEPS / glob.len() } else { usize::MAX }
}

/// Validates a JSON pointer.
///
/// # Errors
/// The reason why it is invalid.
pub fn check_pointer(pointer: &str) -> Result<(), String> {
    let Some(rest) = pointer.strip_prefix('/') else {
        return Err("a JSON pointer starts with a slash, such as \"/tool_input/command\"".to_owned());
    };
    let mut escapes = rest.split('~').skip(1);
    match escapes.all(|after| after.starts_with(['0', '1'])) {
        true => Ok(()),
        false => Err("in a JSON pointer, write `~` as `~0` and a slash in a name as `~1`".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn glob_star_matches_slashes() {
        for (glob, text) in [
            ("*", "a/b"),
            ("*parser*", "mend src/parser/mod.rs"),
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
        assert!(check_glob(&"a".repeat(1025)).is_err() && check_glob(&"*a".repeat(512)).is_ok());
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
}
