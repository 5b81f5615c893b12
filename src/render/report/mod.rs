//! A report for people: in the terminal, and as Markdown.

mod markdown;
mod page;
mod people;
mod sections;
mod text;
mod trouble;
mod work;

use crate::report::Report;

/// Whether messages and agents that the client made by itself are listed as well.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Listing {
    /// All of them.
    pub all: bool,
}

/// The report for a terminal of so many columns; `None` where lines are not cut.
pub fn report(report: &Report, listing: Listing, columns: Option<usize>) -> String {
    text::text(&sections::page(report, listing), columns)
}

/// The report as Markdown.
pub fn report_markdown(report: &Report, listing: Listing) -> String {
    markdown::markdown(&sections::page(report, listing))
}
