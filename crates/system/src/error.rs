//! Errors: what failed, why, and what to do about it.

use std::fmt;
use std::io::ErrorKind;
use teamkeep_model::words::and_more;

pub type Result<T> = std::result::Result<T, Error>;

pub const USAGE: u8 = 64;

pub const EXIT_CODES: &[(u8, &str)] = &[
    (0, "Success"),
    (1, "Failure, or problems found (by doctor, verify, config check, policy test)"),
    (2, "Blocked by the policy (hook calls only)"),
    (USAGE, "Usage error"),
    (70, "Internal error: a bug in teamkeep"),
];

/// A failure. Displayed as `context: source`; the command line prints each hint on its own line.
#[derive(Debug)]
pub struct Error {
    /// The failed action and its object, in lower case; `None` if the source names them.
    context: Option<String>,
    source: Option<Cause>,
    pub hints: Vec<String>,
    pub kind: ErrorClass,
}

/// The error that caused another one: any error, or a text.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorClass {
    Failure,
    Usage,
    NotFound,
}

impl Error {
    pub fn new(what: impl Into<String>) -> Error {
        Error { context: Some(what.into()), source: None, hints: Vec::new(), kind: ErrorClass::Failure }
    }

    pub fn caused(what: impl Into<String>, cause: impl Into<Cause>) -> Error {
        Error { source: Some(cause.into()), ..Error::new(what) }
    }

    /// The failed action of which this error is the cause. Its kind and its hints stay.
    pub fn within(mut self, what: impl Into<String>) -> Error {
        let (hints, kind) = (std::mem::take(&mut self.hints), self.kind);
        Error { hints, kind, ..Error::caused(what, self) }
    }

    pub fn not_found(what: impl Into<String>) -> Error {
        Error { kind: ErrorClass::NotFound, ..Error::new(what) }
    }

    pub fn usage(what: impl Into<String>) -> Error {
        Error { kind: ErrorClass::Usage, ..Error::new(what) }
    }

    pub fn of_usage(self) -> Error {
        Error { kind: ErrorClass::Usage, ..self }
    }

