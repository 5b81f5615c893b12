//! A file's bytes and text, positions in it, and the part of it that a problem is about.

use std::collections::HashMap;
use std::fs::Metadata;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::problem::{Code, Problem};
use teamkeep_system::fs;

/// Maximum size of the user's file in bytes.
pub const MAX_BYTES: u64 = 1 << 20;
/// Maximum size of a project's file in bytes. It is read at every hook call.
pub const LARGEST_PROJECT: u64 = 64 << 10;

/// The text of a file.
#[derive(Debug)]
pub struct Source {
    pub path: PathBuf,
    /// The text, without a byte order mark.
    pub text: String,
    /// The byte offset of each line.
    lines: Vec<usize>,
}

/// A file that could be read.
#[derive(Debug)]
pub struct Read {
    pub source: Source,
    /// The hash of its bytes.
    pub hash: blake3::Hash,
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

    /// A problem with this part of the text.
    pub fn problem(&self, code: Code, span: Range<usize>, message: impl Into<String>) -> Problem {
        let (at, length) = (Some(self.position(span.start)), u32::try_from(span.len()).unwrap_or(0));
        Problem { at, length, ..Problem::of_file(code, &self.path, message.into()) }
    }
}

/// Reads a file, following links; `Ok(None)` if there is none, at the cost of one failed open.
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
pub(crate) fn is_absent(path: &Path) -> bool {
    let kinds = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];
    let absent = |error: io::Error| kinds.contains(&error.kind());
    path.symlink_metadata().err().is_some_and(absent) && !path.parent().is_some_and(is_broken_link)
}

/// The path or its directory, if it is a broken link: a file is expected there.
fn link_to_nothing(path: &Path) -> Option<&Path> {
    let parent = path.parent()?;
    match parent.symlink_metadata() {
        Ok(found) if found.is_symlink() && !parent.exists() => Some(parent),
        Ok(_) => is_broken_link(path).then_some(path),
        // A missing directory has no links.
        Err(_) => None,
    }
}

fn is_broken_link(path: &Path) -> bool {
    path.is_symlink() && !path.exists()
}

/// The hash of a file's bytes, if it can be read.
pub fn hash(path: &Path) -> Option<blake3::Hash> {
    fs::read_linked(path, MAX_BYTES).ok().map(|(bytes, _)| blake3::hash(&bytes))
}

/// The files of some problems, each read once.
#[derive(Debug, Default)]
pub struct Excerpts {
    files: HashMap<PathBuf, Option<Source>>,
}

/// The part of a file that a problem is about.
#[derive(Debug, PartialEq, Eq)]
pub struct Excerpt<'a> {
    /// The line's number, from 1.
    pub number: usize,
    pub line: &'a str,
    /// The part of the line, in bytes.
    pub marked: Range<usize>,
}

impl Excerpts {
    /// The part that a problem is about; `None` for a problem with the file itself.
    pub fn of(&mut self, problem: &Problem) -> Option<Excerpt<'_>> {
        let file = self
            .files
            .entry(problem.path.clone())
            .or_insert_with(|| read(&problem.path, MAX_BYTES).ok().flatten().map(|read| read.source));
        file.as_ref()?.excerpt(problem)
    }
}

impl Source {
    fn excerpt(&self, problem: &Problem) -> Option<Excerpt<'_>> {
        let (number, column) = problem.at?;
        let text = self.text.get(*self.lines.get(number.checked_sub(1)?)?..)?;
        let line = text.lines().next().unwrap_or_default();
        let (start, _) = line.char_indices().chain([(line.len(), ' ')]).nth(column.checked_sub(1)?)?;
        let word = line[start..].split([' ', '=']).next().unwrap_or_default();
        let length = if problem.length == 0 { word.len() } else { problem.length as usize };
        let marked = start..line.len().min(start + length);
        Some(Excerpt { number, line, marked })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::check;

    /// The marked texts of all problems of a file.
    fn marked(text: &str) -> Vec<String> {
        let source = Source::new(Path::new("x"), text);
        let problems = check(&source).problems;
        let excerpts = problems.iter().map(|problem| source.excerpt(problem).unwrap());
        excerpts.map(|one| one.line[one.marked.clone()].to_owned()).collect()
    }

    #[test]
    fn the_key_or_the_value_is_marked() {
        let text = "[log]\nkeep = \"90\" # days\n[polcy]\n[policy]\nmax-blocks = true\n[[rule]]\nname = \"x\"\naction = \"warn\"\nevents = [\"Stop\", \"Stoop\"]\n";
        assert_eq!(marked(text), ["\"90\"", "polcy", "true", "\"Stoop\""]);
    }

    #[test]
    fn an_invalid_file_has_a_line_too() {
        assert_eq!(marked("[log]\nkeep = \n"), [""]);
        assert_eq!(marked("[policy]\nmax-blocks = 1\nmax-blocks = 2\n"), ["max-blocks"]);
        let source = Source::new(Path::new("x"), "a = \"ä\"\n  b = 1\n");
        let at = |at| Problem { at: Some(at), ..Problem::of_file(Code::Syntax, "x", "") };
        let word = source.excerpt(&at((2, 3))).unwrap();
        assert_eq!((&word.line[word.marked.clone()], word.number), ("b", 2));
        assert_eq!(source.excerpt(&at((9, 1))), None);
    }
}
