//! The ends of turns that no hook of the agent reports: the user interrupted it, or it failed and no hook is installed for that. And the answers
//! that turns end with.

use super::entry::{Entry, EntryKind, MessageEvent, Source, TurnEntry, TurnEvent, add_source};
use super::lifecycle::session_name;
use super::run_data::{ClockMap, RunData};
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use teamkeep_model::compat::{delivers_answers, number};
use teamkeep_model::payload::EventKind as Event;
use teamkeep_model::team::{IdleReason, Notice, without_team};
use teamkeep_model::time::{self, Timestamp};
use teamkeep_policy::{Activity, LiveState, TaskEvent};
use teamkeep_store::metadata_only;

/// Adds the ends that transcripts and idle notices report, each once, and sorts the entries again.
pub(super) fn add_reported(data: &RunData, when: &ClockMap, entries: &mut Vec<Entry>) {
    let mut found: Vec<TurnEnd> = noticed(data, when, entries);
    for (transcript, at) in &data.transcripts.interruptions {
        if transcript.by == data.lead() || data.is_member(&transcript.by) {
            found.push(TurnEnd {
                at: when.to_local(*at),
                agent: transcript.by.clone(),
                event: TurnEvent::Interrupted,
                text: None,
                source: Source::Transcript,
            });
        }
    }
    if found.is_empty() {
        return;
    }
    let mut ends = Ends::of(entries);
    for end in found {
        ends.add(entries, end);
    }
    entries.sort_by_key(|entry| (entry.at, entry.kind()));
}

/// Adds the end of each turn that no other source reports, at the notification that Claude Code waits for the user.
pub(super) fn add_missing(data: &RunData, entries: &mut Vec<Entry>) {
    let is_prompt =
        |event: &&super::LoadedEvent| event.kind == Event::Notification && event.payload().is_idle_prompt();
    let mut prompts = data.events.iter().filter(is_prompt).peekable();
    if prompts.peek().is_none() {
        return;
    }
    let mut team = LiveState::default();
    let mut missing = Vec::new();
    let mut rest = entries.iter().peekable();
    for event in prompts {
        while let Some(entry) = rest.next_if(|entry| entry.at <= event.at) {
            entry.apply_to(&mut team);
        }
        let agent = session_name(data, event);
        if team.doing(&agent) == Some(Activity::Works) {
            let end = turn_end(event.at, &agent, TurnEvent::Ended, None, Source::Hook);
            end.apply_to(&mut team);
            missing.push(end);
        }
    }
    if !missing.is_empty() {
        entries.extend(missing);
        entries.sort_by_key(|entry| (entry.at, entry.kind()));
    }
}

/// An end of a turn as one source reports it.
struct TurnEnd {
    at: Timestamp,
    agent: String,
    event: TurnEvent,
    text: Option<String>,
    source: Source,
}

/// The ends that idle notices report. A notice has the time of the end. Its entry can have the time of the delivery.
fn noticed(data: &RunData, when: &ClockMap, entries: &[Entry]) -> Vec<TurnEnd> {
    let mut found = Vec::new();
    for entry in entries {
        let Some(message) = entry.message().filter(|message| message.word == "idle_notification") else {
            continue;
        };
        let Some(notice) = Notice::read(&message.text).filter(|_| message.automatic) else { continue };
        let event = match notice.idle_reason {
            Some(IdleReason::Failed) => TurnEvent::Failed,
            Some(IdleReason::Interrupted) => TurnEvent::Interrupted,
            Some(IdleReason::Available) | None => continue,
        };
        let sent = notice.timestamp.as_deref().and_then(time::parse).map(|at| when.to_local(at));
        if entry.actor != data.lead() && !data.is_member(&entry.actor) {
            continue;
        }
        found.push(TurnEnd {
            at: sent.map_or(entry.at, |sent| sent.max(data.run.started_at).min(entry.at)),
            agent: entry.actor.clone(),
            event,
            text: notice.failure.filter(|_| event == TurnEvent::Failed),
            source: entry.sources.first().copied().unwrap_or(Source::Inbox),
        });
    }
    found
}

