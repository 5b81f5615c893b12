//! Selects the lines of JSON whose bytes can contain a match, before any of them is parsed. It never loses a match.

use memchr::memmem::{self, FinderRev};
use memchr::{memchr, memrchr};
use regex::bytes::{Regex, RegexBuilder};
use teamkeep_system::error::{Error, Result};

/// Finds one of some literals.
#[derive(Debug, Clone)]
enum Finder {
    Exact(Box<memmem::Finder<'static>>),
    AnyCase(Regex),
}

#[derive(Debug, Clone)]
pub(super) struct LineFilter {
    /// Each must occur, the most selective first. Without any, all lines are selected.
    required: Vec<Finder>,
    escape: memmem::Finder<'static>,
}

impl Finder {
    fn find(&self, bytes: &[u8], from: usize) -> Option<usize> {
        match self {
            Finder::Exact(finder) => finder.find(&bytes[from..]).map(|at| from + at),
            Finder::AnyCase(regex) => regex.find_at(bytes, from).map(|found| found.start()),
        }
    }
}

impl LineFilter {
    /// Of each list, one literal must occur.
    pub(super) fn new(lists: impl Iterator<Item = Vec<String>>, is_exact: bool) -> Result<LineFilter> {
        let pieces = |literals: Vec<String>| literals.iter().map(|literal| safe_piece(literal)).collect();
        let mut lists: Vec<Vec<String>> = lists.map(pieces).collect();
        let shortest = |pieces: &Vec<String>| pieces.iter().map(String::len).min().unwrap_or_default();
        lists.retain(|pieces| shortest(pieces) > 0);
        lists.sort_by_key(|pieces| std::cmp::Reverse(shortest(pieces)));
        let finder = |pieces: Vec<String>| match pieces.as_slice() {
            [piece] if is_exact => Ok(Finder::Exact(Box::new(memmem::Finder::new(piece).into_owned()))),
            pieces => {
                let any = pieces.iter().map(|piece| regex::escape(piece)).collect::<Vec<_>>().join("|");
                let built = RegexBuilder::new(&any).case_insensitive(!is_exact).build();
                built.map(Finder::AnyCase).map_err(|error| Error::caused("cannot use the query", error))
            }
        };
        let required = lists.into_iter().map(finder).collect::<Result<Vec<_>>>()?;
        Ok(LineFilter { required, escape: memmem::Finder::new(br"\u").into_owned() })
    }

    /// Whether a file that is one JSON value can contain a match.
    pub(super) fn selects(&self, file: &[u8]) -> bool {
        self.find_escape(file, 0).is_some() || self.required.iter().all(|one| one.find(file, 0).is_some())
    }

    /// Calls `each` for every line that can contain a match, with its offset, until that returns false.
    pub(super) fn each_line(&self, block: &[u8], mut each: impl FnMut(usize, &[u8]) -> bool) {
        let Some((first, others)) = self.required.split_first() else {
            let mut at = 0;
            for line in block.split_inclusive(|byte| *byte == b'\n') {
                if !each(at, line) {
                    return;
                }
                at += line.len();
            }
            return;
        };
        let (mut at, mut literal, mut escape) = (0, first.find(block, 0), self.find_escape(block, 0));
        while let Some(found) = literal.into_iter().chain(escape).min() {
            let start = memrchr(b'\n', &block[at..found]).map_or(at, |newline| at + newline + 1);
            let end = memchr(b'\n', &block[found..]).map_or(block.len(), |newline| found + newline + 1);
            let line = &block[start..end];
            let has_escape = escape.is_some_and(|escape| escape < end);
            let has_others = || others.iter().all(|other| other.find(line, 0).is_some());
            if (has_escape || has_others()) && !each(start, line) {
                return;
            }
            at = end;
            if literal.is_some_and(|literal| literal < at) {
                literal = first.find(block, at);
            }
            if has_escape {
                escape = self.find_escape(block, at);
            }
        }
    }

