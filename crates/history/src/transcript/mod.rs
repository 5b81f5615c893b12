//! Reads Claude Code's transcripts: messages, tool calls, changes of files, token usage. No hook call needs it.

mod file_changes;
mod record;

pub use file_changes::{Commit, FileChanges, LineChange};
pub use record::{Delivered, TranscriptItem, TranscriptRecord, delivered, read_as, records};
