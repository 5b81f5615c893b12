//! Decides whether Claude Code may continue: findings from policy, event and team state, without any file, clock or environment.
//!
//! [`TeamState`] is the team at an event: its files, and the [`Ledger`] of its history with the [`LiveState`], which timelines use, too.
//! [`gates`] have the findings, [`evaluate`] makes verdicts of them. `git` reads command lines, and [`spending`] prices messages.

#![warn(unreachable_pub)]

// The scene of the tests is also that of tests in `crates/hook`, so it names this crate as those do.
#[cfg(test)]
extern crate self as teamkeep_policy;

mod case;
mod evaluation;
mod file_history;
pub mod gates;
mod git;
mod ledger;
mod live_state;
mod observe;
mod overrides;
mod reason;
mod rules;
pub mod spending;
mod team_state;
#[cfg(test)]
mod tests;
mod verdict;

pub use case::{Access, Case, Edit, GitAccess, GitLoss, JudgedEvent, Lost};
pub use evaluation::{
    Counting, Evaluation, EvaluationInput, Guard, VERDICT, decide, evaluate, log_line, uncounted,
};
pub use file_history::{FileHistory, FileState, GitCall, is_below};
pub use gates::{judge, reads_team};
pub use git::{Affected, Effect, Files, GitCommand, GitCommands, Makes};
pub use ledger::{FinalText, Ledger, MemberActivity, PendingToolCall, TeammateRef, mark};
pub use live_state::{
    Activity, Change, Hold, LiveState, MemberState, Removal, Sign, TaskChange, TaskEvent, TaskState,
};
pub use observe::{Sent, asks, stopped};
pub use overrides::{Lift, Overrides, Pause, allowance_payload};
pub use reason::{MAX_LISTED, MAX_REASON_CHARS, MAX_TEXT_CHARS, Reason, escaped};
pub use rules::Rules;
pub use team_state::{Judgement, TeamState, Unreadable};
pub use verdict::{
    Decision, FAILURE_GATE, Finding, HOOK_REDIRECTED, POLICY_FAILED, POLICY_UNTRUSTED, POLICY_UNUSABLE,
    RecordedVerdict, Verdict,
};