    pub fn from_json(error: serde_json::Error) -> Error {
        Error::caused("cannot write JSON", error)
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Error {
        self.hints.push(hint.into());
        self
    }

    /// Like [`Error::hint`], if there is a hint.
    pub fn maybe_hint(self, hint: Option<impl Into<String>>) -> Error {
        hint.into_iter().fold(self, Error::hint)
    }

    /// Adds the hint for a word that is not one of the known ones: the most similar one, or all of them. Every message about an
    /// unknown name has its hint from here.
    pub fn suggest(self, what: &str, word: &str, known: &[&str]) -> Error {
        match nearest(word, known, 2) {
            Some(near) => self.hint(format!("did you mean {near:?}?")),
            None if (1..=MAX_LISTED).contains(&known.len()) => {
                self.hint(format!("known {what}s: {}", known.join(", ")))
            }
            None => self,
        }
    }

    /// The failed action and its object, without the cause.
    pub fn action(&self) -> Option<&str> {
        self.context.as_deref()
    }

    /// Whether the cause is that the user lacks a permission, or that a directory is a file.
    pub fn is_inaccessible(&self) -> bool {
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(self);
        while let Some(error) = cause {
            let kind = error.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
            if let Some(ErrorKind::PermissionDenied | ErrorKind::NotADirectory) = kind {
                return true;
            }
            cause = error.source();
        }
        false
    }

    /// The exit code of a command that fails with this error. Never 2: that would block a tool call.
    pub fn exit_code(&self) -> u8 {
        match self.kind {
            ErrorClass::Usage => USAGE,
            ErrorClass::Failure | ErrorClass::NotFound => 1,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.context, &self.source) {
            (Some(what), Some(source)) => write!(out, "{what}: {source}"),
            (Some(what), None) => out.write_str(what),
            (None, Some(source)) => source.fmt(out),
            (None, None) => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

/// The message of an I/O error already names the operation and the path.
impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Error {
        Error { context: None, ..Error::caused("", error) }
    }
}

/// An error lists at most this many known words.
const MAX_LISTED: usize = 40;

/// The error for a word that is not one of the known ones, with the hint of [`Error::suggest`].
pub fn unknown(what: &str, word: &str, known: &[&str]) -> Error {
    Error::not_found(format!("unknown {what} {word:?}")).suggest(what, word, known)
}

/// At most this many candidates of an ambiguous name are listed.
const MAX_CANDIDATES: usize = 3;

/// The first candidates, and the number of the others: `a, b, c and 2 more`.
pub fn candidates<T: fmt::Display>(all: &[T]) -> String {
    let shown: Vec<String> = all.iter().take(MAX_CANDIDATES).map(T::to_string).collect();
    shown.join(", ") + &and_more(all.len().saturating_sub(MAX_CANDIDATES))
}

/// The most similar known word. It differs in at most `max_distance` characters, or in a third of its own. Two swapped
/// neighbors count as one difference.
pub fn nearest<'a>(word: &str, known: &[&'a str], max_distance: usize) -> Option<&'a str> {
    let plain = |word: &str| word.to_lowercase().replace('_', "-");
    let word = plain(word);
    let near = known.iter().map(|known| (strsim::osa_distance(&word, &plain(known)), *known)).min()?;
    (near.0 <= max_distance.max(near.1.chars().count() / 3)).then_some(near.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error as _;

    #[test]
    fn an_error_keeps_its_kind_its_hints_and_its_sources() {
        let cause = std::io::Error::new(std::io::ErrorKind::NotFound, "cannot open x: no such file");
        let error = Error::from(cause).hint("create it").of_usage().within("cannot import x");
        assert_eq!(error.to_string(), "cannot import x: cannot open x: no such file");
        assert_eq!(
            (error.kind, error.hints.as_slice()),
            (ErrorClass::Usage, ["create it".to_owned()].as_slice())
        );
        let inner = error.source().and_then(|inner| inner.source()).and_then(|inner| inner.downcast_ref());
        assert_eq!(inner.map(std::io::Error::kind), Some(std::io::ErrorKind::NotFound));
    }

    #[test]
    fn a_missing_permission_is_found_below_other_errors() {
        let denied = std::io::Error::new(std::io::ErrorKind::PermissionDenied, "cannot open x");
        let passed_on = std::io::Error::other(Error::from(denied).within("cannot read the log"));
        assert!(Error::from(passed_on).within("cannot list").is_inaccessible());
        assert!(!Error::caused("cannot open x", std::io::Error::other("full")).is_inaccessible());
    }

    #[test]
    fn more_than_three_candidates_are_counted() {
        assert_eq!(candidates(&["a"]), "a");
        assert_eq!(candidates(&["a", "b", "c"]), "a, b, c");
        assert_eq!(candidates(&["a", "b", "c", "d", "e"]), "a, b, c and 2 more");
    }

    #[test]
    fn typo_is_near_and_another_word_is_not() {
        let known = ["keep-size", "SubagentStop", "parser-team"];
        assert_eq!(nearest("keep_sise", &known, 2), Some("keep-size"));
        assert_eq!(nearest("subagentstop", &known, 2), Some("SubagentStop"));
        assert_eq!(nearest("parser-taem", &known, 2), Some("parser-team"));
        assert_eq!((nearest("lexer", &known, 2), nearest("", &[], 2)), (None, None));
    }

    #[test]
    fn suggestion_is_made_only_for_a_typo() {
        assert_eq!(nearest("keep_size", &["keep", "keep-size"], 1), Some("keep-size"));
        assert_eq!(nearest("PreToolUs", &["PreToolUse", "PostToolUse"], 1), Some("PreToolUse"));
        assert_eq!(nearest("moed", &["mode", "run"], 1), Some("mode"), "swapped neighbors");
        assert_eq!(nearest("colour", &["mode", "run"], 1), None);
        assert_eq!(nearest("x", &["on"], 1), None);
        assert_eq!(nearest("x", &[], 1), None);
    }
}
