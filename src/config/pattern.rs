//! Globs, regular expressions and JSON pointers, as the policy means them.

use regex_lite::Regex;

/// A separator that no glob of a user's has: to [`fast_glob`] a `/` is the end of what `*` matches.
const NO_SLASH: &str = "\u{1f}";

/// Whether a glob matches the whole text. `*` matches slashes, too: names and subjects are no paths.
pub fn matches(glob: &str, text: &str) -> bool {
    if glob == "*" {
        return true;
    }
    fast_glob::glob_match(glob.replace('/', NO_SLASH), text.replace('/', NO_SLASH))
}

/// Why this is no glob, if it is none.
pub fn check_glob(glob: &str) -> Result<(), String> {
    if glob.is_empty() {
        return Err("it is empty, and would match nothing; write \"*\" for everything".to_owned());
    }
    fast_glob::validate(glob).map_err(|error| error.to_string())
}

/// Whether the text is a glob that matches itself alone.
pub fn is_plain(glob: &str) -> bool {
    !glob.contains(['*', '?', '[', ']', '{', '}', '\\', '!'])
}

/// The regular expression in `/…/`, if that is how it is written; anything else is a glob.
pub fn regex_of(pattern: &str) -> Option<&str> {
    pattern.strip_prefix('/')?.strip_suffix('/')
}

/// Makes the regular expression of what stands between the slashes.
///
/// # Errors
/// When it is none.
pub fn regex(source: &str) -> Result<Regex, String> {
    Regex::new(source).map_err(|error| error.to_string())
}

/// Why this is no JSON pointer below the payload, if it is none.
pub fn check_pointer(pointer: &str) -> Result<(), String> {
    let Some(rest) = pointer.strip_prefix('/') else {
        return Err("a JSON pointer begins with a slash, as \"/tool_input/command\"".to_owned());
    };
    let mut escapes = rest.split('~').skip(1);
    match escapes.all(|after| after.starts_with(['0', '1'])) {
        true => Ok(()),
        false => Err("in a JSON pointer `~` is written `~0`, and a slash in a name `~1`".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_knows_no_paths() {
        for (glob, text) in [
            ("*", "a/b"),
            ("*parser*", "mend src/parser/mod.rs"),
            ("src/*", "src/a/b"),
            ("src/*", "src/"),
            ("claude-{opus,sonnet}*", "claude-opus-4/x"),
            ("?lice", "alice"),
            ("**b", "a/b"),
            ("a\\*", "a*"),
            ("!bob", "alice"),
        ] {
            assert!(matches(glob, text), "{glob} {text}");
        }
        for (glob, text) in [("src/*", "lib/a"), ("a", "A"), ("bob", "bobby"), ("!bob", "bob")] {
            assert!(!matches(glob, text), "{glob} {text}");
        }
    }

    #[test]
    fn what_is_no_pattern_says_why() {
        for bad in ["", "[a", "{a,b", "a\\"] {
            assert!(check_glob(bad).is_err(), "{bad}");
        }
        assert!(regex("a(").is_err());
        assert_eq!(regex_of("/a b/"), Some("a b"));
        for glob in ["/", "/src/*", "src/", "*"] {
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
