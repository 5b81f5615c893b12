//! Stopping the lead ends the whole team.

use super::{actor, finding};
use crate::config::{Gate, Policy};
use crate::event::{ActorKind, LEAD};
use crate::model::Tool;
use crate::payload::{Kind, Message, MessageKind};
use crate::policy::{Case, Finding, Reason, Sent};
use crate::unicode::fold;

pub fn judge(policy: &Policy, case: &Case<'_>) -> Option<Finding> {
    let payload = case.event.payload;
    if case.event.kind != Kind::PreToolUse || payload.tool() != Some(Tool::SendMessage) {
        return None;
    }
    let message = Sent::of(payload)?.message;
    let reason = Reason::of(policy.protect_lead.mode);
    let (code, reason) = match message.kind {
        MessageKind::ShutdownRequest if asks_lead(case, &message) => (
            "shutdown-of-lead",
            reason
                .then("a shutdown request to team-lead would stop the lead and end the whole team.")
                .instead(
                    "Send it to the intended teammate, or send the lead a plain message that you are done.",
                ),
        ),
        MessageKind::ShutdownResponse { approve: true } if is_lead(case, &message) => (
            "shutdown-approved-by-lead",
            reason
                .then("approving a shutdown as team-lead would stop the lead and end the whole team.")
                .instead("Answer with approve false. The user ends the lead's session."),
        ),
        _ => return None,
    };
    Some(finding(Gate::ProtectLead, code, policy.protect_lead.mode, actor(case), reason))
}

fn asks_lead(case: &Case<'_>, message: &Message) -> bool {
    let is_reached = |word: &str| case.names.recipients(word).contains(&LEAD);
    match message.to.as_deref() {
        Some("*") => case.event.actor.kind == ActorKind::Teammate,
        to => to.is_some_and(is_reached) || message.asked().is_some_and(is_named),
    }
}

/// Whether the lead would approve its own shutdown: the actor is the lead, the request names it, or the call names no
/// agent although this version names every teammate. The last ignores the name in the request.
fn is_lead(case: &Case<'_>, message: &Message) -> bool {
    let payload = case.event.payload;
    let nameless = payload.agent_id().is_none() && payload.text("agent_type").is_none_or(str::is_empty);
    case.event.actor.kind == ActorKind::Lead
        || message.asked().is_some_and(is_named)
        || (nameless && case.team.ledger.names_agents)
}

fn is_named(name: &str) -> bool {
    fold(name) == LEAD
}
