//! Identifies the actor and the team of a hook call from the evidence in it, one function per rule. When the evidence
//! is not conclusive, the result is "unknown", never a guess.

mod actor;
mod call_context;
mod session_state;
mod team;

pub use actor::{resolve as actor, version};
use call_context::head;
pub use call_context::{CallContext, transcript};
pub use session_state::{Agents, BlockedDeletes, SessionState};
pub use team::{CandidateTeams, ResolvedTeam, candidate_teams, resolve as team};
