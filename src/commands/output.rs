//! Files that a command writes because the user asked for them.

use std::io::Write;
use std::path::Path;

use crate::error::{Error, Result};
use crate::fs;

/// Puts a file in place, whole or not at all, readable by its owner alone. What is there already is written over only
/// with `force`; a device or a pipe is written to as it is.
///
/// # Errors
/// When something is there already, or the disk refuses.
pub fn save(path: &Path, bytes: &[u8], force: bool) -> Result<()> {
    let wrong = |error| Error::from(fs::named(error, "write", path));
    match std::fs::metadata(path) {
        Ok(there) if there.is_dir() => {
            Err(Error::usage(format!("{} is a directory", path.display())).hint("name a file in it"))
        }
        Ok(there) if !there.is_file() => {
            let mut file = std::fs::OpenOptions::new().write(true).open(path).map_err(wrong)?;
            file.write_all(bytes).map_err(wrong)
        }
        Ok(_) if !force => Err(Error::new(format!("{} is there already", path.display()))
            .hint("write over it with --force, or name another file")),
        // A link stays one: what it points to is written.
        Ok(_) => fs::write_atomic(&path.canonicalize().map_err(wrong)?, bytes, true).map_err(Error::from),
        Err(_) => {
            check_directory(path)?;
            fs::write_atomic(path, bytes, true).map_err(Error::from)
        }
    }
}

/// The directory that a file is in, or is to be in.
pub fn directory(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Says so when there is no directory for a file.
///
/// # Errors
/// When there is none.
pub fn check_directory(path: &Path) -> Result<()> {
    let dir = directory(path);
    if dir.is_dir() {
        return Ok(());
    }
    Err(Error::new(format!("cannot write {}: there is no directory {}", path.display(), dir.display())))
}
