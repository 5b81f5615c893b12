//! Reads the events of runs from their logs.

use chrono::TimeDelta;
use std::collections::{HashMap, HashSet};
use std::io;

use super::loaded_event::{CallLine, EventLoader, LoadedEvent, SkippedLines};
use crate::reader::{Claims, ReadErrors, read_parallel};
use teamkeep_model::Tool;
use teamkeep_model::event::{Actor, ActorKind, Recorded};
use teamkeep_model::payload::EventKind;
use teamkeep_model::time::Timestamp;
use teamkeep_store::archive::{Journal, RunRecord, SessionRole};
use teamkeep_store::log::{self, EventLog, LogOwner, Logs, Segment};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DetailLevel {
    Whole,
    /// Those that the timeline needs. In a large log most other tool calls are skipped.
    Timeline,
}

/// A smaller log is parsed completely, in bytes.
const LARGE_BYTES: u64 = 32 << 20;

/// Reads the logs of the wanted runs and of their sessions once, and returns the events of each of these runs, by time. `all` are all
/// recorded runs: an event from before its session had a run belongs to the session's first run.
pub fn by_run(
    logs: &Logs,
    all: &[RunRecord],
    wanted: impl Fn(&str) -> bool + Sync,
    depth: DetailLevel,
) -> io::Result<(HashMap<String, Vec<LoadedEvent>>, ReadErrors)> {
    let claims = Claims::new(all);
    let (segments, mut problems) = segments(logs, all.iter().filter(|run| wanted(&run.run)));
    let size: u64 = segments.iter().map(Segment::plain_size).sum();
    let takes_all = depth == DetailLevel::Whole || size < LARGE_BYTES;
    // The first event of a run shows whether its start was recorded.
    let starts = all.iter().filter(|run| wanted(&run.run)).map(|run| run.started_at);
    let skipped = SkippedLines::except_at(starts);
    let loader = EventLoader::default();
    let places: HashMap<&str, usize> =
        all.iter().enumerate().map(|(place, run)| (run.run.as_str(), place)).collect();
    let is_wanted = |run: Option<&str>| run.is_none_or(&wanted);
    // In the log of a run, each event is of that run, also if it was recorded before.
    let run_of = |segment: &Segment, run: Option<&str>, session: Option<&str>, at| match &segment.log {
        LogOwner::Run(run) => places.get(run.as_str()).copied(),
        LogOwner::Session(_) => {
            let claimed = claims.run_of(run, session, at).filter(|run| wanted(run))?;
            places.get(claimed.as_str()).copied()
        }
    };
    let load = |segment: &Segment, line: &[u8]| {
        if !takes_all && skipped.contain(line) {
            return Ok(None);
        }
        if let Some(call) = CallLine::read(line) {
            let (run, at) = (call.run.as_deref(), call.at);
            return Ok(is_wanted(run)
                .then(|| (run_of(segment, run, call.session.as_deref(), at), loader.load_call(&call))));
        }
        let recorded = log::parse_record(line)?.filter(|recorded| is_wanted(recorded.run.as_deref()));
        Ok(recorded.map(|recorded| {
            let Recorded { run, session, at, .. } = &recorded;
            let run = run_of(segment, run.as_deref(), session.as_deref(), *at);
            (run, loader.load(recorded))
        }))
    };
    let mut events: HashMap<usize, Vec<(Timestamp, LoadedEvent)>> = HashMap::new();
    let mut reached = (None, Timestamp::MIN);
    problems.merge(read_parallel(&segments, load, |segment, (run, event)| {
        let segment = &segments[segment];
        if reached.0 != Some(&segment.log) || segment.name.is_single() {
            reached = (Some(&segment.log), Timestamp::MIN);
        }
        reached.1 = reached.1.max(event.at);
        if let Some(run) = run {
            events.entry(run).or_default().push((reached.1, event));
        }
    })?);
    let of_run = |(place, mut events): (usize, Vec<(Timestamp, LoadedEvent)>)| {
        let run = all.get(place)?;
        // The lines of each log stay in their order, whatever the clock did.
        events.sort_by_key(|(reached, _)| *reached);
        let mut events: Vec<LoadedEvent> = events.into_iter().map(|(_, event)| event).collect();
        (0..).zip(events.iter_mut()).for_each(|(place, event)| event.place = place);
        events.sort_unstable_by_key(|one| (one.at, one.place));
        name_panes(&mut events, run);
        EarlierLife::new(run.started_at).retain(&mut events);
        Some((run.run.clone(), events))
    };
    Ok((events.into_iter().filter_map(of_run).collect(), problems))
}

