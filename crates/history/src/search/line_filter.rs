//! Selects the lines of JSON whose bytes can contain a match, before any of them is parsed. It never loses a match.

use memchr::memmem::{self, FinderRev};
use memchr::{memchr, memchr_iter, memrchr};
use regex::bytes::{Regex, RegexBuilder};
use std::io::{self, Read};
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

// Reads a file in blocks of whole lines, in bounded memory.

const BLOCK_BYTES: usize = 1 << 20;
/// The part before a block that stays readable, in bytes: the call of a tool is shortly before its result.
const CONTEXT_BYTES: usize = 256 << 10;
/// A longer line is not searched, in bytes.
const MAX_LINE_BYTES: usize = 64 << 20;

#[derive(Debug)]
pub(super) struct Block<'a> {
    /// The end of what was read before.
    pub context: &'a [u8],
    /// Whole lines. The last line of a file can be incomplete.
    pub lines: &'a [u8],
    /// The number of lines before the block.
    pub lines_before: u64,
}

pub(super) struct Blocks<'b, R> {
    from: R,
    /// Reused for each file.
    buffer: &'b mut Vec<u8>,
    /// The present block, and the end of what was read.
    block: std::ops::Range<usize>,
    end: usize,
    lines: u64,
    /// Why the file cannot be read any further.
    pub problem: Option<io::Error>,
    is_at_end: bool,
}

impl<'b, R: Read> Blocks<'b, R> {
    pub(super) fn new(from: R, buffer: &'b mut Vec<u8>) -> Blocks<'b, R> {
        Blocks { from, buffer, block: 0..0, end: 0, lines: 0, problem: None, is_at_end: false }
    }

    /// The next block; `None` at the end, and where the file cannot be read.
    pub(super) fn next(&mut self) -> Option<Block<'_>> {
        self.lines += count_lines(&self.buffer[self.block.clone()]);
        let keep = self.block.end.saturating_sub(CONTEXT_BYTES);
        self.buffer.copy_within(keep..self.end, 0);
        self.end -= keep;
        let start = self.block.end - keep;
        let mut is_skipped = false;
        let mut searched = start;
        loop {
            self.fill(start + BLOCK_BYTES.max(2 * (self.end - start)).min(MAX_LINE_BYTES + 1));
            if is_skipped {
                // The rest of a line that is too long.
                let newline = memchr(b'\n', &self.buffer[start..self.end]);
                self.end = match newline {
                    Some(newline) => {
                        self.buffer.copy_within(start + newline + 1..self.end, start);
                        self.lines += 1;
                        is_skipped = false;
                        self.end - newline - 1
                    }
                    None => start,
                };
            }
            let newline = memrchr(b'\n', &self.buffer[searched..self.end]).map(|at| searched + at + 1);
            if let Some(end) = newline.or_else(|| self.is_at_end.then_some(self.end)) {
                self.block = start..end;
                break;
            }
            if self.end - start > MAX_LINE_BYTES {
                (self.end, is_skipped) = (start, true);
                self.buffer.truncate(start + BLOCK_BYTES);
                self.buffer.shrink_to_fit();
            }
            searched = self.end;
        }
        let context = &self.buffer[..start];
        let lines = &self.buffer[self.block.clone()];
        (!lines.is_empty()).then_some(Block { context, lines, lines_before: self.lines })
    }

    /// Reads until the buffer has this size.
    fn fill(&mut self, size: usize) {
        if self.buffer.len() < size {
            self.buffer.resize(size, 0);
        }
        while self.end < size && !self.is_at_end {
            match self.from.read(&mut self.buffer[self.end..size]) {
                Ok(0) => self.is_at_end = true,
                Ok(count) => self.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => (self.problem, self.is_at_end) = (Some(error), true),
            }
        }
    }
}

pub(super) fn count_lines(bytes: &[u8]) -> u64 {
    memchr_iter(b'\n', bytes).count() as u64
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

#[cfg(test)]
mod blocks_tests {
    use super::*;

    /// All lines with their numbers.
    fn read(bytes: &[u8]) -> (Vec<(u64, Vec<u8>)>, usize) {
        let mut buffer = Vec::new();
        let mut blocks = Blocks::new(bytes, &mut buffer);
        let (mut lines, mut most) = (Vec::new(), 0);
        while let Some(block) = blocks.next() {
            let whole = block.lines.split_inclusive(|byte| *byte == b'\n');
            lines.extend((block.lines_before..).zip(whole.map(<[u8]>::to_vec)));
            most = most.max(block.context.len());
        }
        (lines, most)
    }

    #[test]
    fn every_line_is_read_once_whatever_its_size() {
        let mut bytes = Vec::new();
        for size in [0, 1, 5, 300_000, 700_000, 100, 3 * BLOCK_BYTES, 0, 7, CONTEXT_BYTES, BLOCK_BYTES, 1, 2]
        {
            bytes.extend(std::iter::repeat_n(b'x', size));
            bytes.push(b'\n');
        }
        bytes.extend_from_slice(b"the end");
        let expected: Vec<_> =
            (0..).zip(bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec)).collect();
        let (lines, most) = read(&bytes);
        assert!(lines == expected && most <= CONTEXT_BYTES);
    }

    #[test]
    fn a_line_that_is_too_long_is_left_out_and_counted() {
        let long = vec![b'x'; MAX_LINE_BYTES + 3 * BLOCK_BYTES];
        let (lines, _) = read(&[b"one\n", &long[..], b"\ntwo\n", b"three"].concat());
        let expected = [(0, &b"one\n"[..]), (2, b"two\n"), (3, b"three")];
        assert!(lines == expected.map(|(number, line)| (number, line.to_vec())));
    }

    #[test]
    fn what_was_read_before_an_error_is_kept() {
        let mut buffer = Vec::new();
        let broken = (&b"one\ntw"[..]).chain(Broken);
        let mut blocks = Blocks::new(broken, &mut buffer);
        assert_eq!(blocks.next().unwrap().lines, b"one\n");
        assert_eq!(blocks.next().unwrap().lines, b"tw");
        assert!(blocks.next().is_none() && blocks.problem.is_some());
    }

    struct Broken;

    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("broken"))
        }
    }
}
