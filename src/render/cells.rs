//! One line of styled pieces, cut to the width of the terminal.

use std::io::{self, Write};

use anstyle::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::ui;

/// A line that is being put together. What goes in is made safe for a terminal.
#[derive(Debug, Default)]
pub struct Cells(Vec<(Style, String)>);

impl Cells {
    /// Adds a piece of at least `width` columns, and a space after it; nothing for an empty one without width.
    pub fn add(&mut self, style: Style, text: &str, width: usize) {
        if text.is_empty() && width == 0 {
            return;
        }
        let mut text = ui::escape(text).into_owned();
        let missing = width.saturating_sub(text.width()) + 1;
        text.extend(std::iter::repeat_n(' ', missing));
        self.0.push((style, text));
    }

    /// Adds a piece at the right end of so many columns, and a space after it.
    pub fn add_right(&mut self, style: Style, text: &str, width: usize) {
        let missing = width.saturating_sub(ui::escape(text).width());
        self.add(style, &format!("{:missing$}{text}", ""), width);
    }

    /// The columns that it takes.
    pub fn width(&self) -> usize {
        self.0.iter().map(|(_, text)| text.width()).sum()
    }

    /// Writes the line; with `columns` it takes no more than that many, and ends with `…` where it is cut.
    ///
    /// # Errors
    /// As writing does.
    pub fn write(mut self, out: &mut impl Write, columns: Option<usize>) -> io::Result<()> {
        if let Some((_, last)) = self.0.last_mut() {
            last.truncate(last.trim_end().len());
        }
        let width = self.width();
        let mut room = match columns {
            Some(columns) if width > columns => columns.saturating_sub(1),
            _ => usize::MAX,
        };
        for (style, text) in &self.0 {
            let (shown, width) = fitting(text, room);
            write!(out, "{style}{shown}{style:#}")?;
            if shown.len() < text.len() {
                write!(out, "…")?;
                break;
            }
            room -= width;
        }
        writeln!(out)
    }
}

/// The beginning of the text that has room, and its width.
fn fitting(text: &str, room: usize) -> (&str, usize) {
    let mut width = 0;
    for (at, c) in text.char_indices() {
        let more = c.width().unwrap_or(0);
        if width + more > room {
            return (&text[..at], width);
        }
        width += more;
    }
    (text, width)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(columns: Option<usize>) -> String {
        let mut cells = Cells::default();
        cells.add(Style::new(), "ab", 4);
        cells.add(Style::new(), "日本\n", 0);
        cells.add(Style::new(), "", 0);
        let mut out = Vec::new();
        cells.write(&mut out, columns).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_line_is_cut_by_columns_not_by_characters() {
        assert_eq!(shown(None), "ab   日本\\n\n");
        assert_eq!(shown(Some(11)), "ab   日本\\n\n");
        assert_eq!(shown(Some(10)), "ab   日本…\n");
        assert_eq!(shown(Some(8)), "ab   日…\n");
        assert_eq!(shown(Some(1)), "…\n");
        assert_eq!(shown(Some(0)), "…\n");
    }
}