/// The segments with lines of these runs, those of each log together.
pub(super) fn segments<'a>(
    logs: &Logs,
    runs: impl Iterator<Item = &'a RunRecord>,
) -> (Vec<Segment>, ReadErrors) {
    let (mut segments, mut problems) = (Vec::new(), ReadErrors::default());
    let mut known = HashSet::new();
    for log in runs.flat_map(|run| logs_of(logs, run)) {
        if known.insert(log.owner.clone()) {
            match log.segments() {
                Ok(all) => segments.extend(all),
                Err(error) => problems.add(log.dir(), None, error.to_string()),
            }
        }
    }
    (segments, problems)
}

/// The logs with lines of a run. The sessions of an imported run are those of another machine.
pub(super) fn logs_of(logs: &Logs, run: &RunRecord) -> Vec<EventLog> {
    let sessions = run.sessions.iter().filter(|_| run.imported.is_none());
    logs.with_sessions(&run.run, sessions.map(|session| session.id.as_str()))
}

/// Gives the first events of a split pane to its teammate. A pane's session starts without a team and may act before its
/// first hook call with a tool, which names the teammate; until then it is recorded as a lead.
fn name_panes(events: &mut [LoadedEvent], run: &RunRecord) {
    let panes = run.sessions.iter().filter(|session| session.role == SessionRole::Pane);
    let names: HashMap<&str, &String> =
        panes.filter_map(|session| Some((session.id.as_str(), session.name.as_ref()?))).collect();
    for event in events.iter_mut().filter(|event| !event.in_run && event.actor().kind == ActorKind::Lead) {
        if let Some(name) = event.session().and_then(|id| names.get(id)) {
            event.set_actor(Actor { name: Some((*name).clone()), id: None, kind: ActorKind::Teammate });
        }
    }
}

/// Selects events: of those from before the run only the starts of sessions, the prompt that led to the run, the tasks that were
/// created since, and the launches of subagents. First note all of them.
#[derive(Debug)]
pub(super) struct EarlierLife {
    started_at: Timestamp,
    prompt: Option<(Timestamp, String)>,
}

pub(super) struct EventKey<'a> {
    at: Timestamp,
    id: &'a str,
    in_run: bool,
    kind: EventKind,
    actor: ActorKind,
}

impl EarlierLife {
    /// The time before a run that started at `started_at`.
    pub(super) fn new(started_at: Timestamp) -> EarlierLife {
        EarlierLife { started_at, prompt: None }
    }

    /// Notes an event. Of two prompts of the same time, the one that is noted later counts.
    pub(super) fn note(&mut self, event: &EventKey<'_>) {
        let is_prompt = event.kind == EventKind::UserPromptSubmit && event.actor == ActorKind::Lead;
        if is_prompt && self.has(event) && self.prompt.as_ref().is_none_or(|(at, _)| *at <= event.at) {
            self.prompt = Some((event.at, event.id.to_owned()));
        }
    }

    /// Whether the timeline has this event. `tool` reads its tool.
    pub(super) fn selects(&self, event: &EventKey<'_>, tool: impl FnOnce() -> Option<Tool>) -> bool {
        !self.has(event)
            || event.kind == EventKind::SessionStart
            || self.prompt.as_ref().is_some_and(|(at, id)| {
                id == event.id || (event.kind == EventKind::TaskCreated && *at <= event.at)
            })
            || (event.kind == EventKind::PostToolUse && tool() == Some(Tool::Agent))
    }

