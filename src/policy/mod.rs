//! Decides whether Claude Code may continue. Pure: policy, event and team state in, verdict out.

mod attempt;
mod background_tasks;
pub mod failure;
pub mod gates;
mod guard;
mod judge;
mod ledger;
mod names;
mod observe;
pub mod pattern;
mod pending_tools;
mod reason;
mod recorded_verdict;
mod rules;
mod sent;
mod team_file;
mod team_state;
#[cfg(test)]
mod tests;
mod verdict;

pub use attempt::{Attempt, Origin};
pub use background_tasks::TeammateRef;
pub use guard::{Counting, Guard};
pub use judge::{Facts, Judged, judge};
pub use ledger::{Ledger, MemberActivity, PendingToolCall};
pub use names::{Case, Names};
pub use observe::asks;
pub use reason::{Reason, escaped, without_prefix};
pub use recorded_verdict::RecordedVerdict;
pub use rules::Rules;
pub use sent::Sent;
pub use team_file::{FileContent, Part, TeamFile, Unreadable};
pub use team_state::{Judgement, TeamState, needs_team_state};
pub use verdict::{Decision, Finding, Verdict};
