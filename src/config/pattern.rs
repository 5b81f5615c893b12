//! Globs, regular expressions and JSON pointers, as the policy means them.

use glob::Pattern;
use regex_lite::Regex;

/// Whether a glob means the whole text. `*` crosses slashes: names, subjects and commands are no paths. What is no glob
/// means nothing.
pub fn matches(glob: &str, text: &str) -> bool {
    match glob {
        "*" => true,
        plain if is_plain(plain) => plain == text,
        _ => Pattern::new(glob).is_ok_and(|glob| glob.matches(text)),
    }
}

/// Whether the text is a glob that means itself alone.
pub fn is_plain(glob: &str) -> bool {
    !glob.contains(['*', '?', '['])
}

/// Shows that a text is a glob.
///
/// # Errors
/// Why it is none.
pub fn check_glob(glob: &str) -> Result<(), String> {
    if glob.is_empty() {
        return Err("it is empty, and would mean nothing; write \"*\" for everything".to_owned());
    }
    match Pattern::new(glob) {
        Ok(_) => Ok(()),
        Err(error) if error.msg.contains("recursive") => {
            Err("`**` is for paths; one `*` crosses slashes as well".to_owned())
        }
        Err(error) => Err(format!("{} at character {}", error.msg, error.pos + 1)),
    }
}

/// The regular expression in `/…/`, if that is how it is written; anything else is a glob.
pub fn regex_of(pattern: &str) -> Option<&str> {
    pattern.strip_prefix('/')?.strip_suffix('/').filter(|inner| !inner.is_empty())
}

/// Makes the regular expression of what stands between the slashes.
///
/// # Errors
/// When it is none.
pub fn regex(source: &str) -> Result<Regex, String> {
    Regex::new(source).map_err(|error| error.to_string())
}

/// Shows that a text is a JSON pointer below the payload.
///
/// # Errors
/// Why it is none.
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
    fn what_is_no_pattern_says_why() {
        for bad in ["", "[a", "a**b", "***"] {
            assert!(check_glob(bad).is_err(), "{bad}");
        }
        assert!(regex("a(").is_err());
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
