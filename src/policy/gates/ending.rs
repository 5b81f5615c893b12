//! What ends members of a team, and whom.

use super::teammates;
use crate::event::LEAD;
use crate::payload::{Kind, Message, MessageKind};
use crate::policy::ledger::spelled;
use crate::policy::observe::stopped;
use crate::policy::{Facts, Whose};

/// An act that ends members.
pub enum Act<'a> {
    /// The lead asks them to stop.
    Ask,
    /// TaskStop ends one at once.
    Stop,
    /// TaskStop ends one of several, whichever this word means, or, where that is not certain, none.
    StopOne(&'a str, bool),
    /// TeamDelete takes the team away.
    Delete,
    /// A teammate agrees to stop.
    Agree,
}

/// What is done to whom, if it is anything that ends a member. The lead is another gate's concern.
pub fn act<'a>(facts: &Facts<'a>) -> Option<(Act<'a>, Vec<&'a str>)> {
    let payload = facts.event.payload;
    if facts.event.kind != Kind::PreToolUse {
        return None;
    }
    let (act, whom) = match payload.tool()? {
        "TeamDelete" => (Act::Delete, workers(facts)),
        "TaskStop" => stop(facts, stopped(payload.tool_input()).next()?),
        "SendMessage" => {
            let message = Message::of(payload.tool_input(), payload.tool_response())?;
            match (&message.kind, message.to.as_deref()) {
                (MessageKind::ShutdownRequest, Some("*")) => (Act::Ask, teammates(facts)),
                (MessageKind::ShutdownRequest, Some(to)) => (Act::Ask, vec![member(facts, to)?]),
                (MessageKind::ShutdownResponse { approve: true }, _) => {
                    let own = facts.event.actor.name.as_deref().and_then(|name| member(facts, name));
                    let name = own.or_else(|| member(facts, message.asked()?))?;
                    (Act::Agree, vec![name])
                }
                _ => return None,
            }
        }
        _ => return None,
    };
    Some((act, whom.into_iter().filter(|name| *name != LEAD).collect()))
}

/// Whether a message is to everybody.
pub fn is_to_all(facts: &Facts<'_>) -> bool {
    let payload = facts.event.payload;
    let message = Message::of(payload.tool_input(), payload.tool_response());
    message.is_some_and(|message| message.to.as_deref() == Some("*"))
}

/// The teammates, and whoever else owns work that is not done. Who was seen to leave is none.
fn workers<'a>(facts: &Facts<'a>) -> Vec<&'a str> {
    let team = facts.team;
    let mut names = teammates(facts);
    for owner in team.tasks.values().filter(|task| !task.is_done()).filter_map(|task| team.owner(task)) {
        if !names.contains(&owner) && !team.ledger.left.contains(owner) {
            names.push(owner);
        }
    }
    names
}

/// What TaskStop stops by this word. The id of a background task does not always tell whose it is, nor whether it is a
/// teammate's.
fn stop<'a>(facts: &Facts<'a>, word: &'a str) -> (Act<'a>, Vec<&'a str>) {
    if let Some(name) = member(facts, word) {
        return (Act::Stop, vec![name]);
    }
    match facts.team.ledger.unnamed(word) {
        Some(Whose::One(name)) => (Act::Stop, vec![name]),
        Some(Whose::Among(all)) => (Act::StopOne(word, true), all.iter().map(String::as_str).collect()),
        Some(Whose::Any) => (Act::StopOne(word, true), teammates(facts)),
        // So the ids of teammates begin, and those of shells and of subagents do not.
        None if word.starts_with('t') && word.chars().all(|c| c.is_ascii_alphanumeric()) => {
            (Act::StopOne(word, false), teammates(facts))
        }
        None => (Act::Stop, Vec::new()),
    }
}

/// The member that a word of the payload means, as the state of the team spells it: whoever is not there has no work.
fn member<'a>(facts: &Facts<'a>, word: &str) -> Option<&'a str> {
    let (team, name) = (facts.team, facts.team.ledger.bare(word));
    let roster = || team.members.iter().map(String::as_str);
    let owners = || team.tasks.values().filter_map(|task| team.owner(task));
    let doers = || team.ledger.members.keys().map(String::as_str);
    // The roster's spelling first: who was once spoken to by another is in the ledger by it.
    spelled(name, roster).or_else(|| spelled(name, owners)).or_else(|| spelled(name, doers))
}
