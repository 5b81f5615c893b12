//! What was kept, told to people.

mod cells;
mod detail;
mod diff;
mod findings;
mod heading;
mod html;
mod lines;
mod log;
mod mermaid;
mod notice;
mod objection;
mod phrase;
mod report;
mod restore;
mod screen;
mod state;
mod story;
mod teams;
mod words;

pub use detail::detail;
pub use diff::diff;
pub use findings::findings;
pub use heading::{ending, head};
pub use html::page;
pub use lines::{Lines, idles, pause};
pub use log::LogView;
pub use mermaid::{MERMAID_TAKES, mermaid};
pub use objection::{Objection, counts, objections};
pub use report::{Listing, report, report_markdown};
pub use restore::{restored_files, restored_tasks, undone};
pub use screen::{View, screen};
pub use state::state;
pub use story::{Telling, excerpt, story};
pub use teams::teams;
pub use words::{count, since, size};
