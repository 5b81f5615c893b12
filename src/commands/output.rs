//! Files that a command writes because the user asked for them.

use std::io::Write;
use std::path::Path;

use crate::error::{Error, Result};
use crate::fs;

/// Writes a file atomically, readable only by the user. An existing file is overwritten only with `force`; a device or a
/// pipe is written to directly.
///
/// # Errors
/// When the file exists, or cannot be written.
pub fn save(path: &Path, bytes: &[u8], force: bool) -> Result<()> {
    let wrong = |error| Error::from(fs::with_path(error, "write", path));
    match std::fs::metadata(path) {
        Ok(there) if there.is_dir() => {
            Err(Error::usage(format!("{} is a directory", path.display())).hint("choose a file in it"))
        }
        Ok(there) if !there.is_file() => {
            let mut file = std::fs::OpenOptions::new().write(true).open(path).map_err(wrong)?;
            file.write_all(bytes).map_err(wrong)
        }
        Ok(_) if !force => Err(Error::new(format!("cannot write {}: it already exists", path.display()))
            .hint("use --force to overwrite, or choose another file")),
        // A link is kept: its target is written.
        Ok(_) => fs::write_atomic(&path.canonicalize().map_err(wrong)?, bytes, true).map_err(Error::from),
        Err(_) => {
            check_directory(path)?;
            fs::write_atomic(path, bytes, true).map_err(Error::from)
        }
    }
}

/// The directory of a file.
pub fn directory(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Checks that the directory of a file exists.
///
/// # Errors
/// When it does not.
pub fn check_directory(path: &Path) -> Result<()> {
    let dir = directory(path);
    if dir.is_dir() {
        return Ok(());
    }
    Err(Error::new(format!(
        "cannot write {}: the directory {} does not exist",
        path.display(),
        dir.display()
    )))
}
