//! What we say happened: one record a hook call, with validated ids.

mod actor;
mod id;
mod name;
mod record;

pub use actor::{Actor, ActorKind, LEAD};
pub use id::Id;
pub use name::SafeName;
pub use record::{Event, Recorded};
