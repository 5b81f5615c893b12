//! Sessions, the team, its members and their turns.

use std::collections::HashMap;

use serde_json::Value;

use super::entry::{Entry, Source, add_source};
use super::entry_kind::{EntryKind, JoinEntry, SessionEntry, TurnEntry, TurnEvent};
use super::events::LoadedEvent;
use super::run_data::{RunData, spawns};
use super::transcripts::lead;
use crate::archive::{EndedBy, SessionRole};
use crate::event::{ActorKind, LEAD};
use crate::json;
use crate::model::Tool;
use crate::payload::Kind as Event;

/// Starts and ends of sessions.
pub fn sessions(material: &RunData) -> Vec<Entry> {
    let mut entries = Vec::new();
    for event in &material.events {
        let part = |key| SessionEntry {
            cause: event.payload.text(key).map(str::to_owned),
            session: event.session.clone(),
        };
        let kind = match event.kind {
            Event::SessionStart => EntryKind::SessionStarted(part("source")),
            Event::SessionEnd => EntryKind::SessionEnded(part("reason")),
            _ => continue,
        };
        entries.push(Entry::new(&event.at, session_name(material, event), Source::Hook, kind));
    }
    if material.run.ended_by == Some(EndedBy::Crashed)
        && let Some(at) = &material.run.ended_at
    {
        let end =
            SessionEntry { cause: Some("crashed".to_owned()), session: material.run.lead_session.clone() };
        let kind = EntryKind::SessionEnded(end);
        entries.push(Entry::new(at, lead(&material.run), Source::Snapshot, kind));
    }
    entries
}

/// The agent of a session.
fn session_name(material: &RunData, event: &LoadedEvent) -> String {
    let part = material.run.sessions.iter().find(|session| Some(&session.id) == event.session.as_ref());
    match part {
        Some(part) if part.role == SessionRole::Pane => {
            part.name.clone().unwrap_or_else(|| "unknown".to_owned())
        }
        Some(_) => lead(&material.run).to_owned(),
        None => event.shown(&material.run).to_owned(),
    }
}

/// The team's directory, and members that joined and left.
pub fn team(material: &RunData) -> Vec<Entry> {
    let mut entries = Vec::new();
    let history = &material.history;
    let mut created = false;
    for (at, there) in &history.presence {
        if *there && !created {
            created = true;
            let by = if material.run.lead_session.is_some() { LEAD } else { "unknown" };
            let kind = EntryKind::TeamCreated { name: material.run.name().map(str::to_owned) };
            entries.push(Entry::new(at, by, Source::Snapshot, kind));
        } else if !there {
            let kind =
                EntryKind::TeamErased { ended_by: material.run.ended_by.map(|by| json::serde_name(&by)) };
            entries.push(Entry::new(at, eraser(material, at), Source::Snapshot, kind));
        }
    }
    entries.extend(members(material));
    entries
}

/// The agent that removed the team: the caller of TeamDelete, else Claude Code.
fn eraser(material: &RunData, at: &str) -> String {
    let calls = material.tool_calls(Tool::TeamDelete);
    let call = calls.iter().find(|call| call.first().is_some_and(|first| first.at.as_str() <= at));
    let used = call.and_then(|call| material.transcripts.uses.get(call.id?));
    let by = call.and_then(|call| call.who()).or(used.map(|used| used.by.as_str()));
    by.filter(|_| material.run.ended_by == Some(EndedBy::TeamDelete)).unwrap_or("client").to_owned()
}

/// Members that joined and left: from the rosters, and from spawns that no roster shows.
fn members(material: &RunData) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut here: Vec<&str> = Vec::new();
    for (at, roster) in &material.history.rosters {
        for member in roster.members.iter().filter(|member| !here.contains(&member.name.as_str())) {
            let joined = JoinEntry {
                description: None,
                prompt: member.prompt.clone(),
                agent: member.agent_id.clone(),
            };
            entries.push(Entry::new(at, &member.name, Source::Snapshot, EntryKind::MemberJoined(joined)));
        }
        let there: Vec<&str> = roster.members.iter().map(|member| member.name.as_str()).collect();
        for name in here.iter().filter(|name| !there.contains(name)) {
            entries.push(Entry::new(at, *name, Source::Snapshot, EntryKind::MemberLeft));
        }
        here = there;
    }
    for (event, spawn) in spawns(&material.events) {
        let input = event.payload.tool_input();
        let text = |key: &str| input.get(key).and_then(Value::as_str).map(str::to_owned);
        // The first roster entry that no spawn explains yet.
        let joined = entries.iter_mut().find_map(|Entry { actor, sources, kind, .. }| match kind {
            EntryKind::MemberJoined(joined) if *actor == spawn.name && !sources.contains(&Source::Hook) => {
                Some((sources, joined))
            }
            _ => None,
        });
        if let Some((sources, joined)) = joined {
            add_source(sources, Source::Hook);
            joined.description = text("description").or(joined.description.take());
            joined.prompt = joined.prompt.take().or_else(|| text("prompt"));
        } else {
            let joined = JoinEntry { description: text("description"), prompt: text("prompt"), agent: None };
            let kind = EntryKind::MemberJoined(joined);
            entries.push(Entry::new(&event.at, &spawn.name, Source::Hook, kind));
        }
    }
    entries
}

/// Turns of the lead, teammates and subagents, and the idle times between them. Claude Code's internal agents have no
/// turns.
pub fn turns(material: &RunData) -> Vec<Entry> {
    let mut entries = Vec::new();
    let launches = launches(material);
    for event in &material.events {
        let (turn, text) = match event.kind {
            Event::SubagentStart => (TurnEvent::Started, None),
            Event::UserPromptSubmit => (TurnEvent::Started, event.payload.text("prompt")),
            Event::SubagentStop | Event::Stop | Event::StopFailure => {
                (TurnEvent::Ended, event.payload.text("last_assistant_message"))
            }
            Event::TeammateIdle => (TurnEvent::Idle, None),
            _ => continue,
        };
        if event.actor.kind == ActorKind::Helper {
            continue;
        }
        // A session's own turns are identified by the session.
        let session = || event.session.clone().filter(|_| is_session_s(event.kind));
        let by_subagent = event.actor.kind == ActorKind::Subagent;
        let launched = event.actor.id.as_deref().and_then(|id| launches.get(id));
        let launched = launched.filter(|_| turn == TurnEvent::Started && by_subagent);
        let kind = EntryKind::Turn(TurnEntry {
            event: turn,
            description: launched.map(|description| (*description).to_owned()),
            text: text.map(str::to_owned),
            agent: event.actor.id.clone().or_else(session),
            by_subagent,
        });
        entries.push(Entry::new(&event.at, event.shown(&material.run), Source::Hook, kind));
    }
    entries
}

/// Whether only a session's own agent has such an event: the lead, or a teammate in a pane.
fn is_session_s(kind: Event) -> bool {
    matches!(kind, Event::UserPromptSubmit | Event::Stop | Event::StopFailure)
}

/// The description of each plain subagent, by agent id.
fn launches(material: &RunData) -> HashMap<&str, &str> {
    let launched = material
        .events
        .iter()
        .filter(|event| event.kind == Event::PostToolUse && event.payload.tool() == Some(Tool::Agent));
    let described = launched.filter_map(|event| {
        let id = event.payload.tool_response().get("agentId")?.as_str()?;
        Some((id, event.payload.tool_input().get("description")?.as_str()?))
    });
    described.collect()
}
