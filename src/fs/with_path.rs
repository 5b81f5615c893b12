//! I/O errors with the operation and the path.

use std::io;
use std::path::Path;

/// Adds the failed operation and the path to an I/O error.
pub fn with_path(error: io::Error, verb: &str, path: &Path) -> io::Error {
    io::Error::new(error.kind(), format!("cannot {verb} {}: {error}", path.display()))
}
