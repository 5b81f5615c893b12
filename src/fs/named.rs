//! Errors that say what was attempted.

use std::io;
use std::path::Path;

/// An error that says what was attempted, and where.
pub fn named(error: io::Error, verb: &str, path: &Path) -> io::Error {
    io::Error::new(error.kind(), format!("cannot {verb} {}: {error}", path.display()))
}
