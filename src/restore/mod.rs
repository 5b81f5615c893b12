//! Gives work back: a run's files as they were, into a directory, and its unfinished tasks, into a task list of the
//! client.
//!
//! [`source`] says what is on record, [`board`] what the list holds now, and [`plan`] is pure: it says from the two
//! what would be written. [`apply`] does that under the client's own lock ([`guard`]), all or nothing, and remembers
//! it so that [`undo`] can take it back. [`files`] and [`tree`] are the same for a directory of the user's.

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
