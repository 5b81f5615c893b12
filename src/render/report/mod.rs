//! A report for the terminal and as Markdown.

mod agents;
mod issues;
mod markdown;
mod page;
mod sections;
mod tasks;
mod text;

use crate::report::Report;

/// Whether automatic messages and Claude Code's internal agents are listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Listing {
    /// List all of them.
    pub all: bool,
}

/// The report for a terminal of this width; `None` for unlimited.
pub fn report(report: &Report, listing: Listing, columns: Option<usize>) -> String {
    text::text(&sections::page(report, listing), columns)
}

/// The report as Markdown.
pub fn report_markdown(report: &Report, listing: Listing) -> String {
    markdown::markdown(&sections::page(report, listing))
}
