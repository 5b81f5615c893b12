//! Permissions and times of files. Windows has access lists instead of permissions, which no test reads: there, nothing is set or
//! checked.

use std::fs::File;
use std::path::Path;
use std::time::SystemTime;

/// Sets the permissions of a file or directory.
pub fn set_mode(path: impl AsRef<Path>, mode: u32) {
    #[cfg(unix)]
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    #[cfg(windows)]
    let _ = (path, mode);
}

/// Checks the permissions of a file or directory. A link is not followed.
#[track_caller]
pub fn assert_mode(path: impl AsRef<Path>, expected: u32) {
    let path = path.as_ref();
    let metadata = path.symlink_metadata().unwrap();
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::MetadataExt::mode(&metadata) & 0o777;
        assert_eq!(mode, expected, "{}", path.display());
    }
    #[cfg(windows)]
    let _ = (metadata, expected);
}

/// Sets the time of the last change of a file or directory.
pub fn set_time(path: &Path, time: SystemTime) {
    let mut options = File::options();
    #[cfg(unix)]
    options.read(true);
    #[cfg(windows)]
    {
        use std::os::windows::fs::OpenOptionsExt;
        const WRITE_ATTRIBUTES: u32 = 0x100;
        const BACKUP_SEMANTICS: u32 = 0x0200_0000;
        options.access_mode(WRITE_ATTRIBUTES).custom_flags(BACKUP_SEMANTICS);
    }
    options.open(path).unwrap().set_modified(time).unwrap();
}
