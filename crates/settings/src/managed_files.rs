//! Claude Code's managed settings: the file and the drop-in files that an administrator writes for every user.
//!
//! Claude Code merges them into one: lists are joined, and of a value the last file decides. Seen with 2.1.83, 2.1.177 and
//! 2.1.330.

use std::path::{Path, PathBuf};

/// The directory with managed settings. No environment variable names another one, here or in Claude Code.
const DIRECTORY: &str =
    if cfg!(target_os = "macos") { "/Library/Application Support/ClaudeCode" } else { "/etc/claude-code" };
/// teamkeep's own drop-in file.
const DROP_IN: &str = "50-teamkeep.json";
/// No other hooks run than those of managed settings.
pub const ONLY_MANAGED: &str = "allowManagedHooksOnly";
/// In managed settings, no hook runs; elsewhere, only those of managed settings run.
pub const DISABLED: &str = "disableAllHooks";

/// The file that every version of Claude Code reads.
pub fn base_file() -> PathBuf {
    Path::new(DIRECTORY).join("managed-settings.json")
}

/// The directory with the drop-in files.
pub fn drop_in_directory() -> PathBuf {
    Path::new(DIRECTORY).join("managed-settings.d")
}

/// teamkeep's own drop-in file.
pub fn drop_in_file() -> PathBuf {
    drop_in_directory().join(DROP_IN)
}

/// All files in the order in which they are merged. The first one need not exist.
pub fn files() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(drop_in_directory())
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| is_drop_in(path))
        .collect();
    files.sort();
    files.insert(0, base_file());
    files
}

/// Whether Claude Code reads a file in the directory.
fn is_drop_in(path: &Path) -> bool {
    let is_hidden = path.file_name().is_none_or(|name| name.as_encoded_bytes().starts_with(b"."));
    !is_hidden && path.extension().is_some_and(|extension| extension == "json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_files_and_other_endings_are_ignored() {
        for (name, is_read) in
            [("50-x.json", true), (".50-x.json", false), ("50-x.json.bak", false), ("x", false)]
        {
            assert_eq!(is_drop_in(&Path::new("/d").join(name)), is_read, "{name}");
        }
    }
}