    /// The next escape of a character that a literal can have. Control characters are escaped in most lines, and in no literal.
    fn find_escape(&self, block: &[u8], from: usize) -> Option<usize> {
        let escapes = self.escape.find_iter(&block[from..]).map(|at| from + at);
        escapes.into_iter().find(|at| match block.get(at + 2..at + 6) {
            Some(digits) => {
                digits.iter().all(u8::is_ascii_hexdigit) && !matches!(digits, [b'0', b'0', b'0' | b'1', _])
            }
            None => false,
        })
    }
}

/// The longest part of a literal that has only one form in JSON, except for escapes by number. In messages, Claude Code
/// also escapes tags.
fn safe_piece(literal: &str) -> String {
    let is_unsafe =
        |c: char| c.is_control() || matches!(c, '"' | '\\' | '/' | '<' | char::REPLACEMENT_CHARACTER);
    literal.split(is_unsafe).max_by_key(|piece| piece.len()).unwrap_or_default().to_owned()
}

/// The last line before the end of `bytes` that contains `needle`, and is accepted.
pub(super) fn last_line<T>(
    bytes: &[u8],
    needle: &[u8],
    mut accept: impl FnMut(&[u8]) -> Option<T>,
) -> Option<T> {
    // An event of a call by hand can lack the ID that is searched for. Nothing is found at every place.
    if needle.is_empty() {
        return None;
    }
    let finder = FinderRev::new(needle);
    let mut end = bytes.len();
    while let Some(found) = finder.rfind(&bytes[..end]) {
        let start = memrchr(b'\n', &bytes[..found]).map_or(0, |newline| newline + 1);
        let stop = memchr(b'\n', &bytes[found..]).map_or(bytes.len(), |newline| found + newline);
        if let Some(accepted) = accept(&bytes[start..stop]) {
            return Some(accepted);
        }
        end = start;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(words: &[&str], is_exact: bool, block: &str) -> Vec<String> {
        let filter = LineFilter::new(words.iter().map(|word| vec![(*word).to_owned()]), is_exact).unwrap();
        let mut lines = Vec::new();
        filter.each_line(block.as_bytes(), |at, line| {
            assert_eq!(&block.as_bytes()[at..at + line.len()], line);
            lines.push(String::from_utf8(line.to_vec()).unwrap().trim_end().to_owned());
            true
        });
        lines
    }

    #[test]
    fn lines_are_selected_by_all_words_and_lines_with_escaped_characters_always() {
        let block = "{a one}\n{b One TWO}\n{c \\u001b[31m one}\n{d \\u0041}\n{e C:\\\\users}\n\n{f two one}\n{g \\u4e2d";
        for (words, is_exact, expected) in [
            (
                &["one"][..],
                true,
                &["{a one}", "{c \\u001b[31m one}", "{d \\u0041}", "{f two one}", "{g \\u4e2d"][..],
            ),
            (&["one", "two"], true, &["{d \\u0041}", "{f two one}", "{g \\u4e2d"]),
            (&["one", "two"], false, &["{b One TWO}", "{d \\u0041}", "{f two one}", "{g \\u4e2d"]),
            (&["kſ"], false, &["{d \\u0041}", "{g \\u4e2d"]),
            (&["say\n\"two"], true, &["{d \\u0041}", "{f two one}", "{g \\u4e2d"]),
        ] {
            assert_eq!(selected(words, is_exact, block), expected, "{words:?}");
        }
        assert_eq!(selected(&["\"", "/"], true, block).len(), 8, "no part of them is written as it is");
    }

    #[test]
    fn the_last_line_with_a_needle_is_found() {
        let accept = |line: &[u8]| line.starts_with(b"ok").then(|| line.to_vec());
        assert_eq!(last_line(b"ok 1 id\nok 2 id\nno id\n", b"id", accept).unwrap(), b"ok 2 id");
        assert_eq!(last_line(b"no id", b"id", accept), None);
    }

    #[test]
    fn an_empty_text_is_in_no_line() {
        assert_eq!(last_line(b"one\ntwo\n", b"", |_| None::<()>), None);
        assert_eq!(last_line(b"one\ntwo\n", b"", |line| Some(line.to_vec())), None);
    }
}
