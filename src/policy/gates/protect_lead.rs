//! Stopping the lead ends the whole team.

use super::{actor, finding};
use crate::config::Policy;
use crate::event::{ActorKind, LEAD};
use crate::payload::{Kind, Message, MessageKind};
use crate::policy::{Facts, Finding, Reason};

const GATE: &str = "protect-lead";

pub fn judge(policy: &Policy, facts: &Facts<'_>) -> Option<Finding> {
    let payload = facts.event.payload;
    if facts.event.kind != Kind::PreToolUse || payload.tool() != Some("SendMessage") {
        return None;
    }
    let message = Message::of(payload.tool_input(), payload.tool_response())?;
    let reason = Reason::of(policy.protect_lead.mode);
    let (code, reason) = match message.kind {
        MessageKind::ShutdownRequest if asks_lead(facts, &message) => (
            "shutdown-of-lead",
            reason.then("a shutdown request to team-lead would end the lead, and with it the whole team.").instead(
                "Send it to the teammate that you mean, or tell the lead with a plain message that you are done.",
            ),
        ),
        MessageKind::ShutdownResponse { approve: true } if is_lead(facts, &message) => (
            "shutdown-approved-by-lead",
            reason.then("approving a shutdown as team-lead would end the lead, and with it the whole team.").instead(
                "Answer with approve false; the lead leaves when the user ends the session.",
            ),
        ),
        _ => return None,
    };
    Some(finding(GATE, code, policy.protect_lead.mode, actor(facts), reason))
}

fn asks_lead(facts: &Facts<'_>, message: &Message) -> bool {
    let is_lead = |word: &str| facts.team.ledger.named(word).eq_ignore_ascii_case(LEAD);
    match message.to.as_deref() {
        Some("*") => facts.event.actor.kind == ActorKind::Teammate,
        to => to.is_some_and(is_lead) || message.asked().is_some_and(is_lead),
    }
}

/// Whether the lead would approve its own end: by its voice, by the request that names it, or because the call names
/// no agent where this client names every teammate's. The last does not trust the name in the request.
fn is_lead(facts: &Facts<'_>, message: &Message) -> bool {
    let payload = facts.event.payload;
    let nameless = payload.agent_id().is_none() && payload.text("agent_type").is_none_or(str::is_empty);
    facts.event.actor.kind == ActorKind::Lead
        || message.asked().is_some_and(|name| name.eq_ignore_ascii_case(LEAD))
        || (nameless && facts.team.ledger.names_agents)
}
