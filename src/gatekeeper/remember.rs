//! What an event leaves behind: the same at a hook and in a back-test.

use crate::payload::{Kind, Message, MessageKind};
use crate::policy::gates::PREMATURE_SHUTDOWN;
use crate::policy::{Finding, Judged, Ledger, Verdict};

/// Takes the event into the ledger, unless it is a tool that was held back: such a one never ran.
pub fn remember(
    event: &Judged<'_>,
    held_back: bool,
    verdicts: &[Verdict],
    findings: &[Finding],
    ledger: &mut Ledger,
) {
    if held_back && event.kind == Kind::PreToolUse {
        return;
    }
    ledger.observe(event);
    // A request that was objected to and goes out all the same is answered without a breach.
    if verdicts.iter().any(|verdict| verdict.gate == PREMATURE_SHUTDOWN) {
        let all = findings.iter().filter(|finding| finding.gate == PREMATURE_SHUTDOWN);
        let known = |finding: &Finding| ledger.named(&finding.about).to_owned();
        let meant: Vec<String> = all.map(known).collect();
        ledger.let_go(event, |name| meant.iter().any(|known| known == name));
    }
}

/// Whether a gate looks at the tasks, the roster or the inboxes for this event. Reading them costs more than all the rest,
/// and most calls before a tool are for tools that are nothing to a team.
pub fn asks_the_team(event: &Judged<'_>) -> bool {
    let payload = event.payload;
    match (event.kind, payload.tool()) {
        (Kind::PreToolUse, Some("TaskUpdate" | "TaskStop" | "TeamDelete" | "Agent" | "Task")) => true,
        (Kind::PreToolUse, Some("SendMessage")) => Message::of(payload.tool_input(), payload.tool_response())
            .is_some_and(|message| message.kind != MessageKind::Plain),
        (kind, _) => kind != Kind::PreToolUse && kind.is_judged(),
    }
}
