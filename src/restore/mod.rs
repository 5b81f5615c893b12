//! Restores a run's files into a directory, or its unfinished tasks into a task list of Claude Code.
//!
//! [`source`] reads the recorded tasks, [`task_list`] the list, and [`plan`] computes what to write. [`mod@apply`] writes it
//! under Claude Code's lock ([`client_lock`]), all or nothing, and stores a record for [`mod@undo`]. [`files`] does the same
//! for a directory.

mod apply;
mod client_lock;
mod dir_handle;
mod files;
mod plan;
mod source;
mod task_list;
mod undo;

pub use apply::apply;
pub use client_lock::ClientLock;
pub use dir_handle::DirHandle;
pub use files::{ExistingFiles, FilePlan, Planned, SkippedFile, write};
pub use plan::{LeftOut, Options, Plan, TaskWrite, plan};
pub use source::{Dropped, RestorableTask, Source};
pub use task_list::{List, TaskList, holder, user};
pub use undo::{UndoLog, UndoRecord, Undone, Written, preview_undo, remove_created_list, undo};
