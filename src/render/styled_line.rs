//! One line of styled pieces, wrapped or cut to the width of the terminal.

use std::io::{self, Write};

use anstyle::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::ui;

/// Text that wraps under its column has at least this many columns; with less, it wraps at the left.
const MIN_COLUMNS: usize = 20;

/// A line that is being built. Text that is added is made safe for a terminal.
#[derive(Debug, Default)]
pub struct StyledLine {
    pieces: Vec<(Style, String)>,
    /// Where the first piece without a fixed width starts.
    indent: Option<usize>,
}

impl StyledLine {
    /// Adds a piece of at least `width` columns and a space. An empty piece of width 0 is left out.
    pub fn add(&mut self, style: Style, text: &str, width: usize) {
        if text.is_empty() && width == 0 {
            return;
        }
        if width == 0 && self.indent.is_none() {
            self.indent = Some(self.width() + text.len() - text.trim_start_matches(' ').len());
        }
        let mut text = ui::escape(text).into_owned();
        let missing = width.saturating_sub(text.width()) + 1;
        text.extend(std::iter::repeat_n(' ', missing));
        self.pieces.push((style, text));
    }

    /// Adds a piece that is aligned to the right of `width` columns, and a space.
    pub fn add_right(&mut self, style: Style, text: &str, width: usize) {
        let missing = width.saturating_sub(ui::escape(text).width());
        self.add(style, &format!("{:missing$}{text}", ""), width);
    }

    /// The width of the line.
    pub fn width(&self) -> usize {
        self.pieces.iter().map(|(_, text)| text.width()).sum()
    }

    /// Writes the line. With `columns`, a line that is longer continues below its last column.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn write(mut self, out: &mut impl Write, columns: Option<usize>) -> io::Result<()> {
        self.trim();
        let Some(columns) = columns.filter(|columns| self.width() > *columns) else {
            return self.plain(out);
        };
        let leading =
            self.pieces.first().map_or(0, |(_, text)| text.len() - text.trim_start_matches(' ').len());
        let indent = self.indent.filter(|at| *at > 0 && at + MIN_COLUMNS <= columns);
        let indent = indent.unwrap_or(leading + 2).min(columns / 2);
        let (mut column, mut pending) = (0, 0);
        for (style, text) in &self.pieces {
            let mut rest = text.as_str();
            write!(out, "{style}")?;
            while !rest.is_empty() {
                let blank = rest.len() - rest.trim_start_matches(' ').len();
                let end = rest[blank..].find(' ').map_or(rest.len(), |end| blank + end);
                let mut word = &rest[blank..end];
                rest = &rest[end..];
                // Spaces are written with the word after them, and dropped at a line break.
                pending += blank;
                if word.is_empty() {
                    continue;
                }
                let before = std::mem::take(&mut pending);
                if column + before + word.width() <= columns {
                    write!(out, "{:before$}{word}", "")?;
                    column += before + word.width();
                    continue;
                }
                if column > indent {
                    write!(out, "{style:#}\n{:indent$}{style}", "")?;
                    column = indent;
                }
                while column + word.width() > columns {
                    let head = fitting(word, columns.saturating_sub(column).max(1));
                    word = &word[head.len()..];
                    write!(out, "{head}{style:#}\n{:indent$}{style}", "")?;
                    column = indent;
                }
                write!(out, "{word}")?;
                column += word.width();
            }
            write!(out, "{style:#}")?;
        }
        writeln!(out)
    }

    /// Writes the line. With `columns` it is cut to that width and ends with `…`: for a screen of fixed rows.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn write_cut(mut self, out: &mut impl Write, columns: Option<usize>) -> io::Result<()> {
        self.trim();
        let Some(columns) = columns.filter(|columns| self.width() > *columns) else {
            return self.plain(out);
        };
        let mut room = columns.saturating_sub(1);
        for (style, text) in &self.pieces {
            if text.width() <= room {
                write!(out, "{style}{text}{style:#}")?;
                room -= text.width();
                continue;
            }
            let shown = if room == 0 { "" } else { fitting(text, room) };
            let shown = if shown.width() > room { "" } else { shown };
            write!(out, "{style}{shown}{style:#}…")?;
            break;
        }
        writeln!(out)
    }

    fn trim(&mut self) {
        if let Some((_, last)) = self.pieces.last_mut() {
            last.truncate(last.trim_end().len());
        }
    }

    fn plain(&self, out: &mut impl Write) -> io::Result<()> {
        self.pieces.iter().try_for_each(|(style, text)| write!(out, "{style}{text}{style:#}"))?;
        writeln!(out)
    }
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

    fn cells(pieces: &[(&str, usize)]) -> StyledLine {
        let mut cells = StyledLine::default();
        pieces.iter().for_each(|(text, width)| cells.add(Style::new(), text, *width));
        cells
    }

    fn cut(columns: usize) -> String {
        let mut out = Vec::new();
        cells(&[("ab", 4), ("日本\n", 0), ("", 0)]).write_cut(&mut out, Some(columns)).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn wrapped(pieces: &[(&str, usize)], columns: usize) -> String {
        let mut out = Vec::new();
        cells(pieces).write(&mut out, Some(columns)).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_line_is_cut_by_columns_not_by_characters() {
        assert_eq!(cut(11), "ab   日本\\n\n");
        assert_eq!(cut(10), "ab   日本…\n");
        assert_eq!(cut(8), "ab   日…\n");
        assert_eq!(cut(1), "…\n");
        assert_eq!(cut(0), "…\n");
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
}
