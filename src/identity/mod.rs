//! Identifies the actor and the team of a hook call from the evidence in it, one function per rule. When the evidence
//! is not conclusive, the result is "unknown", never a guess.

mod actor;
mod agents;
mod calls;
mod evidence;
mod memory;
mod pane;
mod team;

pub use actor::{resolve as actor, resolve_by as actor_by, version};
pub use agents::Agents;
pub use calls::{Announced, Announcement};
pub use evidence::{Evidence, transcript};
pub use memory::{Memory, Refused};
pub use pane::is_undecided;
pub use team::{Concerned, Resolved, concerned, resolve as team, resolve_by as team_by};
