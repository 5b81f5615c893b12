//! Files and directories that only the user can read.

use std::fs::File;
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::Mode;

use super::with_path;

/// Mode of every file that teamkeep creates.
pub const PRIVATE_FILE: u32 = 0o600;
/// Mode of every directory that teamkeep creates.
pub const PRIVATE_DIR: u32 = 0o700;

/// Clears the owner's bits in the umask. With them set, this process would create directories that later calls cannot
/// enter. The bits for group and others are unchanged.
pub fn set_umask() {
    let mask = rustix::process::umask(Mode::from_raw_mode(0o077));
    rustix::process::umask(mask - Mode::RWXU);
}

/// Creates a directory and its parents with mode 0700.
///
/// # Errors
/// When it cannot be created, or the path exists and is not a directory.
pub fn private_dir(path: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(PRIVATE_DIR);
    builder.create(path).map_err(|error| with_path(error, "make the directory", path))
}

/// Creates one new directory with mode 0700.
///
/// # Errors
/// When it already exists or cannot be created.
pub fn make_private_dir(path: &Path) -> io::Result<()> {
    let made = std::fs::DirBuilder::new().mode(PRIVATE_DIR).create(path);
    made.map_err(|error| with_path(error, "make the directory", path))
}

/// Opens a file with these options and mode 0600. Creates the parent directory if it is missing.
///
/// # Errors
/// When the file cannot be opened; the error names the path.
pub fn open_private(options: &mut std::fs::OpenOptions, path: &Path) -> io::Result<File> {
    options.mode(PRIVATE_FILE);
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if let Some(parent) = path.parent() {
                private_dir(parent)?;
            }
            options.open(path).map_err(|error| with_path(error, "open", path))
        }
        other => other.map_err(|error| with_path(error, "open", path)),
    }
}
