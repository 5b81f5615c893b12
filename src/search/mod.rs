//! Full-text search in everything that is recorded: events of the log, of ended and of imported runs, and transcripts.
//!
//! ```text
//! sources ─▶ event_texts, transcript_texts ─▶ document ─▶ update ─▶ index ─▶ find ─▶ hit
//! ```
//!
//! The index is a cache in the store. Each search first adds the new texts; no hook reads or writes it. It is built again
//! when it is damaged or of another version, and removed by `prune`.

mod document;
mod event_texts;
mod find;
mod hit;
mod index;
mod query;
mod required_words;
mod snippet;
mod sources;
mod transcript_texts;
mod update;

pub use document::Kind;
pub use find::{Found, find};
pub use hit::Hit;
pub use index::{IndexDir, discard_open};
pub use query::{Order, Pattern, Request};
pub use update::{Freshness, open_current};
