//! What it means when the policy itself fails: `on-error` says.

use super::{Decision, Verdict};
use crate::config::OnError;
use crate::payload::Kind;

/// What stands for the gate where the policy itself fails.
pub const GATE: &str = "policy";
/// A policy file cannot be used.
pub const UNUSABLE: &str = "policy-unusable";
/// A project's file changed since it was trusted, and nothing of it runs.
pub const UNTRUSTED: &str = "policy-untrusted";
/// The policy could not be asked, or its answer not kept.
pub const FAILED: &str = "policy-failed";

/// Whether an event may be held back because the policy fails. A teammate that only waits, or a turn that ends, never is:
/// nothing would ever let it go on.
pub fn is_held(kind: Kind) -> bool {
    matches!(kind, Kind::PreToolUse | Kind::TaskCreated | Kind::TaskCompleted)
}

/// What a failure comes to at an event.
pub fn decision(on_error: OnError, kind: Kind) -> Decision {
    if on_error == OnError::Block && is_held(kind) { Decision::Block } else { Decision::Allow }
}

/// What is recorded of a failure.
pub fn verdict(on_error: OnError, kind: Kind, code: &str, reason: String) -> Verdict {
    Verdict {
        decision: decision(on_error, kind),
        gate: GATE.to_owned(),
        code: code.to_owned(),
        reason,
        rule: None,
        file_line: None,
        escalated: false,
        blocks: None,
        paused: false,
        repeated: false,
    }
}
