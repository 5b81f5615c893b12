//! The index of earlier versions, with the texts of the store.

use std::path::Path;

/// Removes the index in this directory, and returns whether there was one. Without permission, it stays.
pub fn remove_former_index(dir: &Path) -> bool {
    let is_dir = |path: &Path| path.symlink_metadata().is_ok_and(|there| there.is_dir());
    is_dir(dir) && fs_err::remove_dir_all(dir).is_ok()
}
