//! Sessions, the team, its members, their turns, and the verdicts about them.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::LoadedEvent;
use super::entry::{
    Entry, EntryKind, JoinEntry, SessionEntry, Source, StopEntry, TurnEntry, TurnEvent, VerdictEntry,
    add_source,
};
use super::run_data::{CallEvents, RunData, spawns};
use teamkeep_model::event::{ActorKind, LEAD};
use teamkeep_model::payload::EventKind as Event;
use teamkeep_model::time::Timestamp;
use teamkeep_model::{Tool, json};
use teamkeep_policy::{Decision, JudgedEvent, Ledger, RecordedVerdict, TeammateRef, stopped};
use teamkeep_store::archive::{EndedBy, SessionRole};

pub(super) fn sessions(data: &RunData) -> Vec<Entry> {
    let mut entries = Vec::new();
    for event in &data.events {
        let part = |key| SessionEntry {
            cause: event.text(key).map(str::to_owned),
            session: event.session().map(str::to_owned),
        };
        let kind = match event.kind {
            Event::SessionStart => EntryKind::SessionStarted(part("source")),
            Event::SessionEnd => EntryKind::SessionEnded(part("reason")),
            _ => continue,
        };
        entries.push(Entry::new(event.at, session_name(data, event), Source::Hook, kind));
    }
    if data.run.ended_by == Some(EndedBy::Crashed)
        && let Some(at) = data.run.ended_at
    {
        let (cause, session) = (Some("crashed".to_owned()), data.run.lead_session.clone());
        let kind = EntryKind::SessionEnded(SessionEntry { cause, session });
        entries.push(Entry::new(at, data.lead(), Source::Snapshot, kind));
    }
    entries
}

/// The session's own agent.
pub(super) fn session_name(data: &RunData, event: &LoadedEvent) -> String {
    let part = data.run.sessions.iter().find(|session| Some(session.id.as_str()) == event.session());
    match part {
        Some(part) if part.role == SessionRole::Pane => {
            part.name.clone().unwrap_or_else(|| "unknown".to_owned())
        }
        Some(_) => data.lead().to_owned(),
        None => event.shown(&data.run).to_owned(),
    }
}

pub(super) fn team(data: &RunData) -> Vec<Entry> {
    let mut entries = Vec::new();
    let snapshots = &data.snapshots;
    let mut created = false;
    for (at, there) in &snapshots.presence {
        if *there && !created {
            created = true;
            let by = if data.run.lead_session.is_some() { LEAD } else { "unknown" };
            let kind = EntryKind::TeamCreated { name: data.run.name().map(str::to_owned) };
            entries.push(Entry::new(*at, by, Source::Snapshot, kind));
        } else if !there {
            let kind = EntryKind::TeamErased { ended_by: data.run.ended_by.map(|by| json::serde_name(&by)) };
            entries.push(Entry::new(*at, eraser(data, *at), Source::Snapshot, kind));
        }
    }
    entries.extend(members(data));
    entries
}

/// The agent that removed the team: the caller of TeamDelete, else Claude Code.
fn eraser(data: &RunData, at: Timestamp) -> String {
    let calls = data.tool_calls(Tool::TeamDelete);
    let call = calls.iter().find(|call| call.first().is_some_and(|first| first.at <= at));
    let used = call.and_then(|call| data.transcripts.uses.get(call.id?));
    let by = call.and_then(|call| call.who()).or(used.map(|used| used.transcript.by.as_str()));
    by.filter(|_| data.run.ended_by == Some(EndedBy::TeamDelete)).unwrap_or("client").to_owned()
}

/// A TaskStop that ended an agent.
struct Stop<'a> {
    /// When the call began. The roster can change before it returns.
    from: Timestamp,
    to: Timestamp,
    by: &'a str,
    agent: StopEntry,
}

fn stops(data: &RunData) -> Vec<Stop<'_>> {
    let mut found = Vec::new();
    let calls = data.tool_calls(Tool::TaskStop);
    let done: HashMap<&str, &CallEvents<'_>> =
        calls.iter().filter_map(|call| Some((call.after?.id(), call))).collect();
    if done.is_empty() {
        return found;
    }
    // The gates' fold knows which agent the id of a background task belongs to.
    let mut ledger = Ledger::default();
    for event in &data.events {
        if let Some(call) = done.get(event.id())
            && event.tool_response().get("success").and_then(Value::as_bool) != Some(false)
            && let Some(agent) = stopped(event.tool_input()).and_then(|id| stopped_agent(data, &ledger, id))
        {
            let used = call.id.and_then(|id| data.transcripts.uses.get(id));
            let by = call.who().or(used.map(|used| used.transcript.by.as_str())).unwrap_or("unknown");
            let from = call.first().map_or(event.at, |first| first.at);
            found.push(Stop { from, to: event.at, by, agent });
        }
        let (at, kind, actor, payload) = (event.at, event.kind, event.actor(), event.payload());
        ledger.observe(&JudgedEvent { at, kind, actor, payload, access: None });
    }
    found
}

