//! The index of earlier versions, with the texts of the store.

use std::path::Path;

/// Removes the index in this directory, and returns whether there was one. Without permission, it stays, and so do other files:
/// `TEAMKEEP_HOME` can name a directory of the user's.
pub fn remove_former_index(dir: &Path) -> bool {
    let (files, index) = (dir.join("files.json"), dir.join("index"));
    let is_dir = |path: &Path| path.symlink_metadata().is_ok_and(|there| there.is_dir());
    if !(is_dir(dir) && is_dir(&index) && index.join("meta.json").is_file() && files.is_file()) {
        return false;
    }
    let removed = fs_err::remove_dir_all(&index).and_then(|()| fs_err::remove_file(&files)).is_ok();
    let _ = fs_err::remove_file(dir.join(".lock"));
    let _ = fs_err::remove_dir(dir);
    removed
}
