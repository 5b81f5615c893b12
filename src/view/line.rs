//! One line of styled pieces, wrapped or cut to the width of the terminal.

use std::fmt::Write as _;
use std::io;
use std::ops::Range;
use teamkeep_model::unicode::escape;

use anstyle::{AnsiColor, Style};
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};
use unicode_width::UnicodeWidthStr;

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
    pub style: Style,
    pub text: String,
    width: usize,
}

/// Text of any origin.
pub fn styled(style: Style, text: impl AsRef<str>) -> Span {
    Span { style, text: escape(text.as_ref()).into_owned(), width: 0 }
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
    spans: Vec<Span>,
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

    /// Adds a piece without a space before it.
    pub fn attach(&mut self, span: Span) {
        if let Some(last) = self.spans.last_mut() {
            last.text.pop();
        }
        self.push(span);
    }

    pub fn width(&self) -> usize {
        self.spans.iter().map(|span| span.text.width()).sum()
    }

    /// The text without styles.
    pub fn text(&self) -> String {
        let text: String = self.spans.iter().map(Span::text).collect();
        text.trim_end().to_owned()
    }

    /// A part of the text with its styles.
    fn part(&self, range: Range<usize>) -> String {
        let (mut part, mut start) = (String::new(), 0);
        for Span { style, text, .. } in &self.spans {
            let (from, to) = (range.start.max(start), range.end.min(start + text.len()));
            if from < to {
                let _ = write!(part, "{style}{}{style:#}", &text[from - start..to - start]);
            }
            start += text.len();
        }
        part
    }

    /// Writes the line as [`Line::wrapped`] formats it.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn write(&self, out: &mut (impl io::Write + ?Sized), columns: Option<usize>) -> io::Result<()> {
        out.write_all(self.wrapped(columns).as_bytes())
    }

    /// The line with a line break. With `columns`, a longer line continues below its last column, and a word that is wider
    /// than a line is broken.
    pub fn wrapped(&self, columns: Option<usize>) -> String {
        let text = self.text();
        let Some(columns) = columns.filter(|columns| text.width() > *columns) else {
            return self.part(0..text.len()) + "\n";
        };
        let column = self.column.filter(|at| *at > 0 && at + MIN_COLUMNS <= columns);
        let widest = text.split(' ').map(str::width).max().unwrap_or(0);
        let hanging = self.hanging.filter(|indent| indent + widest <= columns);
        let hanging = hanging.unwrap_or(column.unwrap_or(leading(&text) + 2).min(columns / 2));
        let (indent, next_indent) = (" ".repeat(leading(&text)), " ".repeat(hanging));
        let options = wrap_options(columns, &indent, &next_indent);
        let (mut wrapped, mut at) = (String::new(), indent.len());
        for (number, line) in textwrap::wrap(&text[at..], options).iter().enumerate() {
            let indent = if number == 0 { &indent } else { &next_indent };
            let line = line.strip_prefix(indent.as_str()).unwrap_or(line);
            at += text[at..].find(line).unwrap_or(0);
            wrapped += &format!("{indent}{}\n", self.part(at..at + line.len()));
            at += line.len();
        }
        wrapped
    }
}

/// How text is wrapped everywhere: between words, with these indents of the first and the other lines.
pub fn wrap_options<'a>(columns: usize, first: &'a str, others: &'a str) -> Options<'a> {
    Options::new(columns)
        .initial_indent(first)
        .subsequent_indent(others)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit)
}

/// The number of spaces at the start of a text.
fn leading(text: &str) -> usize {
    text.len() - text.trim_start_matches(' ').len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(pieces: &[(&str, usize)]) -> Line {
        Line::from(pieces.iter().map(|(text, width)| plain(text).width(*width)))
    }

    fn wrapped(pieces: &[(&str, usize)], columns: usize) -> String {
        line(pieces).wrapped(Some(columns))
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
