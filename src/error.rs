//! What went wrong, said so that a person can act on it.

use std::fmt;

/// The result of everything that can fail in this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A failure: what was attempted (with the path), its cause, and what to do about it.
///
/// Shown as `what: cause`; each hint goes on a line of its own by [`crate::ui::Ui::report`].
#[derive(Debug, Clone, thiserror::Error)]
pub struct Error {
    /// What was attempted, lower case, with the path.
    pub what: String,
    /// Why it failed, where another error says so.
    pub cause: Option<String>,
    /// Commands or settings that help.
    pub hints: Vec<String>,
    /// What kind of failure it is; it decides the exit code.
    pub kind: Kind,
}

/// The kinds of failure that a caller tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Anything that is nobody's fault but the world's: exit code 1.
    Failure,
    /// A command line that makes no sense: exit code 64.
    Usage,
    /// Nothing by that name is on record: exit code 1.
    NotFound,
}

impl Error {
    /// A failure that has no deeper cause.
    pub fn new(what: impl Into<String>) -> Error {
        Error { what: what.into(), cause: None, hints: Vec::new(), kind: Kind::Failure }
    }

    /// A failure with the error that caused it.
    pub fn caused(what: impl Into<String>, cause: impl fmt::Display) -> Error {
        Error { cause: Some(cause.to_string()), ..Error::new(what) }
    }

    /// Nothing by that name is on record.
    pub fn not_found(what: impl Into<String>) -> Error {
        Error { kind: Kind::NotFound, ..Error::new(what) }
    }

    /// A command line that makes no sense.
    pub fn usage(what: impl Into<String>) -> Error {
        Error { kind: Kind::Usage, ..Error::new(what) }
    }

    /// Something of ours could not be spelled as JSON.
    pub fn from_json(error: serde_json::Error) -> Error {
        Error::caused("cannot write JSON", error)
    }

    /// Adds something that the user can do.
    pub fn hint(mut self, hint: impl Into<String>) -> Error {
        self.hints.push(hint.into());
        self
    }

    /// The exit code of a command that ends with this failure. Never 2: that would block a tool call.
    pub fn exit_code(&self) -> u8 {
        match self.kind {
            Kind::Usage => 64,
            Kind::Failure | Kind::NotFound => 1,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.what)?;
        match &self.cause {
            Some(cause) => write!(out, ": {cause}"),
            None => Ok(()),
        }
    }
}

/// `fs_err` names the operation and the path by itself.
impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Error {
        let what = error.to_string();
        match std::error::Error::source(&error).or(error.get_ref().and_then(|inner| inner.source())) {
            Some(cause) if !what.contains(&cause.to_string()) => Error::caused(what, cause),
            _ => Error::new(what),
        }
    }
}