    fn has(&self, event: &EventKey<'_>) -> bool {
        !event.in_run && event.at < self.started_at
    }

    pub(super) fn retain(mut self, events: &mut Vec<LoadedEvent>) {
        events.iter().for_each(|event| self.note(&EventKey::of(event)));
        events.retain(|event| self.selects(&EventKey::of(event), || event.tool()));
    }
}

impl<'a> EventKey<'a> {
    fn of(event: &'a LoadedEvent) -> EventKey<'a> {
        let LoadedEvent { at, in_run, kind, .. } = event;
        EventKey { at: *at, id: event.id(), in_run: *in_run, kind: *kind, actor: event.actor().kind }
    }

    pub(super) fn of_line(recorded: &'a Recorded) -> EventKey<'a> {
        EventKey {
            at: recorded.at,
            id: &recorded.id,
            in_run: recorded.run.is_some(),
            kind: EventKind::named(&recorded.event),
            actor: recorded.actor.kind,
        }
    }
}

/// How far calls of the same time can be out of order in the log: a call before a TeamDelete reads for so long.
const LOG_SLACK: TimeDelta = TimeDelta::seconds(10);
/// How far a line of the journal, whose times never decrease, can be after its event.
const JOURNAL_SLACK: TimeDelta = TimeDelta::seconds(1);

/// A moment at which the clock was set back. The times from there on are moved forward, so that they follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockJump {
    /// The first time by the clock that was set back.
    pub recorded: Timestamp,
    /// The same moment as it is shown: right after the latest time before.
    pub shown: Timestamp,
}

/// Keeps the order of the log if the clock was set back, and returns where it was. The journal has the times of its events.
pub(super) fn correct_clock(events: &mut [LoadedEvent], journal: &mut Journal) -> Vec<ClockJump> {
    let lines: HashMap<&str, Timestamp> =
        journal.snapshots.iter().map(|line| (line.event.as_str(), line.at)).collect();
    events.sort_unstable_by_key(|event| event.place);
    let (mut reached, mut shift, mut jumps) = (Timestamp::MIN, TimeDelta::zero(), Vec::new());
    // A verdict has the time of its event, and is written when a check has ended.
    let recorded: Vec<Timestamp> =
        events.iter().filter(|event| event.verdict.is_none()).map(|event| event.at).collect();
    let mut following = recorded.iter().skip(1);
    for event in events.iter_mut() {
        let recorded = event.at;
        if event.verdict.is_some() {
            event.at = recorded + shift;
            continue;
        }
        let next = following.next();
        if recorded >= reached {
            // The clock is right again.
            shift = TimeDelta::zero();
        }
        let mut at = recorded + shift;
        let line = lines.get(event.id()).copied().unwrap_or(at);
        // A single call can be late. After the clock was set back, those that follow are behind, too.
        let is_behind = line > at && line - at > JOURNAL_SLACK && next.is_none_or(|next| *next < reached);
        if at < reached && (is_behind || reached - at > LOG_SLACK) {
            at = reached + TimeDelta::milliseconds(1);
            shift = at - recorded;
            jumps.push(ClockJump { recorded, shown: at });
        }
        reached = reached.max(at);
        event.at = at;
    }
    if !jumps.is_empty() {
        let times: HashMap<&str, Timestamp> = events.iter().map(|event| (event.id(), event.at)).collect();
        let mut reached = Timestamp::MIN;
        for snapshot in &mut journal.snapshots {
            reached = reached.max(times.get(snapshot.event.as_str()).copied().unwrap_or(snapshot.at));
            snapshot.at = reached;
        }
    }
    events.sort_unstable_by_key(|one| (one.at, one.place));
    jumps
}

#[cfg(test)]
mod tests;
