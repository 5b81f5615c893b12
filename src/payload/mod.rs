//! Payloads of hook calls: bounded reading, tolerant parsing, and typed views.

mod kind;
mod parse;
mod read;
mod tool;

pub use kind::{FOR_RULES, JUDGED, KNOWN, Kind};
pub use parse::{Malformed, Payload, parse};
pub use read::{Input, read};
pub use tool::{Message, MessageKind, Spawn, TaskUpdate, shown_task};
