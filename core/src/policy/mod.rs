//! Decides whether Claude Code may continue: findings from policy, event and team state, without any file.

mod access;
mod activity;
mod case;
pub mod failure;
mod file_history;
pub mod gates;
mod git;
mod guard;
mod ledger;
mod observe;
mod reason;
mod rules;
mod task_times;
mod team_state;
#[cfg(test)]
mod tests;
mod verdict;

pub use access::{Access, Edit, GitAccess, GitLoss, Lost};
pub use activity::{Activity, Sign};
pub use case::{Case, Judged};
pub use file_history::{FileHistory, FileState, GitCall, is_below};
pub use gates::judge;
pub use git::{Affected, Effect, Files, GitCommand, GitCommands, Makes};
pub use guard::{Counting, Guard};
pub(crate) use ledger::mark;
pub use ledger::{FinalText, Ledger, MemberActivity, PendingToolCall, TeammateRef};
pub use observe::{Sent, asks, stopped};
pub use reason::{Reason, cut, escaped, short_reason, without_prefix};
pub use rules::Rules;
pub use task_times::TaskTimes;
pub use team_state::{Judgement, TeamState, Unreadable, needs_team_state};
pub use verdict::{Decision, Finding, RecordedVerdict, Verdict};
