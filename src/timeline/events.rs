//! Reads the events of runs from the log.

use chrono::TimeDelta;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::path::Path;

use serde::Deserialize;

use teamkeep_core::client::payload::{Kind, Payload};
use teamkeep_core::model::event::{Actor, ActorKind, Recorded};
use teamkeep_core::model::{Tool, TraceParent};
use teamkeep_core::policy::RecordedVerdict;
use teamkeep_core::store::archive::{Archive, Claims, Journal, RunRecord, SessionRole};
use teamkeep_core::store::log::{self, LineHeader, Parts, ReadErrors};
use teamkeep_core::sys::clock::Timestamp;

#[derive(Debug)]
pub struct LoadedEvent {
    pub at: Timestamp,
    pub place: usize,
    pub id: String,
    /// Whether the hook call belonged to the run; otherwise it was made before its session had a run.
    pub in_run: bool,
    pub kind: Kind,
    pub session: Option<String>,
    /// The task list that `CLAUDE_CODE_TASK_LIST_ID` named.
    pub task_list: Option<String>,
    pub traceparent: Option<TraceParent>,
    pub actor: Actor,
    pub payload: Payload,
    pub verdict: Option<RecordedVerdict>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DetailLevel {
    Whole,
    /// Those that the timeline needs. In a large log most other tool calls are skipped.
    Story,
}

/// A smaller log is parsed completely, in bytes.
const LARGE_BYTES: u64 = 32 << 20;
/// One in this many of the other tool calls is parsed: they relate Claude Code's clock to teamkeep's.
const TIE_INTERVAL: u32 = 256;

fn may_need(header: &LineHeader<'_>) -> bool {
    #[derive(Deserialize)]
    struct Call<'a> {
        #[serde(default, borrow)]
        tool_name: Option<Cow<'a, str>>,
        #[serde(default, borrow)]
        tool_use_id: Option<Cow<'a, str>>,
    }
    let is_tool = matches!(Kind::named(&header.event), Kind::PreToolUse | Kind::PostToolUse);
    let call =
        header.payload.filter(|_| is_tool).and_then(|payload| serde_json::from_str(payload.get()).ok());
    // Anything but a normal tool call is parsed.
    let Some(Call { tool_name: Some(tool), tool_use_id: Some(id) }) = call else { return true };
    let sum = id.bytes().fold(0u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    Tool::named(&tool).is_of_teams() || sum % TIE_INTERVAL == 0
}

/// Fields that the timeline does not show. They are dropped in a log of [`LARGE_BYTES`] or more, to save memory.
const UNUSED_FIELDS: [&str; 8] = [
    "session_id",
    "transcript_path",
    "cwd",
    "prompt_id",
    "permission_mode",
    "hook_event_name",
    "agent_id",
    "agent_type",
];

impl LoadedEvent {
    fn new(recorded: Recorded) -> LoadedEvent {
        let payload = Payload::fields_of(&recorded.payload);
        let kind = Kind::named(&recorded.event);
        LoadedEvent {
            at: recorded.at,
            place: 0,
            in_run: recorded.run.is_some(),
            id: recorded.id,
            kind,
            session: recorded.session,
            task_list: recorded.task_list,
            traceparent: recorded.traceparent,
            actor: recorded.actor,
            payload,
            verdict: recorded.verdict.as_deref().and_then(RecordedVerdict::read),
        }
    }

    pub fn who(&self) -> Option<&str> {
        match self.actor.kind {
            ActorKind::Unknown => None,
            ActorKind::Helper => Some(self.actor.shown()),
            _ => self.actor.name.as_deref(),
        }
    }

