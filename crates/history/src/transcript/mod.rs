//! Reads Claude Code's transcripts: messages, tool calls, changes of files, token usage. No hook call needs it.

mod file_changes;
mod record;
mod teammate_message;

pub use file_changes::{Commit, FileChanges, LineChange};
pub use record::{TranscriptItem, TranscriptRecord, records};
pub use teammate_message::{Delivered, delivered, read_as};
