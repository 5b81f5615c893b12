//! Files that a command writes because the user asked for them, and the programs that open them.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::{Cause, Error, Result};
use crate::fs;

/// The programs that open a file: the first one that is installed is used.
const OPENERS: &[&str] = if cfg!(target_os = "macos") { &["open"] } else { &["xdg-open", "wslview"] };

/// Writes a file atomically, readable only by the user. An existing file is overwritten only with `force`; a device or a
/// pipe is written to directly.
///
/// # Errors
/// When the file exists, or cannot be written.
pub fn save(path: &Path, bytes: &[u8], force: bool) -> Result<()> {
    let wrong = |error| Error::from(fs::with_path(error, "write", path));
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => {
            Err(Error::usage(format!("{} is a directory", path.display())).hint("choose a file in it"))
        }
        Ok(metadata) if !metadata.is_file() => {
            let mut file = std::fs::OpenOptions::new().write(true).open(path).map_err(wrong)?;
            file.write_all(bytes).map_err(wrong)
        }
        Ok(_) if !force => Err(already_exists(path)),
        // A link is kept: its target is written.
        Ok(_) => fs::write_synced(&path.canonicalize().map_err(wrong)?, bytes).map_err(Error::from),
        Err(_) => {
            check_directory(path)?;
            fs::write_synced(path, bytes).map_err(Error::from)
        }
    }
}

/// The error for a file that is not overwritten.
pub fn already_exists(path: &Path) -> Error {
    Error::new(format!("cannot write {}: it already exists", path.display()))
        .hint("use --force to overwrite, or choose another file")
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

/// Writes a page to a new temporary file that only the user can read.
///
/// # Errors
/// When the file cannot be written.
pub fn temporary(page: &[u8]) -> Result<PathBuf> {
    let cannot =
        |error: Cause| Error::caused("cannot write a temporary file", error).hint("choose a file: -o FILE");
    let file = tempfile::Builder::new().prefix("teamkeep-report-").suffix(".html").tempfile();
    let mut file = file.map_err(|error| cannot(error.into()))?;
    file.write_all(page).map_err(|error| cannot(error.into()))?;
    let (_, path) = file.keep().map_err(|error| cannot(error.into()))?;
    Ok(path)
}

/// Opens the file.
///
/// # Errors
/// When no opener is installed, or it fails.
pub fn open(path: &Path) -> Result<()> {
    let what = || format!("cannot open {}", path.display());
    let hint = format!("open it in a browser: {}", path.display());
    for opener in OPENERS {
        let status = Command::new(opener)
            .arg(path)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        return match status {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => Err(Error::caused(what(), error).hint(hint)),
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(Error::caused(what(), format!("{opener} failed ({status})")).hint(hint)),
        };
    }
    Err(Error::caused(what(), format!("{} is not installed", OPENERS.join(" or "))).hint(hint))
}
