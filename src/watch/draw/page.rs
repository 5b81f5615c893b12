//! A page of text.

use anstyle::Style;

use super::panel::{BOLD, PLAIN};
use crate::ui;
use crate::view::wrap_options;

/// Rows of text, each with one style. A row is wrapped where the screen ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    rows: Vec<(Style, String)>,
}

impl Page {
    pub fn row(&mut self, style: Style, text: impl AsRef<str>) {
        self.rows.push((style, text.as_ref().to_owned()));
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
        let wrap = |(style, text): &(Style, String)| {
            let text = ui::escape(text);
            let indent = " ".repeat((text.len() - text.trim_start_matches(' ').len()).min(columns / 2));
            let options = wrap_options(columns.max(1), &indent, &indent);
            let lines = textwrap::wrap(text.trim_start_matches(' '), options);
            lines.into_iter().map(|line| (*style, line.into_owned())).collect::<Vec<_>>()
        };
        self.rows.iter().flat_map(wrap).collect()
    }
}
