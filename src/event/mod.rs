//! One hook call as an event, with validated ids.

mod actor;
mod id;
mod name;
mod record;

pub use actor::{Actor, ActorKind, LEAD};
pub use id::Id;
pub use name::SafeName;
pub use record::{Event, Recorded};

/// The event of a pause or an allowance. A command records it, not a hook.
pub const OVERRIDE: &str = "PolicyOverride";
