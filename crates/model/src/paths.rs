//! Paths in payloads and in recorded data, as text. They can be those of another system: a run that was recorded on Windows
//! is read on Linux after an import. Paths that this machine opens are [`std::path::Path`].

const SEPARATORS: [char; 2] = ['/', '\\'];

/// The parts between the separators.
pub fn parts(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split(SEPARATORS)
}

/// The last part that is not empty, or an empty text. On Unix, it can have backslashes.
pub fn name(path: &str) -> &str {
    let separators = if path.starts_with('/') { &SEPARATORS[..1] } else { &SEPARATORS };
    path.split(separators).rfind(|part| !part.is_empty()).unwrap_or_default()
}

/// The directory of a file.
pub fn parent(path: &str) -> Option<&str> {
    path.rfind(SEPARATORS).map(|end| &path[..end])
}

fn has_drive(path: &str) -> bool {
    matches!(path.as_bytes(), [drive, b':', b'/' | b'\\', ..] if drive.is_ascii_alphabetic())
}

pub fn is_absolute(path: &str) -> bool {
    path.starts_with(SEPARATORS) || has_drive(path)
}

/// Whether it is an absolute path of Windows: on a drive, or on a server with backslashes.
pub fn is_of_windows(path: &str) -> bool {
    has_drive(path) || path.starts_with(r"\\")
}

/// Whether the parts of a path are separated by backslashes.
pub fn has_backslashes(path: &str) -> bool {
    path.contains('\\') && !path.contains('/')
}

/// The whole path of a file that a call in this directory names. An absolute path, or one below a home directory that was redacted
/// (`~/a`, `C:~\a`), is whole.
pub fn joined(directory: &str, path: &str) -> String {
    let below_home = path
        .split_once('~')
        .filter(|(drive, _)| drive.is_empty() || (drive.len() == 2 && drive.ends_with(':')));
    if is_absolute(path) || below_home.is_some_and(|(_, rest)| rest.starts_with(SEPARATORS)) {
        return path.to_owned();
    }
    let separator = if has_backslashes(directory) { "\\" } else { "/" };
    let separator = if directory.ends_with(SEPARATORS) { "" } else { separator };
    format!("{directory}{separator}{path}")
}

/// The rest of a path below a directory.
pub fn below<'a>(path: &'a str, directory: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(directory.trim_end_matches(SEPARATORS))?;
    rest.strip_prefix(SEPARATORS).filter(|rest| !rest.is_empty())
}

/// The path on a drive that Git Bash or WSL spells like this: `C:/a` for `/c/a` and `/mnt/c/a`.
pub fn of_git_bash(path: &str) -> Option<String> {
    let rest = path.strip_prefix("/mnt").unwrap_or(path).strip_prefix('/')?;
    let drive = rest.chars().next().filter(char::is_ascii_alphabetic)?;
    let rest = &rest[1..];
    (rest.is_empty() || rest.starts_with('/')).then(|| {
        let rest = if rest.is_empty() { "/" } else { rest };
        format!("{}:{rest}", drive.to_ascii_uppercase())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_either_system_is_taken_apart_and_joined() {
        for (path, expected) in [
            (r"C:\a\b.rs", "b.rs"),
            ("/a/b/", "b"),
            (r"\\server\share", "share"),
            (r"/a\b", r"a\b"),
            ("", ""),
        ] {
            assert_eq!(name(path), expected, "{path}");
        }
        assert_eq!(parent(r"C:\a\s\subagents\b"), Some(r"C:\a\s\subagents"));
        assert_eq!(parent("/a"), Some(""));
        assert_eq!(parent("a"), None);
        for (directory, path, expected) in [
            (r"C:\repo", r"src\a.rs", r"C:\repo\src\a.rs"),
            (r"C:\repo", r"C:\repo\src\a.rs", r"C:\repo\src\a.rs"),
            (r"C:\", "a", r"C:\a"),
            (r"\\server\share", "a", r"\\server\share\a"),
            ("/repo", "src/a.rs", "/repo/src/a.rs"),
            ("/repo", "/b", "/b"),
            ("/", "b", "/b"),
            ("~/repo", "~/repo/a.rs", "~/repo/a.rs"),
            ("/repo", "~a.rs", "/repo/~a.rs"),
            (r"C:~\repo", r"C:~\repo\a.rs", r"C:~\repo\a.rs"),
            (r"~\repo", r"src\a.rs", r"~\repo\src\a.rs"),
        ] {
            assert_eq!(joined(directory, path), expected);
        }
    }

    #[test]
    fn only_what_is_in_a_directory_is_below_it() {
        assert_eq!(below(r"C:\repo\src\a.rs", r"C:\repo"), Some(r"src\a.rs"));
        assert_eq!(below("/repo/src/a.rs", "/repo/"), Some("src/a.rs"));
        assert_eq!(below("/a", "/"), Some("a"));
        for (path, directory) in [("/repo2/a", "/repo"), ("/repo", "/repo"), ("/other", "/repo")] {
            assert_eq!(below(path, directory), None, "{path}");
        }
    }

    #[test]
    fn a_drive_in_git_bash_is_one_letter() {
        assert_eq!(of_git_bash("/c/Users/nina").as_deref(), Some("C:/Users/nina"));
        assert_eq!(of_git_bash("/mnt/d/work").as_deref(), Some("D:/work"));
        assert_eq!(of_git_bash("/c").as_deref(), Some("C:/"));
        for other in ["/code/a", "/mnt", "c/a", "/1/a", ""] {
            assert_eq!(of_git_bash(other), None, "{other}");
        }
    }
}
