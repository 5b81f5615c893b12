//! Finds the part of a file that a problem is about. Not used by hook calls.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::de::{DeArray, DeTable, DeValue};

use super::problem::Problem;
use super::source::{self, Source};

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
    /// The line.
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
        source::read(path, source::MAX_BYTES).ok().flatten().map(|read| File::of(read.source))
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
        DeValue::Table(values) => in_table(values, add),
        DeValue::Array(list) => in_list(list, add),
        _ => {}
    }
}

fn in_table(values: &DeTable<'_>, add: &mut impl FnMut(Range<usize>)) {
    for (name, value) in values {
        add(name.span());
        add(value.span());
        below(value.get_ref(), add);
    }
}

fn in_list(list: &DeArray<'_>, add: &mut impl FnMut(Range<usize>)) {
    for item in list {
        add(item.span());
        below(item.get_ref(), add);
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
