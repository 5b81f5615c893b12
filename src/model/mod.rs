//! Shared types: words of Claude Code, each with its spelling, and notes.

mod note;
mod task_status;
mod tool;

pub use note::{Limit, Note, NoteCode, Severity};
pub use task_status::TaskStatus;
pub use tool::Tool;