    /// The actor's name in the timeline of a run: before its session had a team, the lead was not a lead.
    pub fn shown(&self, run: &RunRecord) -> &str {
        if self.actor.kind == ActorKind::Lead { run.lead() } else { self.who().unwrap_or("unknown") }
    }
}

/// Reads the log once and returns the events of each wanted run, by time. `all` are all recorded runs: an event from
/// before its session had a run belongs to the session's first run. The events of an imported run are read from its
/// directory.
pub fn by_run(
    log: &Path,
    archive: &Archive,
    all: &[RunRecord],
    wanted: impl Fn(&str) -> bool + Sync,
    depth: DetailLevel,
) -> io::Result<(HashMap<String, Vec<LoadedEvent>>, ReadErrors)> {
    let claims = Claims::new(all);
    let takes_all = depth == DetailLevel::Whole || log::size(log) < LARGE_BYTES;
    let parts = parts(archive, &claims, all.iter().filter(|run| wanted(&run.run)));
    // The first event of a run shows whether its start was recorded.
    let starts: HashSet<Timestamp> =
        all.iter().filter(|run| wanted(&run.run)).map(|run| run.started_at).collect();
    let wants = |header: &LineHeader<'_>| {
        let is_wanted = match &header.run {
            Some(run) => wanted(run),
            None => claims.run_of(None, header.session.as_deref(), header.at).is_some_and(|run| wanted(&run)),
        };
        is_wanted && (takes_all || may_need(header) || starts.contains(&header.at))
    };
    let (found, mut problems) = log::filter_parallel(log, &parts, wants, |line| {
        let recorded = line.recorded;
        let run = claims.run_of(recorded.run.as_deref(), recorded.session.as_deref(), recorded.at);
        let mut event = LoadedEvent::new(recorded);
        // The start of a session has the project's directory.
        if !takes_all && event.kind != Kind::SessionStart {
            event.payload.forget(&UNUSED_FIELDS);
        }
        (run, event)
    })?;
    let mut events: HashMap<String, Vec<LoadedEvent>> = HashMap::new();
    let mut known: HashSet<String> = HashSet::new();
    for run in all.iter().filter(|run| run.imported.is_some() && wanted(&run.run)) {
        let own = events.entry(run.run.clone()).or_default();
        problems.merge(imported_events(archive, run, depth, |event| {
            known.insert(event.id.clone());
            own.push(event);
        })?);
    }
    for (run, event) in found {
        // An imported run that continues here was also recorded here.
        if let Some(run) = run.filter(|_| !known.contains(&event.id)) {
            events.entry(run).or_default().push(event);
        }
    }
    for run in all {
        if let Some(events) = events.get_mut(&run.run) {
            (0..).zip(events.iter_mut()).for_each(|(place, event)| event.place = place);
            events.sort_by_key(|one| one.at);
            name_panes(events, run);
            EarlierLife::new(run.started_at).retain(events);
        }
    }
    Ok((events, problems))
}

/// Gives the first events of a split pane to its teammate. A pane's session starts without a team and may act before its
/// first hook call with a tool, which names the teammate; until then it is recorded as a lead.
fn name_panes(events: &mut [LoadedEvent], run: &RunRecord) {
    let panes = run.sessions.iter().filter(|session| session.role == SessionRole::Pane);
    let names: HashMap<&str, &String> =
        panes.filter_map(|session| Some((session.id.as_str(), session.name.as_ref()?))).collect();
    for event in events.iter_mut().filter(|event| !event.in_run && event.actor.kind == ActorKind::Lead) {
        if let Some(name) = event.session.as_deref().and_then(|id| names.get(id)) {
            event.actor = Actor { name: Some((*name).clone()), id: None, kind: ActorKind::Teammate };
        }
    }
}

/// The parts with events of these runs that are no longer in the log: in these runs, and in runs of the same sessions.
pub(super) fn parts<'a>(
    archive: &Archive,
    claims: &Claims<'a>,
    wanted: impl Iterator<Item = &'a RunRecord>,
) -> Parts {
    let names: BTreeSet<&str> =
        wanted.flat_map(|run| claims.related(run)).map(|run| run.run.as_str()).collect();
    Parts::of(names.into_iter().filter_map(|run| archive.run_dir(run)))
}

fn imported_events(
    archive: &Archive,
    run: &RunRecord,
    depth: DetailLevel,
    mut each: impl FnMut(LoadedEvent),
) -> io::Result<ReadErrors> {
    let Some(path) = archive.events_file(&run.run) else { return Ok(ReadErrors::default()) };
    let size = path.symlink_metadata().map_or(0, |metadata| metadata.len());
    let takes_all = depth == DetailLevel::Whole || size < LARGE_BYTES;
    log::read_lines(&path, |line| {
        let header = || serde_json::from_str::<LineHeader<'_>>(&line.text).ok();
        if takes_all || header().is_none_or(|header| may_need(&header)) {
            each(LoadedEvent::new(line.recorded));
        }
        Ok(())
    })
}

/// Selects events: of those from before the run only the starts of sessions, the prompt that led to the run, and the
/// launches of subagents. First note all of them.
#[derive(Debug)]
pub(super) struct EarlierLife {
    started_at: Timestamp,
    prompt: Option<(Timestamp, String)>,
}

pub(super) struct EventKey<'a> {
    at: Timestamp,
    id: &'a str,
    in_run: bool,
    kind: Kind,
    actor: ActorKind,
}

