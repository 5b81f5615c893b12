//! Restores a run's files into a directory, or its unfinished tasks into a task list of Claude Code.
//!
//! [`source`] reads the recorded tasks, [`board`] the list, and [`plan`] computes what to write. [`apply`] writes it
//! under Claude Code's lock ([`guard`]), all or nothing, and stores a record for [`undo`]. [`files`] and [`tree`] do
//! the same for a directory.

mod apply;
mod board;
mod files;
mod folder;
mod gathered;
mod guard;
mod holder;
mod ids;
mod links;
mod list;
mod plan;
mod records;
mod source;
mod task;
mod tree;
mod undo;

pub use apply::apply;
pub use board::Board;
pub use files::{FilePlan, Planned, Unwritten};
pub use folder::Folder;
pub use guard::Guard;
pub use holder::{holder, user};
pub use list::List;
pub use plan::{Dropped, LeftOut, Options, Plan, Put, plan};
pub use records::{Record, Records, Written};
pub use source::{Past, Source};
pub use tree::write;
pub use undo::{Undone, remove_made, undo};
