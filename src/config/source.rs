//! A file as written: its bytes, its text, and where in it a byte stands.

use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};

use super::problem::{Code, Problem};
use crate::fs;

/// No configuration that a person writes is larger.
pub const LARGEST: u64 = 1 << 20;
/// A project's file is read at every call, whoever wrote it.
pub const LARGEST_PROJECT: u64 = 64 << 10;

/// The text of a file.
#[derive(Debug)]
pub struct Source {
    /// Where it stands.
    pub path: PathBuf,
    /// The text, without a byte order mark.
    pub text: String,
    /// Where each line begins.
    lines: Vec<usize>,
}

/// A file that could be read.
#[derive(Debug)]
pub struct Read {
    /// Its text.
    pub source: Source,
    /// The hash of its bytes.
    pub hash: blake3::Hash,
    /// What the disk says of it.
    pub metadata: Metadata,
}

impl Source {
    /// Takes the text of a file.
    pub fn new(path: &Path, text: &str) -> Source {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let lines = std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect();
        Source { path: path.to_path_buf(), text: text.to_owned(), lines }
    }

    /// The line of a byte, from 1.
    pub fn line(&self, byte: usize) -> usize {
        self.lines.partition_point(|start| *start <= byte)
    }

    /// Line and column of a byte, both from 1; the column counts characters.
    pub fn position(&self, byte: usize) -> (usize, usize) {
        let line = self.line(byte);
        let start = self.lines.get(line - 1).copied().unwrap_or(0);
        let before = self.text.get(start..byte).unwrap_or_default();
        (line, before.chars().count() + 1)
    }

    /// `path:line` of a byte.
    pub fn place(&self, byte: usize) -> String {
        format!("{}:{}", self.path.display(), self.line(byte))
    }
}

/// Reads a file, following links; `Ok(None)` when there is none, at the cost of one failed open.
///
/// # Errors
/// The one problem that keeps it from being read.
pub fn read(path: &Path, largest: u64) -> Result<Option<Read>, Problem> {
    let (bytes, metadata) = match fs::read_linked(path, largest) {
        Ok(read) => read,
        // Where a directory of the path is a file, there is no such file either.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            let Some(link) = link_to_nothing(path) else { return Ok(None) };
            let what = format!("{} is a link to nothing", link.display());
            let hint = "make what it names, or take the link away";
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
            let what = format!("{} is no UTF-8: {error}", path.display());
            Err(Problem::of_file(Code::NotUtf8, path, what))
        }
    }
}

/// What can be made out of a file that cannot be used as text, for want of anything better: its beginning, with marks in
/// place of what is no text.
pub fn glimpse(path: &Path, largest: u64) -> Option<Source> {
    let bytes = fs::read_beginning(path, largest).ok()?;
    Some(Source::new(path, &String::from_utf8_lossy(&bytes)))
}

/// Whether nothing stands at a path. What cannot be looked at is something, and so is a link to nothing.
pub fn is_absent(path: &Path) -> bool {
    let kinds = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];
    let absent = |error: io::Error| kinds.contains(&error.kind());
    path.symlink_metadata().err().is_some_and(absent) && link_to_nothing(path).is_none()
}

/// The path, or its directory, where it is a link to nothing: somebody meant a file there.
fn link_to_nothing(path: &Path) -> Option<&Path> {
    let is_link = |path: &&Path| path.is_symlink() && !path.exists();
    [Some(path), path.parent()].into_iter().flatten().find(is_link)
}

/// The hash of a file's bytes, where it can be read.
pub fn hash(path: &Path) -> Option<blake3::Hash> {
    fs::read_linked(path, LARGEST).ok().map(|(bytes, _)| blake3::hash(&bytes))
}
