//! Who spoke, and in which team: the client's evidence, one rule a function. "Unknown" is an answer; a guess is not.

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
