//! A page of text.

use anstyle::Style;
use teamkeep_model::unicode::escape;
use unicode_width::UnicodeWidthStr;

use super::panel::{BOLD, PLAIN};
use crate::view::{Span, styled, wrap_options};

/// The least number of columns beside a term; with fewer, the text continues below it.
const MIN_COLUMNS: usize = 16;

/// Rows of text, each with one style. A row is wrapped where the screen ends.
#[derive(Debug)]
pub struct Page {
    columns: usize,
    pub rows: Vec<Span>,
}

impl Page {
    pub fn new(columns: usize) -> Page {
        Page { columns: columns.max(1), rows: Vec::new() }
    }

    /// A text, which continues below its first letter.
    pub fn row(&mut self, style: Style, text: impl AsRef<str>) {
        let (text, start) = (text.as_ref(), text.as_ref().trim_start_matches(' '));
        let indent = (text.len() - start.len()).min(self.columns / 2);
        self.wrap(style, (indent, indent), start);
    }

    /// A term and its text, which continues below itself.
    pub fn hanging(&mut self, term: &str, text: &str) {
        let column = Some(term.width()).filter(|column| column + MIN_COLUMNS <= self.columns);
        self.wrap(PLAIN, (0, column.unwrap_or(0)), &format!("{term}{text}"));
    }

    pub fn line(&mut self, text: impl AsRef<str>) {
        self.row(PLAIN, text);
    }

    /// A heading, after an empty row.
    pub fn heading(&mut self, text: impl AsRef<str>) {
        if !self.rows.is_empty() {
            self.line("");
        }
        self.row(BOLD, text);
    }

    /// A text of several lines, indented.
    pub fn text(&mut self, text: &str) {
        text.trim_end().lines().for_each(|line| self.line(format!("  {}", line.trim_end())));
    }

    fn wrap(&mut self, style: Style, (first, others): (usize, usize), text: &str) {
        let (first, others) = (" ".repeat(first), " ".repeat(others));
        let text = escape(text);
        let lines = textwrap::wrap(&text, wrap_options(self.columns, &first, &others));
        self.rows.extend(lines.into_iter().map(|line| styled(style, line)));
    }
}
