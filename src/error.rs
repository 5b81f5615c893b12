//! Errors: what failed, why, and what to do about it.

use std::fmt;

/// The result of everything in this crate that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// The exit code of a usage error.
pub const USAGE: u8 = 64;

/// Every exit code and its meaning.
pub const EXIT_CODES: &[(u8, &str)] = &[
    (0, "Success"),
    (1, "Failure, or problems found (doctor, verify, config check, policy check, policy test --expect)"),
    (2, "Blocked by the policy (teamkeep hook only)"),
    (USAGE, "Usage error"),
    (70, "Internal error: a bug in teamkeep"),
];

/// A failure. Displayed as `what: cause`; [`crate::ui::Ui::report`] prints each hint on its own line.
#[derive(Debug, Clone, thiserror::Error)]
pub struct Error {
    /// The failed action and its object, in lower case.
    pub what: String,
    /// Why it failed, when another error is the cause.
    pub cause: Option<String>,
    /// Commands or settings that help.
    pub hints: Vec<String>,
    /// The kind of failure, which decides the exit code.
    pub kind: Kind,
}

/// The kinds of failure that callers distinguish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Any failure without a kind of its own: exit code 1.
    Failure,
    /// A usage error: exit code 64.
    Usage,
    /// Nothing with that name is recorded: exit code 1.
    NotFound,
}

impl Error {
    /// A failure without a cause.
    pub fn new(what: impl Into<String>) -> Error {
        Error { what: what.into(), cause: None, hints: Vec::new(), kind: Kind::Failure }
    }

    /// A failure and the error that caused it.
    pub fn caused(what: impl Into<String>, cause: impl fmt::Display) -> Error {
        Error { cause: Some(cause.to_string()), ..Error::new(what) }
    }

    /// Nothing with that name is recorded.
    pub fn not_found(what: impl Into<String>) -> Error {
        Error { kind: Kind::NotFound, ..Error::new(what) }
    }

    /// A usage error.
    pub fn usage(what: impl Into<String>) -> Error {
        Error { kind: Kind::Usage, ..Error::new(what) }
    }

    /// The same as a usage error.
    pub fn of_usage(self) -> Error {
        Error { kind: Kind::Usage, ..self }
    }

    /// A value that cannot be serialized as JSON.
    pub fn from_json(error: serde_json::Error) -> Error {
        Error::caused("cannot write JSON", error)
    }

    /// Adds a hint: a command or a setting that helps.
    pub fn hint(mut self, hint: impl Into<String>) -> Error {
        self.hints.push(hint.into());
        self
    }

    /// The exit code of a command that fails with this error. Never 2: that would block a tool call.
    pub fn exit_code(&self) -> u8 {
        match self.kind {
            Kind::Usage => USAGE,
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

/// The message of an `fs_err` error already names the operation and the path.
impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Error {
        let what = error.to_string();
        match std::error::Error::source(&error).or(error.get_ref().and_then(|inner| inner.source())) {
            Some(cause) if !what.contains(&cause.to_string()) => Error::caused(what, cause),
            _ => Error::new(what),
        }
    }
}
