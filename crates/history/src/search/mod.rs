//! Search in everything that is recorded: events of the log, of ended and of imported runs, transcripts, and the team's files.
//!
//! ```text
//! sources ─▶ pattern (of lines) ─▶ texts ─▶ scan ─▶ find ─▶ hit
//! ```
//!
//! Each search reads all of it, the newest first, in several threads and in constant memory. Only the lines whose bytes can
//! contain a match are parsed.

mod find;
mod hit;
mod pattern;
mod scan;
mod sources;
mod texts;

pub use find::{SearchSummary, Step, find};
pub use hit::Hit;
pub use pattern::{Pattern, Syntax};
pub use scan::Request;
pub use texts::TextKind;
