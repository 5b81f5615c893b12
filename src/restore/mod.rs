//! Restores a run's files into a directory, its unfinished tasks into a task list of Claude Code, or the work of its
//! worktrees into a git repository.
//!
//! [`source`] reads the recorded tasks, [`task_list`] the list, and [`mod@plan`] computes what to write. [`task_restore`]
//! writes it under Claude Code's lock, all or nothing, and undoes it. [`files`] restores files into a directory, [`worktrees`] creates
//! branches with the work of worktrees.

mod directory;
mod files;
mod plan;
mod source;
mod task_list;
mod task_restore;
mod worktrees;

pub use files::{ExistingFiles, FilePlan};
pub use plan::{Earlier, Options, Plan, TaskWrite, plan};
pub use source::RestoreSource;
pub use task_list::{List, TaskList, holder};
pub use task_restore::{TaskRestore, UndoLog, Undone};
pub use worktrees::{WorktreeBranch, WorktreePlan};
