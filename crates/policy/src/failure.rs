//! Failures of the policy itself; `on-error` decides what they mean.

use super::{Decision, Verdict};
use teamkeep_config::OnError;
use teamkeep_model::payload::EventKind;

/// The value of `gate` in a verdict about a failure.
pub const GATE: &str = "policy";
/// A policy file cannot be used.
pub const UNUSABLE: &str = "policy-unusable";
/// A project's file changed after it was trusted, so nothing in it runs.
pub const UNTRUSTED: &str = "policy-untrusted";
/// The policy could not be evaluated, or its result could not be stored.
pub const FAILED: &str = "policy-failed";
/// The environment points the hook elsewhere than an organization with fixed gates expects.
pub const REDIRECTED: &str = "hook-redirected";

/// Whether a failure that the loop guard counts may block this event. Idle and the end of a turn are never blocked, because
/// the agent could not continue.
pub(crate) fn can_block(kind: EventKind) -> bool {
    kind.is_before_tool() || matches!(kind, EventKind::TaskCreated | EventKind::TaskCompleted)
}

/// The decision for a failure at this event.
pub fn decision(on_error: OnError, kind: EventKind) -> Decision {
    if on_error == OnError::Block && can_block(kind) { Decision::Block } else { Decision::Allow }
}

/// The decision for a failure that nothing counts. A task is also announced as completed at the end of a turn, so there a
/// block would repeat forever; before a tool completes a task, the tool itself is blocked.
pub fn uncounted_decision(on_error: OnError, kind: EventKind) -> Decision {
    if kind == EventKind::TaskCompleted { Decision::Allow } else { decision(on_error, kind) }
}

/// The recorded verdict for a failure that nothing counts.
pub fn verdict(on_error: OnError, kind: EventKind, code: &str, reason: String) -> Verdict {
    Verdict::new(uncounted_decision(on_error, kind), GATE, code, reason)
}
