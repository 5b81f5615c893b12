//! One line of styled pieces, wrapped or cut to the width of the terminal.

use std::fmt::Write as _;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use textwrap::WordSeparator;
use textwrap::core::{Fragment, Word};
use textwrap::wrap_algorithms::wrap_first_fit;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::ui;

/// Text that wraps under its column has at least this many columns; with less, it wraps at the left.
const MIN_COLUMNS: usize = 20;

pub const RED: Style = AnsiColor::Red.on_default();
pub const YELLOW: Style = AnsiColor::Yellow.on_default();
pub const GREEN: Style = AnsiColor::Green.on_default();
pub const BLUE: Style = AnsiColor::Blue.on_default();
pub const CYAN: Style = AnsiColor::Cyan.on_default();
pub const DIM: Style = Style::new().dimmed();

/// A piece of text with one style. The text is safe for a terminal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Span {
    style: Style,
    text: String,
    width: usize,
}

pub fn styled(style: Style, text: impl AsRef<str>) -> Span {
    Span { style, text: ui::escape(text.as_ref()).into_owned(), width: 0 }
}

pub fn plain(text: impl AsRef<str>) -> Span {
    styled(Style::new(), text)
}

pub fn bold(text: impl AsRef<str>) -> Span {
    styled(Style::new().bold(), text)
}

pub fn dim(text: impl AsRef<str>) -> Span {
    styled(DIM, text)
}

impl Span {
    /// The same piece in a column of at least this width. A piece without a width is left out when it is empty.
    #[must_use]
    pub fn width(self, width: usize) -> Span {
        Span { width, ..self }
    }

    /// The same piece, aligned to the right of such a column.
    #[must_use]
    pub fn right(mut self, width: usize) -> Span {
        let missing = width.saturating_sub(self.text.width());
        self.text.insert_str(0, &" ".repeat(missing));
        self.width(width)
    }

    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Pieces with a space between them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    pub spans: Vec<Span>,
    /// Where the first piece without a fixed width starts.
    column: Option<usize>,
    /// The indent of continuation lines, if it is fixed.
    hanging: Option<usize>,
}

impl<I: IntoIterator<Item = Span>> From<I> for Line {
    fn from(spans: I) -> Line {
        let mut line = Line::default();
        spans.into_iter().for_each(|span| line.push(span));
        line
    }
}

impl Line {
    /// The same line with this indent of its continuation lines, unless a word does not fit then.
    #[must_use]
    pub fn hanging(self, indent: usize) -> Line {
        Line { hanging: Some(indent), ..self }
    }

    pub fn push(&mut self, mut span: Span) {
        if span.text.is_empty() && span.width == 0 {
            return;
        }
        if span.width == 0 && self.column.is_none() {
            self.column = Some(self.width() + leading(&span.text));
        }
        let missing = span.width.saturating_sub(span.text.width()) + 1;
        span.text.extend(std::iter::repeat_n(' ', missing));
        self.spans.push(span);
    }

    pub fn width(&self) -> usize {
        self.spans.iter().map(|span| span.text.width()).sum()
    }

