//! Stopping the lead ends the whole team.

use crate::{Case, Finding, Reason, Sent};
use teamkeep_config::{Gate, Policy};
use teamkeep_model::event::{ActorKind, LEAD};
use teamkeep_model::payload::{Message, MessageKind};
use teamkeep_model::unicode::fold;

pub(super) fn judge(policy: &Policy, case: &Case<'_>) -> Option<Finding> {
    let (mode, message) = (policy.protect_lead.mode, Sent::of(case.event.payload)?.message);
    let (code, action, advice) = match message.kind {
        MessageKind::ShutdownRequest if asks_lead(case, &message) => (
            "shutdown-of-lead",
            "a shutdown request to team-lead",
            "Send it to the intended teammate, or send the lead a plain message that you are done.",
        ),
        MessageKind::ShutdownResponse { approve: true } if is_lead(case, &message) => (
            "shutdown-approved-by-lead",
            "approving a shutdown as team-lead",
            "Answer with approve false. The user ends the lead's session.",
        ),
        _ => return None,
    };
    let reason = Reason::default().then(action).then(" would stop the lead and end the whole team.");
    let reason = reason.instead(advice);
    Some(Finding::new(Gate::ProtectLead, code, mode.into(), case.actor(), reason))
}

fn asks_lead(case: &Case<'_>, message: &Message) -> bool {
    match message.to.as_deref() {
        Some("*") => case.event.actor.kind == ActorKind::Teammate,
        to => to.is_some_and(|to| case.recipients(to).contains(&LEAD)) || names_lead(message),
    }
}

/// Whether the lead would approve its own shutdown: the actor is the lead, the request names it, or the call names no
/// agent although this version names every teammate. The last ignores the name in the request.
fn is_lead(case: &Case<'_>, message: &Message) -> bool {
    case.event.actor.kind == ActorKind::Lead
        || names_lead(message)
        || (case.event.is_nameless() && case.team.ledger.names_agents)
}

fn names_lead(message: &Message) -> bool {
    message.asked().is_some_and(|name| fold(name) == LEAD)
}
