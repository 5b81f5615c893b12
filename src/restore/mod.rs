//! Restores a run's files into a directory, or its unfinished tasks into a task list of Claude Code.
//!
//! [`source`] reads the recorded tasks, [`board`] the list, and [`plan`] computes what to write. [`apply`] writes it
//! under Claude Code's lock ([`guard`]), all or nothing, and stores a record for [`undo`]. [`files`] and [`tree`] do
//! the same for a directory.

mod allocate_ids;
mod apply;
mod client_lock;
mod dir_handle;
mod files;
mod links;
mod list;
mod list_owner;
mod merged_history;
mod plan;
mod source;
mod task;
mod task_list;
mod undo;
mod undo_log;
mod write_tree;

pub use apply::apply;
pub use client_lock::ClientLock;
pub use dir_handle::DirHandle;
pub use files::{FilePlan, Planned, SkippedFile};
pub use links::Dropped;
pub use list::List;
pub use list_owner::{holder, user};
pub use plan::{LeftOut, Options, Plan, TaskWrite, plan};
pub use source::{RestorableTask, Source};
pub use task_list::TaskList;
pub use undo::{Undone, remove_created_list, undo};
pub use undo_log::{UndoLog, UndoRecord, Written};
pub use write_tree::write;
