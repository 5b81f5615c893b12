//! The event log: one JSON line a call, in segments that are closed by day and by size and never renumbered.
//!
//! A segment is named by the instant at which it began, so that names sort as time does, and a range of time
//! can be read without opening the others. The lock file holds the name of the segment that is written to:
//! an append costs the same however many segments there are. When a segment is removed, its lines that recorded
//! runs need are kept with these runs, as [`Parts`].

mod contents;
mod current;
mod exclusive;
mod follow;
mod lines;
mod parts;
mod problems;
mod range;
mod reader;
mod segments;
mod sift;
mod single;
mod tail;
mod writer;

pub use contents::Contents;
pub use exclusive::{Exclusive, written_to};
pub use follow::{Follower, Last, last};
pub use lines::{Lines, Position, Raw};
pub use parts::{Parts, part_name, parts_in};
pub use problems::{Problem, Problems};
pub use range::Range;
pub use reader::{Line, Parsed, Reader, parse};
pub use segments::{Name, Segment, list, size};
pub use sift::{Glance, sift};
pub use single::each_of;
pub use tail::tail;
pub use writer::{Appended, Log};
