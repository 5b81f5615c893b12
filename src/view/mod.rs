//! Output for people: documents for the terminal and as Markdown, diagrams, and the HTML page.

mod backtest_row;
mod brief;
mod describe;
mod document;
mod files;
mod findings;
mod html;
mod line;
mod raw_log;
mod report;
mod report_summary;
mod restore;
mod runs;
mod search;
mod state;
mod status;
mod timeline;
mod values;

pub use backtest_row::{BacktestRow, backtest_rows, counts};
pub use brief::brief;
pub use describe::{ShownEntry, phrase};
pub use document::Document;
pub use files::{blame, file_changes, files};
pub use findings::{Commands, findings, health, problems};
pub use html::page;
pub use line::{DIM, GREEN, RED, Span, YELLOW, bold, dim, plain, styled, wrap_options};
pub use raw_log::RawLogView;
pub use report::{full_report, incident_cost, whole_report};
pub use report_summary::report_summary;
pub use restore::{restored_files, restored_tasks, restored_worktrees, undone};
pub use runs::runs;
pub use search::{command, hit, hit_in_full, run_of_hits};
pub use state::{diff, state};
pub use status::{FOR_APPROVAL, status, status_line};
pub use timeline::{EntryLines, MAX_MERMAID_CHARS, TimelineOptions, ending, heading, mermaid, timeline};
pub use values::{
    count, cut_to, elapsed, first_line, lasted, moment_since, name_style, one_line, redaction_summary,
    short_id, size, thousands,
};
