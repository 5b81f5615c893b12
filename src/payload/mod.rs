//! Payloads of hook calls: bounded reading, tolerant parsing, and typed views.

mod kind;
mod parse;
mod tool;

pub use kind::{JUDGED, KNOWN, Kind};
pub use parse::{Input, Malformed, Payload, parse, read};
pub use tool::{Message, MessageKind, Spawn, TaskUpdate, shown_task};