    /// Writes the line. With `columns`, a line that is longer continues below its last column.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn write(mut self, out: &mut (impl Write + ?Sized), columns: Option<usize>) -> io::Result<()> {
        self.trim();
        let Some(columns) = columns.filter(|columns| self.width() > *columns) else {
            return self.write_whole(out);
        };
        let first = self.spans.first().map_or(0, |span| leading(&span.text));
        let column = self.column.filter(|at| *at > 0 && at + MIN_COLUMNS <= columns);
        let widest =
            self.spans.iter().flat_map(|span| span.text.split(' ')).map(str::width).max().unwrap_or(0);
        let hanging = self.hanging.filter(|indent| indent + widest <= columns);
        let hanging = hanging.unwrap_or(column.unwrap_or(first + 2).min(columns / 2));
        let words = self.words(columns.saturating_sub(hanging).max(1));
        let widths =
            [columns.saturating_sub(first), columns.saturating_sub(hanging)].map(|width| width as f64);
        for (place, line) in wrap_first_fit(&words, &widths).into_iter().enumerate() {
            let (end, indent) = if place == 0 { ("", first) } else { ("\n", hanging) };
            write!(out, "{end}{:indent$}", "")?;
            let mut rest = line.len();
            for piece in line.chunk_by(|one, other| one.style == other.style) {
                let style = piece.first().map(|word| word.style).unwrap_or_default();
                write!(out, "{style}")?;
                for word in piece {
                    rest -= 1;
                    let spaces = if rest == 0 { 0 } else { word.spaces };
                    write!(out, "{}{:spaces$}", word.text, "")?;
                }
                write!(out, "{style:#}")?;
            }
        }
        writeln!(out)
    }

    /// The words without the spaces before the first. A word that is wider than a line is broken.
    fn words(&self, columns: usize) -> Vec<StyledWord<'_>> {
        let mut words = Vec::new();
        for (place, span) in self.spans.iter().enumerate() {
            let text = if place == 0 { span.text.trim_start_matches(' ') } else { &span.text };
            for mut word in WordSeparator::AsciiSpace.find_words(text) {
                while word.word.width() > columns {
                    let head = fitting(word.word, columns);
                    words.push(StyledWord { style: span.style, text: head, spaces: 0 });
                    word = Word { word: &word.word[head.len()..], ..word };
                }
                words.push(StyledWord { style: span.style, text: word.word, spaces: word.whitespace.len() });
            }
        }
        words
    }

    /// The line for a screen of fixed rows: cut at this width, and `…` at the end then. It has no line break.
    pub fn cut(mut self, columns: usize) -> String {
        self.trim();
        let mut out = String::new();
        let is_cut = self.width() > columns;
        let mut room = if is_cut { columns.saturating_sub(1) } else { usize::MAX };
        for Span { style, text, .. } in &self.spans {
            if text.width() <= room {
                let _ = write!(out, "{style}{text}{style:#}");
                room -= text.width();
                continue;
            }
            let shown = if room == 0 { "" } else { fitting(text, room) };
            let shown = if shown.width() > room { "" } else { shown };
            let _ = write!(out, "{style}{shown}{style:#}");
            break;
        }
        if is_cut { out + "…" } else { out }
    }

    fn trim(&mut self) {
        if let Some(last) = self.spans.last_mut() {
            last.text.truncate(last.text.trim_end().len());
        }
    }

    fn write_whole(&self, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
        self.spans.iter().try_for_each(|Span { style, text, .. }| write!(out, "{style}{text}{style:#}"))?;
        writeln!(out)
    }
}

#[derive(Debug)]
struct StyledWord<'a> {
    style: Style,
    text: &'a str,
    spaces: usize,
}

impl Fragment for StyledWord<'_> {
    fn width(&self) -> f64 {
        self.text.width() as f64
    }

    fn whitespace_width(&self) -> f64 {
        self.spaces as f64
    }

    fn penalty_width(&self) -> f64 {
        0.0
    }
}

/// The number of spaces at the start of a text.
fn leading(text: &str) -> usize {
    text.len() - text.trim_start_matches(' ').len()
}

/// The longest start of the text that fits into `width` columns; at least one character.
fn fitting(text: &str, width: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += c.width().unwrap_or(0);
        if used > width && at > 0 {
            return &text[..at];
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_at_the_columns_of_its_characters() {
        assert_eq!(fitting("abcdef", 4), "abcd");
        assert_eq!(fitting("日本語", 5), "日本");
        assert_eq!(fitting("日本", 1), "日", "one character fits in any case");
    }

    fn line(pieces: &[(&str, usize)]) -> Line {
        Line::from(pieces.iter().map(|(text, width)| plain(text).width(*width)))
    }

    fn cut(columns: usize) -> String {
        line(&[("ab", 4), ("日本\n", 0), ("", 0)]).cut(columns)
    }

    fn wrapped(pieces: &[(&str, usize)], columns: usize) -> String {
        let mut out = Vec::new();
        line(pieces).write(&mut out, Some(columns)).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_line_is_cut_by_columns_not_by_characters() {
        assert_eq!(cut(11), "ab   日本\\n");
        assert_eq!(cut(10), "ab   日本…");
        assert_eq!(cut(8), "ab   日…");
        assert_eq!(cut(1), "…");
        assert_eq!(cut(0), "…");
    }

    #[test]
    fn a_long_line_continues_under_its_column() {
        let pieces = [("+1.0s", 6), ("bob", 4), ("one two three four five six", 0)];
        assert_eq!(wrapped(&pieces, 80), "+1.0s  bob  one two three four five six\n");
        assert_eq!(
            wrapped(&pieces, 32),
            "+1.0s  bob  one two three four\n            five six\n",
            "and no word is cut"
        );
    }

    #[test]
    fn without_room_under_its_column_a_line_continues_at_the_left() {
        let pieces = [("+1.0s", 6), ("bob", 4), ("one two three four", 0)];
        assert_eq!(wrapped(&pieces, 20), "+1.0s  bob  one two\n  three four\n");
        assert_eq!(wrapped(&[("abcdefghij", 0)], 4), "abcd\n  ef\n  gh\n  ij\n");
    }

    #[test]
    fn a_long_word_is_broken_in_its_column() {
        let pieces = [("bob", 6), ("/a/very/long/path/to/a/file/in/it", 0)];
        assert_eq!(wrapped(&pieces, 30), "bob    /a/very/long/path/to/a/\n       file/in/it\n");
    }
}