/// Two reports of one end differ by less, in milliseconds, if no turn starts between them.
const MAX_DELAY: i64 = 60_000;
/// Two reports that differ by less are of one end, even if the start of the next turn was recorded between them: hooks of
/// different events run at the same time.
const AT_ONCE: i64 = 2_000;

/// The places of each agent's starts and ends of turns among the entries.
struct Ends {
    starts: HashMap<String, Vec<i64>>,
    ends: HashMap<String, Vec<usize>>,
}

impl Ends {
    fn of(entries: &[Entry]) -> Ends {
        let (mut starts, mut ends) =
            (HashMap::<String, Vec<i64>>::new(), HashMap::<String, Vec<usize>>::new());
        for (place, entry) in entries.iter().enumerate() {
            match entry.turn().map(|turn| turn.event) {
                Some(TurnEvent::Started) => {
                    starts.entry(entry.actor.clone()).or_default().push(entry.at.millis());
                }
                Some(TurnEvent::Ended | TurnEvent::Failed | TurnEvent::Interrupted) => {
                    ends.entry(entry.actor.clone()).or_default().push(place);
                }
                _ => {}
            }
        }
        Ends { starts, ends }
    }

    /// Merges the report with the nearest one of the same end from another source, or adds an entry. A hook that reports a plain
    /// end at the same time does not know how the turn ended.
    fn add(&mut self, entries: &mut Vec<Entry>, end: TurnEnd) {
        let at = end.at.millis();
        let starts = self.starts.get(&end.agent).map(Vec::as_slice).unwrap_or_default();
        let own = self.ends.entry(end.agent.clone()).or_default();
        let gap = |place: &usize| (entries[*place].at.millis() - at).abs();
        let is_same = |place: &usize| {
            let entry = &entries[*place];
            let Some(turn) = entry.turn() else { return false };
            let (from, to) = (at.min(entry.at.millis()), at.max(entry.at.millis()));
            let has_start = || starts.iter().any(|start| from < *start && *start <= to);
            match turn.event {
                _ if has_report(entry, &end) => false,
                TurnEvent::Ended => gap(place) <= AT_ONCE && !has_start(),
                event => {
                    event == end.event && (gap(place) <= AT_ONCE || gap(place) <= MAX_DELAY && !has_start())
                }
            }
        };
        let rank =
            |place: &usize| (entries[*place].turn().is_some_and(|turn| turn.event != end.event), gap(place));
        let same = own.iter().copied().filter(is_same).min_by_key(rank);
        let Some(place) = same else {
            own.push(entries.len());
            return entries.push(turn_end(end.at, &end.agent, end.event, end.text, end.source));
        };
        let entry = &mut entries[place];
        add_source(&mut entry.sources, end.source);
        if let EntryKind::Turn(turn) = &mut entry.kind {
            let is_upgrade = turn.event != end.event;
            turn.event = end.event;
            // The notice has the message that Claude Code shows; a hook may have only the details.
            match end.text {
                Some(text) if is_upgrade || turn.text.is_none() => turn.text = Some(text),
                Some(text) if turn.text.as_ref().is_some_and(|known| !known.contains(&text)) => {
                    turn.text = turn.text.take().map(|known| format!("{text} ({known})"));
                }
                _ => {}
            }
        }
    }
}

/// Whether the entry already has another report of this kind. Each copy of a notice is one report.
fn has_report(entry: &Entry, end: &TurnEnd) -> bool {
    let is_notice = |source: &Source| matches!(source, Source::Inbox | Source::Transcript);
    match end.event {
        TurnEvent::Failed => entry.sources.iter().any(is_notice),
        _ => entry.sources.contains(&end.source),
    }
}

fn turn_end(at: Timestamp, agent: &str, event: TurnEvent, text: Option<String>, source: Source) -> Entry {
    let turn = TurnEntry {
        event,
        description: None,
        text,
        agent: None,
        by_subagent: false,
        shares_name: false,
        beside_another: false,
    };
    Entry::new(at, agent, source, EntryKind::Turn(turn))
}

