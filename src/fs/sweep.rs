//! What killed writers left.

use std::path::Path;
use std::time::Duration;

/// Removes the temporary files below a directory that nobody has written to for so long: their writers were killed.
/// Links are not followed, and what cannot be looked at is left.
pub fn sweep(dir: &Path, age: Duration) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let (Ok(kind), name) = (entry.file_type(), entry.file_name()) else { continue };
        let old = || {
            let modified = entry.metadata().and_then(|metadata| metadata.modified());
            modified.is_ok_and(|time| time.elapsed().is_ok_and(|since| since > age))
        };
        if kind.is_dir() {
            sweep(&entry.path(), age);
        } else if kind.is_file() && is_temporary(&name) && old() {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Whether [`super::beside`] gives such names.
fn is_temporary(name: &std::ffi::OsStr) -> bool {
    name.to_str().is_some_and(|name| name.starts_with('.') && name.ends_with(".tmp"))
}

#[cfg(test)]
mod tests {
    use super::super::{beside, write_atomic};
    use super::*;
    use std::fs::File;

    #[test]
    fn what_a_killed_writer_left_is_swept_when_it_is_old() {
        let dir = tempfile::tempdir().unwrap();
        let left = beside(&dir.path().join("a/state.json"));
        assert_ne!(left, beside(&dir.path().join("a/state.json")));
        let mine = dir.path().join("a/mine.tmp");
        write_atomic(&left, b"", false).unwrap();
        write_atomic(&mine, b"", false).unwrap();
        sweep(dir.path(), Duration::from_secs(3_600));
        assert!(left.exists());
        let old = std::time::UNIX_EPOCH + Duration::from_secs(1);
        File::open(&left).unwrap().set_modified(old).unwrap();
        File::open(&mine).unwrap().set_modified(old).unwrap();
        sweep(dir.path(), Duration::from_secs(3_600));
        assert!(!left.exists() && mine.exists());
    }
}
