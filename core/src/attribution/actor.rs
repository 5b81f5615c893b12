//! Identifies the actor of a hook call: one function per rule, strongest evidence first.

use serde_json::Value;

use super::{CallContext, head};
use crate::client::compat::names_agents;
use crate::client::payload::{Kind, Message, MessageKind};
use crate::model::Tool;
use crate::model::event::{Actor, ActorKind, LEAD};
use crate::store::archive::Index;

/// The actor of a call, and the evidence for it. `name` is the session's own agent name in the team.
pub fn resolve(call: &CallContext<'_>, team: Option<&Index>, name: Option<&str>) -> (Actor, &'static str) {
    // An unreadable payload proves nothing, even if the command line names an event.
    if call.payload.malformed.is_some() {
        return (Actor::unknown(), "the payload is unreadable");
    }
    if matches!(call.kind, Kind::FileChanged) {
        return (Actor::unknown(), "a file change has no actor");
    }
    if let Some(id) = call.payload.agent_id() {
        return by_agent(call, team, id);
    }
    if let Some(actor) = by_transcript_text(call, team) {
        return (actor, "the payload names the actor");
    }
    if let Some(name) = name {
        return (Actor::teammate(name, None), "the session belongs to this teammate");
    }
    match by_session(call, team) {
        Some(actor) => (actor, "the session has no other actor of this kind"),
        None => (Actor::unknown(), "the payload names no agent, and the session has several"),
    }
}

/// An agent id belongs to an internal helper, a teammate (known from an earlier call, or by its type), or a subagent.
fn by_agent(call: &CallContext<'_>, team: Option<&Index>, id: &str) -> (Actor, &'static str) {
    let role = call.payload.text("agent_type");
    let is_member = |name: &str| team.is_some_and(|team| team.has_member(name));
    if let Some(name) = call.state.agents.get(id) {
        return (Actor::teammate(name, Some(id)), "an earlier call names the agent with this id");
    }
    let is_other = |name: &str| is_of_another(call, name, id);
    let (name, id) = (role.map(str::to_owned), Some(id.to_owned()));
    match role {
        Some("") => {
            let helper = Actor { name: None, id, kind: ActorKind::Helper };
            (helper, "an agent without a type belongs to Claude Code")
        }
        // In-process, the type is the teammate's name. In a pane it is the role of that teammate's subagent.
        Some(role) if is_member(role) && call.state.name.is_none() && !is_other(role) => {
            (Actor::teammate(role, id.as_deref()), "the agent's type is a member's name")
        }
        _ => (Actor { name, id, kind: ActorKind::Subagent }, "the agent's type is not a member's name"),
    }
}

/// Whether another agent has a role that is spelled like the member's name. An id that contains the name
/// (`aalice-7dfceaaaef47c69e`, 2.1.328) belongs to the member permanently. Older versions create a new id, without the name,
/// for each turn.
fn is_of_another(call: &CallContext<'_>, name: &str, id: &str) -> bool {
    let holds = |id: &str| {
        id.strip_prefix('a').and_then(|id| id.strip_prefix(name)).is_some_and(|id| id.starts_with('-'))
    };
    let knows = || call.state.agents.iter().any(|(id, known)| known == name && holds(id));
    !holds(id) && knows()
}

/// An actor that the payload names. Before 2.1.69 this is the only evidence that distinguishes teammates.
fn by_transcript_text(call: &CallContext<'_>, team: Option<&Index>) -> Option<Actor> {
    let payload = call.payload;
    if let Some(name) = payload.text("teammate_name").filter(|name| !name.is_empty()) {
        return Some(named(name));
    }
    if payload.tool() != Some(Tool::SendMessage) {
        return None;
    }
    let sender = payload.tool_response().pointer("/routing/sender").and_then(Value::as_str);
    if let Some(sender) = sender.filter(|sender| !sender.is_empty()) {
        return Some(named(sender));
    }
    // Only the agent that was asked can respond: `shutdown-<ms>@<name>`.
    let message = Message::of(payload.tool_input(), payload.tool_response())?;
    let answers = matches!(message.kind, MessageKind::ShutdownResponse { .. });
    // The model may use any spelling of the name.
    let member = |name| named(team.and_then(|team| team.member(name)).unwrap_or(name));
    answers.then(|| message.asked().map(member)).flatten()
}

fn named(name: &str) -> Actor {
    if name == LEAD { Actor::lead() } else { Actor::teammate(name, None) }
}

/// Without an agent id and a name, the actor is the session's own agent if the session cannot have another one.
fn by_session(call: &CallContext<'_>, team: Option<&Index>) -> Option<Actor> {
    if call.looks_like_split_pane() {
        return None;
    }
    let own = matches!(
        call.kind,
        Kind::SessionStart
            | Kind::SessionEnd
            | Kind::Stop
            | Kind::StopFailure
            | Kind::UserPromptSubmit
            | Kind::PreCompact
    );
    let alone = || !call.state.company || version(call).is_some_and(|version| names_agents(&version));
    let speaks = own || (call.kind != Kind::Unknown && !call.kind.is_for_rules() && alone());
    let name = if team.is_some() { LEAD } else { "lead" };
    speaks.then(|| Actor { name: Some(name.to_owned()), id: None, kind: ActorKind::Lead })
}

pub fn version(call: &CallContext<'_>) -> Option<String> {
    call.state.version.clone().or_else(|| {
        head(call.transcript()?).find_map(|record| Some(record.get("version")?.as_str()?.to_owned()))
    })
}
