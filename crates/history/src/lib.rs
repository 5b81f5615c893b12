//! What happened, from what was recorded. No hook call needs it.
//!
//! ```text
//! store ─▶ reader ─────┬─▶ timeline ─▶ files ─▶ report with its incidents
//!          transcript ─┴─▶ search
//! ```
//!
//! [`timeline`] merges events, snapshots, transcripts and inboxes into the history of a run. [`transcript`] reads Claude Code's
//! transcripts, [`files`] finds the files that the agents changed, [`report`] sums a run up, and [`search`] finds texts in
//! everything that is recorded. `reader` has the lines of several logs in order and assigns each to its run, [`parallel`] the
//! threads, and [`Follower`] new lines as they come.

#![warn(unreachable_pub)]

pub mod files;
mod follow;
pub mod parallel;
mod reader;
pub mod report;
pub mod search;
pub mod timeline;
pub mod transcript;

pub use follow::{Follower, last};
pub use reader::{Claims, Range, ReadError, ReadErrors, Reader, read_parallel};
