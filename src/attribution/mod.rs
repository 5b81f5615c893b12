//! Identifies the actor and the team of a hook call from the evidence in it, one function per rule. When the evidence
//! is not conclusive, the result is "unknown", never a guess.

mod actor;
mod call_context;
mod recent_calls;
mod session_state;
mod split_pane;
mod team;

pub use actor::{resolve as actor, resolve_by as actor_by, version};
pub use call_context::{CallContext, transcript};
pub use recent_calls::{RecentCall, RecentCalls};
pub use session_state::{Agents, BlockedDeletes, SessionState};
pub use split_pane::is_undecided;
pub use team::{CandidateTeams, ResolvedTeam, candidate_teams, resolve as team, resolve_by as team_by};
