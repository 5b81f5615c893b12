//! The configuration directory of Claude Code in which a run has its files. Several can share one store: another
//! `CLAUDE_CONFIG_DIR`, another `HOME`, a container.

use std::path::Path;

use serde::{Deserialize, Serialize};

use teamkeep_model::event::SafeName;

/// A configuration directory, as recorded with a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigDir {
    /// The canonical path.
    pub path: String,
    /// The path that the hook call had, if it is another one: a symlink. With it, most calls compare only texts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spelled: Option<String>,
}

impl ConfigDir {
    /// The directory at this path; `None` if it does not exist.
    pub fn find(path: &Path) -> Option<ConfigDir> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let canonical = path.canonicalize().ok()?;
        let spelled = (canonical != path).then(|| text(path));
        Some(ConfigDir { path: text(&canonical), spelled })
    }

    /// Whether this path leads to the directory. Makes system calls only for a spelling that was not recorded. A path that
    /// does not exist here leads to no directory.
    pub fn is_at(&self, path: &Path) -> bool {
        let is_known = |known: &str| Path::new(known) == path;
        is_known(&self.path)
            || self.spelled.as_deref().is_some_and(is_known)
            || path.canonicalize().is_ok_and(|canonical| canonical.to_string_lossy() == self.path.as_str())
    }
}

/// The ID of a directory in the names of files, 16 hexadecimal digits.
pub(super) fn id_of(canonical: &str) -> Option<SafeName> {
    SafeName::new(&blake3::hash(canonical.as_bytes()).to_hex()[..16])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_the_same_by_each_spelling_and_another_one_without_it() {
        let dir = tempfile::tempdir().unwrap();
        let (work, link) = (dir.path().join("work"), dir.path().join("link"));
        std::fs::create_dir_all(work.join("teams")).unwrap();
        std::os::unix::fs::symlink(&work, &link).unwrap();
        for first in [&work, &link] {
            let found = ConfigDir::find(first).unwrap();
            assert_eq!(found.spelled.is_some(), first == &link);
            for spelling in [&work, &link, &work.join(""), &work.join("teams/.."), &link.join(".")] {
                assert!(found.is_at(spelling), "{spelling:?}");
            }
            for other in [dir.path(), &work.join("teams"), &dir.path().join("missing"), Path::new("")] {
                assert!(!found.is_at(other), "{other:?}");
            }
        }
        assert_eq!(ConfigDir::find(&dir.path().join("missing")), None);
    }
}
