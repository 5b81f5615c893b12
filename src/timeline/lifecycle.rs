//! Sessions, the team, its members and their turns.

use std::collections::HashMap;

use serde_json::Value;

use super::entry::{Entry, Kind, Source};
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
    let mut told = Vec::new();
    for event in &material.events {
        let (kind, key) = match event.kind {
            Event::SessionStart => (Kind::SessionStarted, "source"),
            Event::SessionEnd => (Kind::SessionEnded, "reason"),
            _ => continue,
        };
        let mut entry = Entry::new(&event.at, kind, session_name(material, event), Source::Hook);
        entry.summary = event.payload.text(key).map(str::to_owned);
        entry.agent.clone_from(&event.session);
        told.push(entry);
    }
    if material.run.ended_by == Some(EndedBy::Crashed)
        && let Some(at) = &material.run.ended_at
    {
        let mut entry = Entry::new(at, Kind::SessionEnded, lead(&material.run), Source::Snapshot);
        entry.summary = Some("crashed".to_owned());
        entry.agent.clone_from(&material.run.lead_session);
        told.push(entry);
    }
    told
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
    let mut told = Vec::new();
    let history = &material.history;
    let mut created = false;
    for (at, there) in &history.presence {
        if *there && !created {
            created = true;
            let by = if material.run.lead_session.is_some() { LEAD } else { "unknown" };
            let mut entry = Entry::new(at, Kind::TeamCreated, by, Source::Snapshot);
            entry.summary = material.run.name().map(str::to_owned);
            told.push(entry);
        } else if !there {
            let mut entry = Entry::new(at, Kind::TeamErased, "client", Source::Snapshot);
            entry.actor = eraser(material, at);
            entry.summary = material.run.ended_by.map(|by| json::serde_name(&by));
            told.push(entry);
        }
    }
    told.extend(members(material));
    told
}

/// The agent that removed the team: the caller of TeamDelete, else Claude Code.
fn eraser(material: &RunData, at: &str) -> String {
    let calls = material.tool_calls(Tool::TeamDelete);
    let call = calls.iter().find(|call| call.first().is_some_and(|first| first.at.as_str() <= at));
    let used = call.and_then(|call| material.voices.uses.get(call.id?));
    let by = call.and_then(|call| call.who()).or(used.map(|used| used.by.as_str()));
    by.filter(|_| material.run.ended_by == Some(EndedBy::TeamDelete)).unwrap_or("client").to_owned()
}

/// Members that joined and left: from the rosters, and from spawns that no roster shows.
fn members(material: &RunData) -> Vec<Entry> {
    let mut told: Vec<Entry> = Vec::new();
    let mut here: Vec<&str> = Vec::new();
    for (at, roster) in &material.history.rosters {
        for member in roster.members.iter().filter(|member| !here.contains(&member.name.as_str())) {
            let mut entry = Entry::new(at, Kind::MemberJoined, &member.name, Source::Snapshot);
            entry.text.clone_from(&member.prompt);
            entry.agent.clone_from(&member.agent_id);
            told.push(entry);
        }
        let there: Vec<&str> = roster.members.iter().map(|member| member.name.as_str()).collect();
        for name in here.iter().filter(|name| !there.contains(name)) {
            told.push(Entry::new(at, Kind::MemberLeft, *name, Source::Snapshot));
        }
        here = there;
    }
    for (event, spawn) in spawns(&material.events) {
        let joined =
            told.iter_mut().filter(|entry| entry.kind == Kind::MemberJoined && entry.actor == spawn.name);
        let input = event.payload.tool_input();
        let text = |key: &str| input.get(key).and_then(Value::as_str).map(str::to_owned);
        let entry = match joined.min_by_key(|entry| entry.sources.contains(&Source::Hook)) {
            Some(entry) if !entry.sources.contains(&Source::Hook) => entry,
            _ => {
                told.push(Entry::new(&event.at, Kind::MemberJoined, &spawn.name, Source::Hook));
                let Some(entry) = told.last_mut() else { continue };
                entry
            }
        };
        entry.seen_in(Source::Hook);
        entry.summary = text("description").or(entry.summary.take());
        entry.text = entry.text.take().or_else(|| text("prompt"));
    }
    told
}

/// Turns of the lead, teammates and subagents, and the idle times between them. Claude Code's internal agents have no
/// turns.
pub fn turns(material: &RunData) -> Vec<Entry> {
    let mut told = Vec::new();
    let errands = errands(material);
    for event in &material.events {
        let (kind, text) = match event.kind {
            Event::SubagentStart => (Kind::TurnStarted, None),
            Event::UserPromptSubmit => (Kind::TurnStarted, event.payload.text("prompt")),
            Event::SubagentStop | Event::Stop | Event::StopFailure => {
                (Kind::TurnEnded, event.payload.text("last_assistant_message"))
            }
            Event::TeammateIdle => (Kind::Idle, None),
            _ => continue,
        };
        if event.actor.kind == ActorKind::Helper {
            continue;
        }
        let mut entry = Entry::new(&event.at, kind, event.shown(&material.run), Source::Hook);
        entry.text = text.map(str::to_owned);
        // A session's own turns are identified by the session.
        let session = || event.session.clone().filter(|_| is_session_s(event.kind));
        entry.agent = event.actor.id.clone().or_else(session);
        entry.by_subagent = event.actor.kind == ActorKind::Subagent;
        if kind == Kind::TurnStarted && entry.by_subagent {
            let errand = event.actor.id.as_deref().and_then(|id| errands.get(id));
            entry.summary = errand.map(|errand| (*errand).to_owned());
        }
        told.push(entry);
    }
    told
}

/// Whether only a session's own agent has such an event: the lead, or a teammate in a pane.
fn is_session_s(kind: Event) -> bool {
    matches!(kind, Event::UserPromptSubmit | Event::Stop | Event::StopFailure)
}

/// The task of each plain subagent, by agent id.
fn errands(material: &RunData) -> HashMap<&str, &str> {
    let launched = material
        .events
        .iter()
        .filter(|event| event.kind == Event::PostToolUse && event.payload.tool() == Some(Tool::Agent));
    let errands = launched.filter_map(|event| {
        let id = event.payload.tool_response().get("agentId")?.as_str()?;
        Some((id, event.payload.tool_input().get("description")?.as_str()?))
    });
    errands.collect()
}
