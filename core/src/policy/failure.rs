//! Failures of the policy itself; `on-error` decides what they mean.

use super::gates;
use super::{Case, Decision, Finding, Reason, Verdict, escaped};
use crate::client::payload::Kind;
use crate::config::{Gate, Mode, OnError, Policy};

/// Stands for the gate in a verdict about a failure.
pub const GATE: &str = "policy";
/// A policy file cannot be used.
pub const UNUSABLE: &str = "policy-unusable";
/// A project's file changed after it was trusted, so nothing in it runs.
pub const UNTRUSTED: &str = "policy-untrusted";
/// The policy could not be evaluated, or its result could not be stored.
pub const FAILED: &str = "policy-failed";

/// Maximum length of a cause in a reason, in characters.
const MAX_CAUSE_CHARS: usize = 160;

/// Whether a failure may block this event. Idle and the end of a turn are never blocked, because the agent could not
/// continue.
pub fn is_held(kind: Kind) -> bool {
    matches!(kind, Kind::PreToolUse | Kind::TaskCreated | Kind::TaskCompleted)
}

/// The decision for a failure at this event.
pub fn decision(on_error: OnError, kind: Kind) -> Decision {
    if on_error == OnError::Block && is_held(kind) { Decision::Block } else { Decision::Allow }
}

/// The recorded verdict for a failure.
pub fn verdict(on_error: OnError, kind: Kind, code: &str, reason: String) -> Verdict {
    Verdict::new(decision(on_error, kind), GATE, code, reason)
}

/// One finding for each gate that needs files that cannot be read, unless it blocks the event anyway. The loop guard counts
/// it like any other.
pub(super) fn unreadable(policy: &Policy, case: &Case<'_>, found: &[Finding]) -> Vec<Finding> {
    let blocks = |gate: Gate| found.iter().any(|one| one.gate == gate && one.decision == Decision::Block);
    let finding = |gate: Gate| {
        let gate_mode = gate.mode(policy).filter(|mode| *mode != Mode::Off && !blocks(gate))?;
        let mut unreadable = case.team.unreadable.iter();
        let (missing, about) = unreadable
            .find_map(|missing| Some((missing, gates::subject_of(gate, policy, case, &missing.part)?)))?;
        let may_block = policy.on_error == OnError::Block && is_held(case.event.kind);
        let mode = if may_block { gate_mode } else { Mode::Warn };
        let reason = Reason::of(mode).then(gate.name()).then(" cannot check this: teamkeep cannot read ");
        let reason = match missing.path.as_str() {
            "" => reason.then("all of the team's files"),
            path => reason.quote(path),
        };
        let reason = reason.then(&format!(" ({}).", escaped(&missing.why, MAX_CAUSE_CHARS)));
        let reason = reason.instead(match mode {
            Mode::Block => {
                "on-error = \"block\" blocks the action for it. Report this to the user, who can restore the file."
            }
            _ => "Check TaskList first, and report this to the user.",
        });
        Some(Finding::new(gate, FAILED, mode.into(), &about, reason.finish()))
    };
    Gate::ALL.into_iter().filter_map(finding).collect()
}
