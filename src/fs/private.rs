//! Files and directories that nobody but the user reads.

use std::fs::File;
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::Mode;

use super::named;

/// Mode of every file that we make.
pub const PRIVATE_FILE: u32 = 0o600;
/// Mode of every directory that we make.
pub const PRIVATE_DIR: u32 = 0o700;

/// Leaves every right of the user's own to what is made: a mask that takes them would make directories that no later
/// call gets into. What the mask takes from others stays taken.
pub fn keep_own_rights() {
    let mask = rustix::process::umask(Mode::from_raw_mode(0o077));
    rustix::process::umask(mask - Mode::RWXU);
}

/// Makes a directory with all its parents, readable by the user alone.
///
/// # Errors
/// When it cannot be made, or something else stands in its place.
pub fn private_dir(path: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(PRIVATE_DIR);
    builder.create(path).map_err(|error| named(error, "make the directory", path))
}

/// Makes one directory that is not there yet, readable by the user alone.
///
/// # Errors
/// When it is there already, or cannot be made.
pub fn make_private_dir(path: &Path) -> io::Result<()> {
    let made = std::fs::DirBuilder::new().mode(PRIVATE_DIR).create(path);
    made.map_err(|error| named(error, "make the directory", path))
}

/// Opens with these options and mode 0600, making the parent directory when it is missing.
///
/// # Errors
/// As opening does, with the path named.
pub fn open_private(options: &mut std::fs::OpenOptions, path: &Path) -> io::Result<File> {
    options.mode(PRIVATE_FILE);
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if let Some(parent) = path.parent() {
                private_dir(parent)?;
            }
            options.open(path).map_err(|error| named(error, "open", path))
        }
        other => other.map_err(|error| named(error, "open", path)),
    }
}
