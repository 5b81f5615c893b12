//! A page of text.

use anstyle::Style;
use teamkeep_model::unicode::escape;
use unicode_width::UnicodeWidthStr;

use super::panel::{BOLD, PLAIN};
use crate::view::wrap_options;

/// The least number of columns beside a term; with fewer, the text continues below it.
const MIN_COLUMNS: usize = 16;

/// Rows of text, each with one style. A row is wrapped where the screen ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    rows: Vec<Row>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Row {
    style: Style,
    text: String,
    /// Where the row continues; by default below its first letter.
    column: Option<usize>,
}

impl Page {
    pub fn row(&mut self, style: Style, text: impl AsRef<str>) {
        self.rows.push(Row { style, text: text.as_ref().to_owned(), column: None });
    }

    /// A term and its text, which continues below itself.
    pub fn hanging(&mut self, term: impl AsRef<str>, text: &str) {
        let term = term.as_ref();
        self.rows.push(Row { style: PLAIN, text: format!("{term}{text}"), column: Some(term.width()) });
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

    /// The rows as shown in so many columns. Every text is escaped here.
    pub fn wrapped(&self, columns: usize) -> Vec<(Style, String)> {
        let wrap = |Row { style, text, column }: &Row| {
            let text = escape(text);
            let indent = " ".repeat((text.len() - text.trim_start_matches(' ').len()).min(columns / 2));
            let column = column.filter(|column| column + MIN_COLUMNS <= columns);
            let next = column.map_or_else(|| indent.clone(), |column| " ".repeat(column));
            let options = wrap_options(columns.max(1), &indent, &next);
            let lines = textwrap::wrap(text.trim_start_matches(' '), options);
            lines.into_iter().map(|line| (*style, line.into_owned())).collect::<Vec<_>>()
        };
        self.rows.iter().flat_map(wrap).collect()
    }
}
