//! The contents of a run's files. `contents.data` has their bytes, and `contents.jsonl` a line for each content. A content
//! that resembles the one before it, such as an inbox with one more message, has only the bytes between their common
//! beginning and their common end.
//!
//! Both files are appended to, under the team's lock: first the bytes, then the lines, then the manifest that names the
//! contents. If a write fails, both files are truncated to their former lengths. A killed writer leaves bytes without a
//! line, or lines that no manifest names. A call that does not get the lock writes `contents-<event>.data` and
//! `contents-<event>.jsonl`.

mod reader;
mod writer;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use teamkeep_system::error::Error;

pub use reader::RunContents;
pub(super) use writer::measure;
pub use writer::{ContentWriter, CopiedFile};

/// The file with the bytes.
pub(super) const DATA: &str = "contents.data";
/// The file with the lines.
pub(super) const LIST: &str = "contents.jsonl";

/// How many digits of a content's hash its line has. Readers compare the whole hash with what they read.
const HASH_DIGITS: usize = 16;

/// A line of the list: a content.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    /// The first [`HASH_DIGITS`] digits of the content's hash: see [`hash`].
    hash: String,
    /// Where its own bytes begin in the data file.
    at: u64,
    /// Number of its own bytes.
    len: u64,
    base: Option<Base>,
}

/// The content with which another one shares its beginning and its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Base {
    /// The offset of its line, which is an earlier one.
    line: u64,
    /// How many bytes are shared at the beginning.
    front: u64,
    /// How many bytes are shared at the end.
    back: u64,
}

impl Entry {
    /// Parses a line: `["HASH",AT,LEN]`, or with a base `["HASH",AT,LEN,LINE,FRONT,BACK]`.
    fn parse(line: &[u8]) -> Option<Entry> {
        let line = str::from_utf8(line).ok()?.strip_prefix("[\"")?.strip_suffix("]\n")?;
        let (hash, numbers) = line.split_once("\",")?;
        let numbers: Vec<u64> =
            numbers.split(',').map(|number| number.parse().ok()).collect::<Option<_>>()?;
        let (at, len, base) = match *numbers {
            [at, len] => (at, len, None),
            [at, len, line, front, back] => (at, len, Some(Base { line, front, back })),
            _ => return None,
        };
        Some(Entry { hash: hash.to_owned(), at, len, base })
    }

    /// The line, with its end.
    fn line(&self) -> String {
        let Entry { hash, at, len, base } = self;
        match base {
            None => format!("[\"{hash}\",{at},{len}]\n"),
            Some(Base { line, front, back }) => format!("[\"{hash}\",{at},{len},{line},{front},{back}]\n"),
        }
    }
}

/// The part of a hash that a line has.
fn digits(hash: &str) -> &str {
    hash.get(..HASH_DIGITS).unwrap_or(hash)
}

/// The hash of a content: BLAKE3, 64 lower-case hexadecimal digits.
pub fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// Whether a text can be the hash of a content.
pub fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Why a stored content cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ContentError {
    #[error("content {hash} is not in {}", .dir.display())]
    Missing { hash: String, dir: PathBuf },
    #[error("content {hash} in {} is damaged", .dir.display())]
    Damaged { hash: String, dir: PathBuf },
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<ContentError> for Error {
    fn from(error: ContentError) -> Error {
        match error {
            ContentError::Io(error) => error.into(),
            error => Error::new(error.to_string()),
        }
    }
}

/// The runs whose contents were read last, with their open files.
#[derive(Debug, Clone, Default)]
pub(super) struct OpenRuns(Arc<Mutex<Vec<(String, RunContents)>>>);

/// How many runs stay open.
const MAX_OPEN: usize = 2;

impl OpenRuns {
    pub(super) fn with<T>(&self, run: &str, dir: &Path, read: impl FnOnce(&mut RunContents) -> T) -> T {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = open.iter().position(|(name, _)| name == run).map(|at| open.remove(at));
        let (name, mut contents) =
            known.unwrap_or_else(|| (run.to_owned(), RunContents::new(dir.to_owned())));
        let result = read(&mut contents);
        open.truncate(MAX_OPEN - 1);
        open.insert(0, (name, contents));
        result
    }
}

/// The path of an archived transcript without its `.gz`.
pub(super) fn transcript_path(run: &Path, hash: &str) -> PathBuf {
    run.join("transcripts").join(hash)
}

#[cfg(test)]
mod tests;
