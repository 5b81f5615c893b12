//! A file's bytes and text, and positions in it.

use std::fs::Metadata;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::problem::{Code, Problem};
use crate::fs;

/// Maximum size of the user's file in bytes.
pub const MAX_BYTES: u64 = 1 << 20;
/// Maximum size of a project's file in bytes. It is read at every hook call.
pub const LARGEST_PROJECT: u64 = 64 << 10;

/// The text of a file.
#[derive(Debug)]
pub struct Source {
    /// Its path.
    pub path: PathBuf,
    /// The text, without a byte order mark.
    pub text: String,
    /// The byte offset of each line.
    lines: Vec<usize>,
}

/// A file that could be read.
#[derive(Debug)]
pub struct Read {
    /// Its text.
    pub source: Source,
    /// The hash of its bytes.
    pub hash: blake3::Hash,
    /// The file's metadata.
    pub metadata: Metadata,
}

impl Source {
    /// A file with this text.
    pub fn new(path: &Path, text: &str) -> Source {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let lines = std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect();
        Source { path: path.to_path_buf(), text: text.to_owned(), lines }
    }

    /// The line at a byte offset, from 1.
    pub fn line(&self, byte: usize) -> usize {
        self.lines.partition_point(|start| *start <= byte)
    }

    /// Line and column at a byte offset, both from 1; the column counts characters.
    pub fn position(&self, byte: usize) -> (usize, usize) {
        let line = self.line(byte);
        let start = self.lines.get(line - 1).copied().unwrap_or(0);
        let before = self.text.get(start..byte).unwrap_or_default();
        (line, before.chars().count() + 1)
    }

    /// The byte offset of a line and column, both from 1.
    pub fn offset(&self, (line, column): (usize, usize)) -> Option<usize> {
        let start = *self.lines.get(line.checked_sub(1)?)?;
        let rest = self.text.get(start..)?;
        let mut places = rest.char_indices().map(|(place, _)| place).chain([rest.len()]);
        places.nth(column.checked_sub(1)?).map(|place| start + place)
    }

    /// The range of a line, from 1, without its line break.
    pub fn line_range(&self, line: usize) -> Option<Range<usize>> {
        let start = *self.lines.get(line.checked_sub(1)?)?;
        let text = self.text.get(start..)?.lines().next().unwrap_or_default();
        Some(start..start + text.len())
    }
}

/// Reads a file, following links; `Ok(None)` if there is none, at the cost of one failed open.
///
/// # Errors
/// The problem that prevents reading it.
pub fn read(path: &Path, largest: u64) -> Result<Option<Read>, Problem> {
    let (bytes, metadata) = match fs::read_linked(path, largest) {
        Ok(read) => read,
        // If a directory of the path is a file, the file does not exist either.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            let Some(link) = link_to_nothing(path) else { return Ok(None) };
            let what = format!("{} is a broken link", link.display());
            let hint = "create its target, or remove the link";
            return Err(Problem::of_file(Code::Unreadable, path, what).hint(hint));
        }
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
            return Err(Problem::of_file(Code::TooLarge, path, error));
        }
        Err(error) => return Err(Problem::of_file(Code::Unreadable, path, error)),
    };
    let hash = blake3::hash(&bytes);
    match std::str::from_utf8(&bytes) {
        Ok(text) => Ok(Some(Read { source: Source::new(path, text), hash, metadata })),
        Err(error) => {
            let what = format!("{} is not valid UTF-8: {error}", path.display());
            Err(Problem::of_file(Code::NotUtf8, path, what))
        }
    }
}

/// Whether nothing exists at a path. A path that cannot be accessed and a broken link count as existing.
pub fn is_absent(path: &Path) -> bool {
    let kinds = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];
    let absent = |error: io::Error| kinds.contains(&error.kind());
    path.symlink_metadata().err().is_some_and(absent) && link_to_nothing(path).is_none()
}

/// The path or its directory, if it is a broken link: a file is expected there.
fn link_to_nothing(path: &Path) -> Option<&Path> {
    let is_link = |path: &&Path| path.is_symlink() && !path.exists();
    [Some(path), path.parent()].into_iter().flatten().find(is_link)
}

/// The hash of a file's bytes, if it can be read.
pub fn hash(path: &Path) -> Option<blake3::Hash> {
    fs::read_linked(path, MAX_BYTES).ok().map(|(bytes, _)| blake3::hash(&bytes))
}
