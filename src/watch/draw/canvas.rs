//! Text on a grid of cells: cut and padded by columns, and as lines for the terminal.

use std::fmt::Write as _;
use teamkeep_model::unicode::escape;

use anstyle::{AnsiColor, Effects, Style};
use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::layout::Rect;
use ratatui_core::style::Style as CellStyle;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::view::{Span, styled};

/// Text in a column of exactly this width.
pub fn column(style: Style, text: impl AsRef<str>, width: usize) -> Span {
    let text = cut(&escape(text.as_ref()), width);
    let missing = width.saturating_sub(text.width());
    styled(style, text + &" ".repeat(missing))
}

/// The same, aligned to the right.
pub fn right(style: Style, text: impl AsRef<str>, width: usize) -> Span {
    styled(style, cut(&escape(text.as_ref()), width)).right(width)
}

/// Cuts a text after so many columns; `…` shows that something is missing.
pub fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let Some(room) = columns.checked_sub(1) else { return String::new() };
    let mut used = 0;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used <= room
    };
    text.chars().take_while(fits).chain(['…']).collect()
}

pub fn width(pieces: &[Span]) -> usize {
    pieces.iter().map(|piece| piece.text.width()).sum()
}

/// A part of the screen.
pub struct Canvas<'a> {
    pub buffer: &'a mut Buffer,
    pub area: Rect,
}

impl Canvas<'_> {
    pub fn rows(&self) -> usize {
        usize::from(self.area.height)
    }

    pub fn columns(&self) -> usize {
        usize::from(self.area.width)
    }

    /// Another part of the same screen, within it.
    pub fn part(&mut self, area: Rect) -> Canvas<'_> {
        let area = area.intersection(self.buffer.area);
        Canvas { buffer: self.buffer, area }
    }

    /// Writes pieces into a row, counted from the top. Text that does not fit is cut.
    pub fn row(&mut self, row: usize, pieces: &[Span]) {
        self.pieces(row, 0, pieces);
    }

    /// The same from this column on.
    pub fn pieces(&mut self, row: usize, column: usize, pieces: &[Span]) {
        let Some(y) = offset(self.area.y, row, self.area.height) else { return };
        let mut used = column;
        for (index, piece) in pieces.iter().enumerate() {
            let rest = self.columns().saturating_sub(used);
            let is_last = pieces[index + 1..].iter().all(|piece| piece.text.is_empty());
            // With something after it, a piece that just fits must leave room for the sign that more follows.
            let is_cut = piece.text.width() > rest || (piece.text.width() == rest && !is_last);
            let text = match is_cut {
                true => cut(&format!("{} ", piece.text), rest),
                false => piece.text.clone(),
            };
            let Some(x) = offset(self.area.x, used, self.area.width) else { return };
            self.buffer.set_stringn(x, y, &text, rest, CellStyle::from(piece.style));
            used += text.width();
            if is_cut {
                return;
            }
        }
    }

    /// A title with a line through the rest of the row. The title of the panel with the focus has a heavy line.
    pub fn title(&mut self, row: usize, pieces: &[Span], style: Style, line: char) {
        let title = [&[styled(style, format!("{line} "))], pieces].concat();
        self.row(row, &title);
        let used = width(&title) + 1;
        let rest = self.columns().saturating_sub(used);
        self.pieces(row, used, &[styled(style, line.to_string().repeat(rest))]);
    }
}

fn offset(start: u16, steps: usize, length: u16) -> Option<u16> {
    let steps = u16::try_from(steps).ok().filter(|steps| *steps < length)?;
    start.checked_add(steps)
}

/// The rows of the grid as lines for a terminal, without spaces at their ends.
pub fn lines(buffer: &Buffer) -> Vec<String> {
    let columns = usize::from(buffer.area.width).max(1);
    buffer.content.chunks(columns).map(line).collect()
}

fn line(cells: &[Cell]) -> String {
    let is_blank = |cell: &Cell| cell.symbol() == " " && cell.modifier.is_empty();
    let end = cells.iter().rposition(|cell| !is_blank(cell)).map_or(0, |last| last + 1);
    let (mut text, mut style, mut place) = (String::new(), Style::new(), 0);
    while let Some(cell) = cells[..end].get(place) {
        let own = style_of(cell);
        if own != style {
            let _ = write!(text, "{style:#}{own}");
            style = own;
        }
        text.push_str(cell.symbol());
        // The cells below a wide character are hidden.
        place += cell.symbol().width().max(1);
    }
    let _ = write!(text, "{style:#}");
    text
}

fn style_of(cell: &Cell) -> Style {
    let color = |color| AnsiColor::try_from(color).ok().map(anstyle::Color::Ansi);
    Style::new().fg_color(color(cell.fg)).bg_color(color(cell.bg)).effects(Effects::from(cell.modifier))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(columns: u16, pieces: &[Span]) -> String {
        let mut buffer = Buffer::empty(Rect::new(0, 0, columns, 1));
        let area = buffer.area;
        Canvas { buffer: &mut buffer, area }.row(0, pieces);
        lines(&buffer).remove(0)
    }

    #[test]
    fn text_is_cut_by_columns_and_padded() {
        assert_eq!(["abc", "abcd", "日本語"].map(|text| cut(text, 3)), ["abc", "ab…", "日…"]);
        assert_eq!((cut("ab", 1), cut("ab", 0)), ("…".to_owned(), String::new()));
        let plain = Style::new();
        assert_eq!(column(plain, "日本語", 5).text, "日本…");
        assert_eq!(column(plain, "日本語", 4).text, "日… ");
        assert_eq!(right(plain, "12s", 5).text, "  12s");
        assert_eq!(styled(plain, "a\u{1b}[2J\n").text, "a\\u{1b}[2J\\n");
    }

    #[test]
    fn a_row_is_cut_at_its_width() {
        let pieces = ["ab ", "日本", "cd"].map(|text| styled(Style::new(), text));
        let rows = [9, 8, 7, 6, 4, 1].map(|columns| drawn(columns, &pieces));
        assert_eq!(rows, ["ab 日本cd", "ab 日本…", "ab 日…", "ab 日…", "ab …", "…"]);
    }

    #[test]
    fn styles_change_only_where_they_differ() {
        let red = AnsiColor::Red.on_default();
        let row = drawn(9, &[styled(red, "a"), styled(red, "日"), styled(Style::new(), "b  ")]);
        assert_eq!(row, "\u{1b}[31ma日\u{1b}[0mb");
    }
}
