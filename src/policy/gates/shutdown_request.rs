//! Actions that stop members of a team.

use std::collections::HashSet;

use crate::event::{ActorKind, LEAD};
use crate::model::Tool;
use crate::payload::{Kind, Message, MessageKind};
use crate::policy::observe::stopped;
use crate::policy::{Case, Facts, Sent, TeammateRef};

/// An action that stops members.
pub enum ShutdownAct<'a> {
    /// A shutdown request of the lead.
    Ask,
    /// TaskStop of one member.
    Stop,
    /// TaskStop of one of several members, or, if the flag is false, perhaps of none.
    StopOne(&'a str, bool),
    /// TeamDelete.
    Delete,
    /// A teammate's approval of its shutdown.
    Agree,
    /// An approval without a request, perhaps of the teammate in its `request_id`.
    AgreeOne(Option<&'a str>),
}

/// The action and its targets, if the event stops a member. The lead is another gate's concern.
pub fn act<'a>(case: &Case<'a>) -> Option<(ShutdownAct<'a>, Vec<&'a str>)> {
    let payload = case.event.payload;
    if case.event.kind != Kind::PreToolUse {
        return None;
    }
    let (act, whom) = match payload.tool()? {
        Tool::TeamDelete => (ShutdownAct::Delete, workers(case)),
        Tool::TaskStop => stop(case, stopped(payload.tool_input()).next()?),
        Tool::SendMessage => {
            let sent = Sent::of(payload)?;
            match (&sent.message.kind, sent.message.to.as_deref()) {
                (MessageKind::ShutdownRequest, Some("*")) => {
                    (ShutdownAct::Ask, case.names.teammates().to_vec())
                }
                (MessageKind::ShutdownRequest, Some(to)) => {
                    let whom = case.names.recipients(to);
                    if whom.is_empty() {
                        return None;
                    }
                    (ShutdownAct::Ask, whom)
                }
                (MessageKind::ShutdownResponse { approve: true }, _) => agree(case, &sent)?,
                _ => return None,
            }
        }
        _ => return None,
    };
    Some((act, whom.into_iter().filter(|name| *name != LEAD).collect()))
}

/// The teammate that approves its shutdown. 2.1.47 names no agent in tool events, and stops any teammate that
/// approves, even without a request. The name in the request's id then proves nothing.
fn agree<'a>(case: &Case<'a>, sent: &Sent) -> Option<(ShutdownAct<'a>, Vec<&'a str>)> {
    let (payload, actor, asked) = (case.event.payload, case.event.actor, sent.message.asked());
    let nameless = payload.agent_id().is_none() && payload.text("agent_type").is_none_or(str::is_empty);
    let own = actor.name.as_deref().filter(|name| !nameless || asked != Some(*name));
    if let Some(name) = sent.from.as_deref().or(own).and_then(|name| case.names.member(name)) {
        return Some((ShutdownAct::Agree, vec![name]));
    }
    if asked == Some(LEAD) || actor.kind == ActorKind::Lead {
        return None;
    }
    let named = asked.and_then(|name| case.names.member(name));
    match named.filter(|name| case.team.ledger.of(name).stopping) {
        Some(name) => Some((ShutdownAct::Agree, vec![name])),
        None => Some((ShutdownAct::AgreeOne(named), case.names.teammates().to_vec())),
    }
}

/// The recipient of a shutdown request, as written in the payload; `None` for a request to everyone.
pub fn asked_to_stop(facts: &Facts<'_>) -> Option<String> {
    let payload = facts.event.payload;
    if facts.event.kind != Kind::PreToolUse || payload.tool() != Some(Tool::SendMessage) {
        return None;
    }
    let message = Sent::of(payload)?.message;
    let asks = message.kind == MessageKind::ShutdownRequest;
    message.to.filter(|to| asks && to != "*" && !to.trim().is_empty())
}

/// Whether a message is to everyone.
pub fn is_to_all(facts: &Facts<'_>) -> bool {
    let payload = facts.event.payload;
    let message = Message::of(payload.tool_input(), payload.tool_response());
    message.is_some_and(|message| message.to.as_deref() == Some("*"))
}

/// The teammates and all other owners of unfinished work, without members that have left.
fn workers<'a>(case: &Case<'a>) -> Vec<&'a str> {
    let team = case.team;
    let mut names = case.names.teammates().to_vec();
    let mut known: HashSet<&str> = names.iter().copied().collect();
    for owner in team.tasks.values().filter(|task| !task.is_done()).filter_map(|task| case.names.owner(task))
    {
        if known.insert(owner) && !team.ledger.left.contains(owner) {
            names.push(owner);
        }
    }
    names
}

/// The target of TaskStop. The id of a background task does not always identify the teammate, nor whether it is one.
fn stop<'a>(case: &Case<'a>, word: &'a str) -> (ShutdownAct<'a>, Vec<&'a str>) {
    if let Some(name) = case.names.member(word) {
        return (ShutdownAct::Stop, vec![name]);
    }
    match case.team.ledger.unnamed(word) {
        Some(TeammateRef::One(name)) => (ShutdownAct::Stop, vec![name]),
        Some(TeammateRef::Among(all)) => {
            (ShutdownAct::StopOne(word, true), all.iter().map(String::as_str).collect())
        }
        Some(TeammateRef::Any) => (ShutdownAct::StopOne(word, true), case.names.teammates().to_vec()),
        // Ids of teammates start with this character, ids of shells and subagents do not.
        None if word.starts_with('t') && word.chars().all(|c| c.is_ascii_alphanumeric()) => {
            (ShutdownAct::StopOne(word, false), case.names.teammates().to_vec())
        }
        None => (ShutdownAct::Stop, Vec::new()),
    }
}