/// The agent that a TaskStop names by its name, its id or the id of its background task; `None` for a shell.
fn stopped_agent(data: &RunData, ledger: &Ledger, id: &str) -> Option<StopEntry> {
    let name = ledger.member(id);
    let of_task = || match ledger.unnamed(id)? {
        TeammateRef::Among([name]) => Some(name.as_str()),
        _ => None,
    };
    let teammate = Some(name).filter(|name| ledger.members.contains_key(*name) || data.is_member(name));
    if let Some(name) = teammate.or_else(of_task) {
        return Some(StopEntry { name: name.to_owned(), agent: None, beside_another: false });
    }
    let is_it = |event: &&LoadedEvent| {
        event.actor().kind == ActorKind::Subagent && event.actor().id.as_deref() == Some(id)
    };
    let name = data.events.iter().find(is_it)?.who()?;
    Some(StopEntry { name: name.to_owned(), agent: Some(id.to_owned()), beside_another: false })
}

/// Members that joined and left: from the rosters, from spawns that no roster shows, and from TaskStop.
fn members(data: &RunData) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut stops = stops(data);
    let mut here: Vec<(&str, Timestamp)> = Vec::new();
    for (at, roster) in &data.snapshots.rosters {
        let is_new = |name: &str| !here.iter().any(|(known, _)| *known == name);
        for member in roster.members.iter().filter(|member| is_new(&member.name)) {
            let joined = JoinEntry {
                description: None,
                prompt: member.prompt.clone(),
                agent: member.agent_id.clone(),
            };
            entries.push(Entry::new(*at, &member.name, Source::Snapshot, EntryKind::MemberJoined(joined)));
        }
        let joined = |name: &str| here.iter().find(|(known, _)| *known == name).map_or(*at, |(_, at)| *at);
        let there: Vec<(&str, Timestamp)> =
            roster.members.iter().map(|member| (member.name.as_str(), joined(&member.name))).collect();
        for (name, joined) in here.iter().filter(|(name, _)| !there.iter().any(|(other, _)| other == name)) {
            let is_cause =
                |stop: &&mut Stop<'_>| stop.agent.name == *name && (*joined..=*at).contains(&stop.from);
            match stops.iter_mut().rfind(is_cause) {
                Some(stop) => stop.to = stop.to.min(*at),
                None => entries.push(Entry::new(*at, *name, Source::Snapshot, EntryKind::MemberLeft)),
            }
        }
        here = there;
    }
    for Stop { to, by, mut agent, .. } in stops {
        let id = agent.agent.as_deref();
        agent.beside_another = id.is_some() && data.shared_names.has_other(&agent.name, id, to);
        entries.push(Entry::new(to, by, Source::Hook, EntryKind::AgentStopped(agent)));
    }
    for (event, spawn) in spawns(&data.events) {
        let input = event.tool_input();
        let text = |key: &str| input.get(key).and_then(Value::as_str).map(str::to_owned);
        // The first roster entry that no spawn explains yet.
        let roster_entry = entries.iter_mut().find_map(|Entry { actor, sources, kind, .. }| match kind {
            EntryKind::MemberJoined(joined) if *actor == spawn.name && !sources.contains(&Source::Hook) => {
                Some((sources, joined))
            }
            _ => None,
        });
        if let Some((sources, joined)) = roster_entry {
            add_source(sources, Source::Hook);
            joined.description = text("description").or(joined.description.take());
            joined.prompt = joined.prompt.take().or_else(|| text("prompt"));
        } else {
            let joined = JoinEntry { description: text("description"), prompt: text("prompt"), agent: None };
            let kind = EntryKind::MemberJoined(joined);
            entries.push(Entry::new(event.at, &spawn.name, Source::Hook, kind));
        }
    }
    entries
}