impl EarlierLife {
    /// The time before a run that started at `started_at`.
    pub fn new(started_at: Timestamp) -> EarlierLife {
        EarlierLife { started_at, prompt: None }
    }

    /// Notes an event. Of two prompts of the same time, the one that is noted later counts.
    pub fn note(&mut self, event: &EventKey<'_>) {
        let is_prompt = event.kind == Kind::UserPromptSubmit && event.actor == ActorKind::Lead;
        if is_prompt && self.has(event) && self.prompt.as_ref().is_none_or(|(at, _)| *at <= event.at) {
            self.prompt = Some((event.at, event.id.to_owned()));
        }
    }

    /// Whether the timeline has this event. `tool` reads its tool.
    pub fn selects(&self, event: &EventKey<'_>, tool: impl FnOnce() -> Option<Tool>) -> bool {
        !self.has(event)
            || event.kind == Kind::SessionStart
            || self.prompt.as_ref().is_some_and(|(_, id)| id == event.id)
            || (event.kind == Kind::PostToolUse && tool() == Some(Tool::Agent))
    }

    fn has(&self, event: &EventKey<'_>) -> bool {
        !event.in_run && event.at < self.started_at
    }

    pub fn retain(mut self, events: &mut Vec<LoadedEvent>) {
        events.iter().for_each(|event| self.note(&EventKey::of(event)));
        events.retain(|event| self.selects(&EventKey::of(event), || event.payload.tool()));
    }
}

impl<'a> EventKey<'a> {
    fn of(event: &'a LoadedEvent) -> EventKey<'a> {
        let LoadedEvent { at, id, in_run, kind, actor, .. } = event;
        EventKey { at: *at, id, in_run: *in_run, kind: *kind, actor: actor.kind }
    }

    pub fn of_line(recorded: &'a Recorded) -> EventKey<'a> {
        EventKey {
            at: recorded.at,
            id: &recorded.id,
            in_run: recorded.run.is_some(),
            kind: Kind::named(&recorded.event),
            actor: recorded.actor.kind,
        }
    }
}

/// How far calls of the same time can be out of order in the journal and the log.
const CLOCK_SLACK: TimeDelta = TimeDelta::seconds(1);

/// Corrects the times of a run whose clock was set back: moves the events that are before the journal's last line, and
/// keeps the order of the log. The journal's times never decrease, and so neither do the timeline's.
pub(super) fn correct_clock(events: &mut [LoadedEvent], journal: &Journal) {
    let lines: HashMap<&str, Timestamp> =
        journal.snapshots.iter().map(|line| (line.event.as_str(), line.at)).collect();
    let line_of = |event: &LoadedEvent| lines.get(event.id.as_str()).copied();
    let is_behind =
        |event: &LoadedEvent| line_of(event).is_some_and(|at| event.at < at && event.at < at - CLOCK_SLACK);
    if !events.iter().any(is_behind) {
        return;
    }
    events.sort_by_key(|event| event.place);
    let mut reached = Timestamp::MIN;
    for event in events.iter_mut() {
        reached = line_of(event).map_or(reached, |at| at.max(reached));
        event.at = event.at.max(reached);
    }
    events.sort_by_key(|one| one.at);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_opened(event: &str, payload: &str) -> bool {
        let line = format!(r#"{{"v":1,"event":"{event}","run":"r","payload":{payload}}}"#);
        may_need(&serde_json::from_str(&line).unwrap())
    }

    #[test]
    fn only_most_calls_of_other_tools_are_skipped_in_a_large_log() {
        let call = |tool: &str, id: usize| {
            is_opened("PreToolUse", &format!(r#"{{"tool_name":"{tool}","tool_use_id":"toolu_{id}"}}"#))
        };
        let opened = (0..10_000).filter(|id| call("Bash", *id)).count();
        assert!((10..100).contains(&opened), "{opened}");
        assert!((0..300).all(|id| {
            ["SendMessage", "TaskUpdate", "TeamDelete", "Agent", "Task"].iter().all(|tool| call(tool, id))
        }));
        assert!(call("Send\\u004dessage", 1), "however it is spelled");
        let nested = r#"{"tool_input":{"tool_name":"Bash"},"tool_name":"SendMessage","tool_use_id":"a"}"#;
        assert!(is_opened("PostToolUse", nested));
        for odd in ["{}", "7", "null", r#"{"tool_name":"Bash"}"#, r#"{"tool_name":7,"tool_use_id":"a"}"#] {
            assert!(is_opened("PreToolUse", odd), "{odd}");
        }
        assert!(is_opened("Stop", r#"{"tool_name":"Bash","tool_use_id":"a"}"#));
    }
}
