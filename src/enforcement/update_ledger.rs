//! Adds an event to the ledger. A hook call and a backtest do it in the same way.

use crate::config::Gate;
use std::collections::BTreeSet;

use crate::model::Tool;
use crate::payload::{Kind, MessageKind};
use crate::policy::{Decision, Finding, Judged, Sent, TeamState, Verdict};

/// Adds the event to the ledger, unless it is a blocked tool call, which never ran.
pub fn update_ledger(
    event: &Judged<'_>,
    held_back: bool,
    verdicts: &[Verdict],
    findings: &[Finding],
    team: &mut TeamState,
) {
    if held_back && event.kind == Kind::PreToolUse {
        return;
    }
    team.observe(event, held_back);
    // An allowed request permits the approval; one with only a warning does not. A request that only a backtest would
    // have blocked was sent nevertheless.
    let of_gate = || verdicts.iter().filter(|verdict| verdict.gate == Gate::PrematureShutdown.name());
    let went_out = of_gate().any(|verdict| verdict.decision == Decision::Block);
    let is_free = |finding: &&Finding| {
        let mut free = of_gate().filter(|verdict| verdict.escalated || verdict.paused);
        finding.gate == Gate::PrematureShutdown
            && (went_out
                || free.any(|verdict| verdict.code == finding.code && verdict.reason == finding.reason))
    };
    let known = |finding: &Finding| team.ledger.named(&finding.about).to_owned();
    let meant: BTreeSet<String> = findings.iter().filter(is_free).map(known).collect();
    if !meant.is_empty() {
        team.ledger.approve_shutdown(event, |name| meant.contains(name));
    }
}

/// Whether a gate needs the tasks, the roster or the inboxes for this event. Reading them is the most expensive part
/// of a call, and most tool calls do not concern a team.
pub fn needs_team_state(event: &Judged<'_>) -> bool {
    let payload = event.payload;
    match (event.kind, payload.tool()) {
        (Kind::PreToolUse, Some(Tool::TaskUpdate | Tool::TaskStop | Tool::TeamDelete | Tool::Agent)) => true,
        (Kind::PreToolUse, Some(Tool::SendMessage)) => {
            Sent::of(payload).is_some_and(|sent| sent.message.kind != MessageKind::Plain)
        }
        (kind, _) => kind != Kind::PreToolUse && kind.is_judged(),
    }
}
