//! Opens a file with the program that the desktop uses for it.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::{Cause, Error, Result};

/// The programs that open a file: the first one that is installed is used.
const OPENERS: &[&str] = if cfg!(target_os = "macos") { &["open"] } else { &["xdg-open", "wslview"] };

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
