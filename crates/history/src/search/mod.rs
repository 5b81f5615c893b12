//! Search in everything that is recorded: events of the log, of ended and of imported runs, transcripts, and the team's files.
//!
//! ```text
//! sources ─▶ blocks ─▶ line_filter ─▶ event_texts, transcript_texts, file_texts ─▶ document ─▶ scan ─▶ find ─▶ hit
//! ```
//!
//! Each search reads all of it, the newest first, in several threads and in constant memory. Only the lines whose bytes can
//! contain a match are parsed.

mod agents;
mod blocks;
mod document;
mod event_texts;
mod file_texts;
mod find;
mod hit;
mod line_filter;
mod merge;
mod pattern;
mod required_literals;
mod scan;
mod snippet;
mod sources;
mod transcript_texts;

pub use document::TextKind;
pub use find::{SearchSummary, Step, find};
pub use hit::Hit;
pub use pattern::{Pattern, Syntax};
pub use scan::Request;
