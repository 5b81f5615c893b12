//! What the client says: read with a bound, parsed leniently, seen through small views.

mod kind;
mod parse;
mod read;
mod tool;

pub use kind::{FOR_RULES, JUDGED, KNOWN, Kind};
pub use parse::{Malformed, Payload, parse};
pub use read::{Input, read};
pub use tool::{Message, MessageKind, Spawn, TaskUpdate, shown_task};