/// Turns of the lead, teammates and subagents, and the idle times between them. Claude Code's internal agents have no
/// turns.
pub(super) fn turns(data: &RunData) -> Vec<Entry> {
    let mut entries = Vec::new();
    let launches = launches(data);
    // The agent of each name whose turn ended last. TeammateIdle follows, without an id.
    let mut ended: HashMap<&str, &str> = HashMap::new();
    for event in &data.events {
        let text = |key| event.text(key).map(str::to_owned);
        let (turn, text) = match event.kind {
            Event::SubagentStart => (TurnEvent::Started, None),
            Event::UserPromptSubmit => (TurnEvent::Started, text("prompt")),
            Event::SubagentStop | Event::Stop => (TurnEvent::Ended, text("last_assistant_message")),
            Event::StopFailure => (TurnEvent::Failed, failure(event)),
            Event::TeammateIdle => (TurnEvent::Idle, None),
            _ => continue,
        };
        if event.actor().kind == ActorKind::Helper {
            continue;
        }
        // Only a session's own agent has such an event: the lead, or a teammate in a pane. The session identifies it.
        let is_own = matches!(event.kind, Event::UserPromptSubmit | Event::Stop | Event::StopFailure);
        let session = || event.session().map(str::to_owned).filter(|_| is_own);
        let by_subagent = event.actor().kind == ActorKind::Subagent;
        let (name, id) = (event.shown(&data.run), event.actor().id.as_deref());
        ended
            .extend(id.filter(|_| matches!(turn, TurnEvent::Ended | TurnEvent::Failed)).map(|id| (name, id)));
        let of = id.or_else(|| ended.get(name).copied());
        let launched = event.actor().id.as_deref().and_then(|id| launches.get(id));
        let launched = launched.filter(|_| turn == TurnEvent::Started && by_subagent);
        let error = || event.text("error").map(str::to_owned).filter(|_| turn == TurnEvent::Failed);
        let kind = EntryKind::Turn(TurnEntry {
            event: turn,
            description: launched.map(|description| (*description).to_owned()).or_else(error),
            text,
            agent: event.actor().id.clone().or_else(session),
            by_subagent,
            shares_name: !by_subagent && data.shared_names.contains(name),
            beside_another: data.shared_names.has_other(name, of, event.at),
        });
        entries.push(Entry::new(event.at, name, Source::Hook, kind));
    }
    entries
}

/// Claude Code's message about a failed turn, with the details if it has others.
fn failure(event: &LoadedEvent) -> Option<String> {
    let text = |key| event.text(key).filter(|text| !text.is_empty());
    match (text("last_assistant_message"), text("error_details")) {
        (Some(message), Some(details)) if !message.contains(details) => {
            Some(format!("{message} ({details})"))
        }
        (message, details) => message.or(details).map(str::to_owned),
    }
}

fn launches(data: &RunData) -> HashMap<&str, &str> {
    let spawned = data.events.iter().filter(|event| event.kind == Event::PostToolUse);
    let described = spawned.filter(|event| event.tool() == Some(Tool::Agent)).filter_map(|event| {
        let id = event.tool_response().get("agentId")?.as_str()?;
        Some((id, event.tool_input().get("description")?.as_str()?))
    });
    described.collect()
}

pub(super) fn verdicts(data: &RunData) -> Vec<Entry> {
    let recorded: Vec<(&LoadedEvent, &RecordedVerdict)> =
        data.events.iter().filter_map(|event| Some((event, event.verdict.as_deref()?))).collect();
    // Before 2.1.69 only the transcripts show the caller of a tool.
    let uses = &data.transcripts.uses;
    let judged: HashSet<&str> = recorded.iter().map(|(_, verdict)| verdict.of.as_str()).collect();
    let judged_events = data.events.iter().filter(|event| judged.contains(event.id()));
    let calls: HashMap<&str, &str> =
        judged_events.filter_map(|event| Some((event.id(), event.tool_use_id()?))).collect();
    let done = data.events.iter().filter(|event| event.kind == Event::PostToolUse);
    let judged_calls: HashSet<&str> = calls.values().copied().collect();
    let done: HashSet<&str> =
        done.filter_map(LoadedEvent::tool_use_id).filter(|call| judged_calls.contains(call)).collect();
    let to_entry = |(event, RecordedVerdict { of, verdict }): &(&LoadedEvent, &RecordedVerdict)| {
        let caller = || Some(uses.get(*calls.get(of.as_str())?)?.transcript.by.as_str());
        let actor = event.who().is_none().then(caller).flatten();
        let actor = actor.unwrap_or_else(|| event.shown(&data.run));
        let entry = VerdictEntry {
            decision: verdict.decision,
            gate: verdict.source(),
            text: verdict.text(),
            reason: verdict.reason.clone(),
            agent: event.actor().id.clone(),
            judged_event: of.clone(),
            blocks: verdict.blocks.map(|blocks| blocks as usize),
            paused: verdict.paused,
            repeated: verdict.repeated,
            ignored: verdict.decision == Decision::Block
                && calls.get(of.as_str()).is_some_and(|call| done.contains(call)),
        };
        Entry::new(event.at, actor, Source::Hook, EntryKind::Verdict(entry))
    };
    recorded.iter().map(to_entry).collect()
}