// The answers of teammates: the final texts of their turns. From 2.1.251 on Claude Code delivers them to the lead, in idle
// notices. Before, they are only in the agent's transcript, and no other agent knows them.

/// An answer that no agent received.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnsentAnswer {
    /// The end of the turn.
    pub at: Timestamp,
    pub agent: String,
    /// Its length in characters; in metadata-only mode, in bytes.
    pub chars: usize,
    pub text: String,
}

/// Marks the delivered answers that the end of a turn shows as well.
pub(super) fn mark_answers(entries: &mut [Entry]) {
    let is_end = |entry: &&Entry| entry.turn().is_some_and(|turn| turn.event == TurnEvent::Ended);
    let ends = entries.iter().filter(is_end);
    let ends: HashSet<(String, String)> =
        ends.filter_map(|entry| Some((entry.actor.clone(), entry.text()?.trim().to_owned()))).collect();
    for entry in entries {
        if let EntryKind::Message(message) = &mut entry.kind
            && let Some(answer) = &mut message.answer
        {
            answer.is_in_turn = ends.contains(&(entry.actor.clone(), answer.text.trim().to_owned()));
        }
    }
}

/// The answers that no agent has received at the last of these entries. An answer is listed from the end of its turn until
/// the agent sends a message, gets a new instruction, or leaves the team before the team ends.
pub fn unsent_answers(data: &RunData, entries: &[Entry]) -> Vec<UnsentAnswer> {
    if are_delivered(data, entries) {
        return Vec::new();
    }
    let mut agents: HashMap<&str, Reporter> = HashMap::new();
    for entry in entries {
        let actor = entry.actor.as_str();
        match &entry.kind {
            EntryKind::Turn(turn) if turn.event == TurnEvent::Ended && !turn.by_subagent => {
                let text = turn.text.as_deref().unwrap_or_default();
                let agent = agents.entry(actor).or_default();
                if !agent.has_reported && !text.trim().is_empty() && actor != data.lead() {
                    agent.answer = Some(UnsentAnswer {
                        at: entry.at,
                        agent: actor.to_owned(),
                        chars: metadata_only::byte_len(text).unwrap_or_else(|| text.chars().count()),
                        text: text.to_owned(),
                    });
                }
            }
            EntryKind::Message(message) if !message.automatic && message.event != MessageEvent::Refused => {
                let to = without_team(message.to.as_deref().unwrap_or_default());
                for (name, agent) in &mut agents {
                    if *name != actor && (to == "*" || to == *name) {
                        *agent = Reporter::default();
                    }
                }
                agents.insert(actor, Reporter { has_reported: true, answer: None });
            }
            EntryKind::Task(task) if matches!(task.event, TaskEvent::Created | TaskEvent::Changed) => {
                // Its own update, and Claude Code's, is not an instruction.
                let owner = task.owner.as_deref().filter(|owner| *owner != actor && actor != "client");
                if let Some(agent) = owner.and_then(|owner| agents.get_mut(owner)) {
                    *agent = Reporter::default();
                }
            }
            EntryKind::MemberJoined(_) | EntryKind::MemberLeft => drop(agents.remove(actor)),
            EntryKind::AgentStopped(stop) => drop(agents.remove(stop.name.as_str())),
            _ => {}
        }
    }
    let mut unsent: Vec<UnsentAnswer> = agents.into_values().filter_map(|agent| agent.answer).collect();
    unsent.retain(|answer| data.is_member(&answer.agent));
    unsent.sort_by(|a, b| (a.at, &a.agent).cmp(&(b.at, &b.agent)));
    unsent
}

/// The reports of an agent since its last instruction.
#[derive(Debug, Default)]
struct Reporter {
    has_reported: bool,
    answer: Option<UnsentAnswer>,
}

/// Whether Claude Code delivers answers to the lead: a notice shows it, or else its newest version in the run.
fn are_delivered(data: &RunData, entries: &[Entry]) -> bool {
    let newest = data.transcripts.versions.iter().max_by_key(|version| number(version));
    entries.iter().filter_map(Entry::message).any(|message| message.answer.is_some())
        || delivers_answers(newest.map(String::as_str))
}
