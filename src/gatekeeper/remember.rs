//! What an event leaves behind: the same at a hook and in a back-test.

use std::collections::BTreeSet;

use crate::payload::{Kind, MessageKind};
use crate::policy::gates::PREMATURE_SHUTDOWN;
use crate::policy::{Decision, Finding, Judged, Sent, TeamState, Verdict};

/// Takes the event into the ledger, unless it is a tool that was held back: such a one never ran.
pub fn remember(
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
    // A request that was let through is answered without a breach; one that was only warned of is no such thing. What a
    // back-test would have held back, the one to everybody with all its findings, went out all the same.
    let of_gate = || verdicts.iter().filter(|verdict| verdict.gate == PREMATURE_SHUTDOWN);
    let went_out = of_gate().any(|verdict| verdict.decision == Decision::Block);
    let is_free = |finding: &&Finding| {
        let mut free = of_gate().filter(|verdict| verdict.escalated || verdict.paused);
        finding.gate == PREMATURE_SHUTDOWN
            && (went_out
                || free.any(|verdict| verdict.code == finding.code && verdict.reason == finding.reason))
    };
    let known = |finding: &Finding| team.ledger.named(&finding.about).to_owned();
    let meant: BTreeSet<String> = findings.iter().filter(is_free).map(known).collect();
    if !meant.is_empty() {
        team.ledger.let_go(event, |name| meant.contains(name));
    }
}

/// Whether a gate looks at the tasks, the roster or the inboxes for this event. Reading them costs more than all the rest,
/// and most calls before a tool are for tools that are nothing to a team.
pub fn asks_the_team(event: &Judged<'_>) -> bool {
    let payload = event.payload;
    match (event.kind, payload.tool()) {
        (Kind::PreToolUse, Some("TaskUpdate" | "TaskStop" | "TeamDelete" | "Agent" | "Task")) => true,
        (Kind::PreToolUse, Some("SendMessage")) => {
            Sent::of(payload).is_some_and(|sent| sent.message.kind != MessageKind::Plain)
        }
        (kind, _) => kind != Kind::PreToolUse && kind.is_judged(),
    }
}
