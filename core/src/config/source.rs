//! A file's bytes and text, positions in it, and the part of it that a problem is about.

use std::collections::HashMap;
use std::fs::Metadata;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};

use super::problem::{Code, Problem};
use crate::sys::fs;

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

/// The files of some problems, each read once.
#[derive(Debug, Default)]
pub struct Excerpts {
    files: HashMap<PathBuf, Option<File>>,
}

/// The part of a file that a problem is about.
#[derive(Debug, PartialEq, Eq)]
pub struct Excerpt<'a> {
    /// The line's number, from 1.
    pub number: usize,
    pub line: &'a str,
    /// The part of the line, in bytes.
    pub marked: Range<usize>,
    /// The name of the file's table, such as `policy`; empty for an error before the first one.
    pub table: &'a str,
}

impl Excerpts {
    /// The part that a problem is about; `None` for a problem with the file itself.
    pub fn of(&mut self, problem: &Problem) -> Option<Excerpt<'_>> {
        let at = problem.at?;
        let file = self.files.entry(problem.path.clone()).or_insert_with(|| File::read(&problem.path));
        file.as_ref()?.excerpt(at)
    }
}

/// A file and the positions of its keys and values.
#[derive(Debug)]
struct File {
    source: Source,
    spans: Vec<Span>,
}

#[derive(Debug)]
struct Span {
    range: Range<usize>,
    /// The table of the file that it is in.
    table: String,
}

impl File {
    fn read(path: &Path) -> Option<File> {
        read(path, MAX_BYTES).ok().flatten().map(|read| File::of(read.source))
    }

    fn of(source: Source) -> File {
        let mut spans = Vec::new();
        let (table, errors) = DeTable::parse_recoverable(&source.text);
        for (name, value) in table.get_ref() {
            let mut add = |range| spans.push(Span { range, table: name.get_ref().to_string() });
            add(name.span());
            add(value.span());
            below(value.get_ref(), &mut add);
        }
        spans.sort_by_key(|span| span.range.start);
        let table_at = |at: usize| {
            let before = spans.iter().take_while(|span| span.range.start <= at).last();
            before.map(|span| span.table.clone()).unwrap_or_default()
        };
        let of_errors = errors.iter().filter_map(|error| error.span());
        let of_errors: Vec<Span> =
            of_errors.map(|range| Span { table: table_at(range.start), range }).collect();
        spans.extend(of_errors);
        spans.sort_by_key(|span| span.range.start);
        File { source, spans }
    }

    fn excerpt(&self, (number, column): (usize, usize)) -> Option<Excerpt<'_>> {
        let (at, line) = (self.source.offset((number, column))?, self.source.line_range(number)?);
        let text = self.source.text.get(line.clone())?;
        let here = self.spans.iter().filter(|span| span.range.start == at);
        let shortest = here.min_by_key(|span| (span.range.is_empty(), span.range.len()));
        let marked = match shortest {
            Some(span) => at..span.range.end.clamp(at, line.end.max(at)),
            None => self.words_from(at, line.end),
        };
        let before = self.spans.iter().take_while(|span| span.range.start <= at).last();
        let table = before.map(|span| span.table.as_str()).unwrap_or_default();
        let inside = |at: usize| at.saturating_sub(line.start).min(text.len());
        Some(Excerpt { number, line: text, marked: inside(marked.start)..inside(marked.end), table })
    }

    /// The rest of a line without the spaces around it.
    fn words_from(&self, at: usize, end: usize) -> Range<usize> {
        let rest = self.source.text.get(at..end).unwrap_or_default();
        let start = at + (rest.len() - rest.trim_start().len());
        start..start + rest.trim().len()
    }
}

/// Adds the ranges of everything in a value.
fn below(value: &DeValue<'_>, add: &mut impl FnMut(Range<usize>)) {
    match value {
        DeValue::Table(values) => {
            for (name, value) in values {
                add(name.span());
                add(value.span());
                below(value.get_ref(), add);
            }
        }
        DeValue::Array(list) => {
            for item in list {
                add(item.span());
                below(item.get_ref(), add);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::check::check;

    /// The marked texts and the tables of all problems of a file.
    fn marked(text: &str) -> Vec<(String, String)> {
        let source = Source::new(Path::new("x"), text);
        let problems = check(&source).problems;
        let file = File::of(source);
        let excerpts = problems.iter().map(|problem| file.excerpt(problem.at.unwrap()).unwrap());
        excerpts.map(|one| (one.line[one.marked.clone()].to_owned(), one.table.to_owned())).collect()
    }

    #[test]
    fn the_key_or_the_value_is_marked() {
        let text = "[log]\nkeep = \"90\" # days\n[polcy]\n[policy]\nmax-blocks = true\n[[rule]]\nname = \"x\"\naction = \"warn\"\nevents = [\"Stop\", \"Stoop\"]\n";
        let found = marked(text);
        let found: Vec<(&str, &str)> =
            found.iter().map(|(text, table)| (text.as_str(), table.as_str())).collect();
        let expected = [("\"90\"", "log"), ("polcy", "polcy"), ("true", "policy"), ("\"Stoop\"", "rule")];
        assert_eq!(found, expected);
    }

    #[test]
    fn an_invalid_file_has_a_line_too() {
        assert_eq!(marked("[log]\nkeep = \n"), [(String::new(), "log".to_owned())]);
        let [(text, _)] = &marked("[policy]\nmax-blocks = 1\nmax-blocks = 2\n")[..] else { panic!() };
        assert_eq!(text, "max-blocks");
        let source = Source::new(Path::new("x"), "a = \"ä\"\n  b = 1\n");
        let file = File::of(source);
        let whole = file.excerpt((2, 1)).unwrap();
        assert_eq!((&whole.line[whole.marked.clone()], whole.number), ("b = 1", 2));
        assert_eq!(file.excerpt((9, 1)), None);
    }
}
