//! Overwriting files in place.

use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

use super::read::regular;
use super::{is_blocked_by_other_file, with_path, write_atomic};

/// Overwrites a file in place and returns whether it existed. For data that can be rebuilt: on ext4, a rename over a
/// file flushes its blocks at once and leaves an inode that cannot be reused for five seconds. A reader may see a
/// partly written state. If the former content was longer, the rest is filled with spaces. A link or a pipe at this
/// path is replaced.
///
/// # Errors
/// When an I/O operation fails.
pub fn overwrite_in_place(path: &Path, mut bytes: Vec<u8>) -> io::Result<bool> {
    use std::os::unix::fs::FileExt;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32);
    let file = match options.open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return write_atomic(path, &bytes, false).map(|()| false);
        }
        Err(_) if is_blocked_by_other_file(path) => return write_atomic(path, &bytes, false).map(|()| true),
        Err(error) => return Err(with_path(error, "open", path)),
    };
    let length = regular(&file, path)?.len();
    bytes.resize(bytes.len().max(length as usize), b' ');
    file.write_all_at(&bytes, 0).map_err(|error| with_path(error, "write", path))?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_is_written_over_has_no_rest_of_the_former() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/cache.json");
        assert!(!overwrite_in_place(&path, b"[1,2,3]".to_vec()).unwrap());
        assert!(overwrite_in_place(&path, b"[4]".to_vec()).unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), b"[4]    ");
        assert!(overwrite_in_place(&path, b"[1,2,3,4]".to_vec()).unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), b"[1,2,3,4]");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
