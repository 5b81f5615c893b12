//! All recorded data of one run, opened, the relation of its two clocks, and the summary for lists.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::agents::{SharedNames, name_agents};
use super::entry::MessageEvent;
use super::events::{ClockJump, correct_clock};
use super::state_after;
use super::transcripts::{TranscriptOwners, Transcripts, load_transcripts};
use super::{Entry, LoadedEvent, RunSnapshots, TaskIds, Timeline};
use teamkeep_model::event::LEAD;
use teamkeep_model::payload::{EventKind, Spawn};
use teamkeep_model::time::{self, Timestamp};
use teamkeep_model::{ProcessId, Tool};
use teamkeep_store::archive::{
    Archive, EndedBy, Index, Interval, Journal, RunRecord, SessionRecord, worktree_of,
};
use teamkeep_system::process;

#[derive(Debug)]
pub struct RunData {
    pub run: RunRecord,
    pub events: Vec<LoadedEvent>,
    pub journal: Journal,
    pub snapshots: RunSnapshots,
    pub transcripts: Transcripts,
    pub members: Vec<String>,
    pub shared_names: SharedNames,
    pub client_gone: bool,
    /// The teammates in panes whose process is gone while the team runs, without the end of their session.
    pub crashed_panes: Vec<String>,
    /// Where the clock was set back.
    pub clock_jumps: Vec<ClockJump>,
    /// Events before this time are missing: a part of its log was removed.
    pub missing_until: Option<Timestamp>,
}

impl RunData {
    /// Opens a run. `all` are all recorded runs: those of the same sessions share its transcripts.
    pub fn open(
        archive: &Archive,
        mut run: RunRecord,
        mut events: Vec<LoadedEvent>,
        all: &[RunRecord],
    ) -> RunData {
        let mut journal = archive.journal(&run.run);
        let clock_jumps = correct_clock(&mut events, &mut journal);
        if !clock_jumps.is_empty() {
            run.ended_at = run.ended_at.max(run.ended_at.and(events.last().map(|event| event.at)));
        }
        let subject = run.subject();
        let list = subject.as_ref().map(|scope| scope.name().as_str());
        let ids = TaskIds::new(list, &events);
        let mut snapshots = RunSnapshots::read(archive, &journal, list, ids, run.created_at);
        let mut members: Vec<String> = Vec::new();
        let rosters = snapshots.rosters.iter().flat_map(|(_, roster)| &roster.members);
        let names = rosters.map(|member| member.name.clone());
        for name in names.chain(spawns(&events).map(|(_, spawn)| spawn.name)) {
            if !members.contains(&name) {
                members.push(name);
            }
        }
        snapshots.name_inboxes(&members);
        name_agents(&mut events, &members, &run);
        let shared_names = SharedNames::of(&events, &run);
        let prompts = prompts(&snapshots, &events).map(|(name, prompt)| (name, prompt.to_owned()));
        let owners = TranscriptOwners::of(&run, &members, &events, prompts);
        let transcripts = load_transcripts(archive, &run, &owners, &Interval::of(&run, all));
        let client_gone = run.ended_at.is_none() && (run.imported.is_some() || is_client_gone(archive, &run));
        let is_open = run.ended_at.is_none() && run.imported.is_none() && !client_gone;
        let crashed_panes = crashed_panes(&run, &events, |one| is_open && process::is_over(one));
        RunData {
            run,
            events,
            journal,
            snapshots,
            transcripts,
            members,
            shared_names,
            client_gone,
            crashed_panes,
            clock_jumps,
            missing_until: None,
        }
    }

    /// Records that events at the start are missing, because the run's log does not have its first line.
    pub(super) fn miss_events(&mut self) {
        // The events of an imported run are complete.
        if !self.journal.snapshots.is_empty() && (self.run.imported.is_none() || self.events.is_empty()) {
            let first = self.events.iter().find(|event| event.in_run).map(|event| event.at);
            self.missing_until = first.or(self.run.ended_at).or_else(|| self.last_sign());
        }
    }

    pub fn last_sign(&self) -> Option<Timestamp> {
        let event = self.events.last().map(|event| event.at);
        event.or_else(|| self.journal.snapshots.last().map(|snapshot| snapshot.at))
    }

    /// The last recorded moment of the run: its end or, without a recorded end, the last event or entry.
    pub fn last_moment(&self, entries: &[Entry]) -> Timestamp {
        let last = || entries.last().map(|entry| entry.at).max(self.last_sign());
        self.run.ended_at.or_else(last).max(Some(self.run.started_at)).unwrap_or_default()
    }

    /// The worktrees with recorded work, and when it was recorded: at a moment, or in the whole run.
    pub fn worktrees(&self, at: Option<Timestamp>) -> BTreeMap<String, Timestamp> {
        let mut found = BTreeMap::new();
        for snapshot in self.journal.snapshots.iter().take_while(|one| at.is_none_or(|at| one.at <= at)) {
            for change in snapshot.changed.iter().filter(|change| change.object.is_some()) {
                if let Some(name) = worktree_of(&change.path) {
                    found.insert(name.to_string(), snapshot.at);
                }
            }
        }
        found
    }

    pub fn lead(&self) -> &'static str {
        self.run.lead()
    }

    pub fn is_member(&self, name: &str) -> bool {
        self.members.iter().any(|member| member == name)
    }

    /// The first change of the times of the run, if the clock was set back.
    pub fn clock_note(&self) -> Option<String> {
        let ClockJump { recorded, shown } = self.clock_jumps.first()?;
        let (recorded, shown) = (time::moment(*recorded), time::moment(*shown));
        Some(format!(
            "the clock was set back to {recorded}; later times are shown as if it had continued at {shown}"
        ))
    }

    pub fn problems(&self) -> Vec<String> {
        let objects = self.snapshots.problems.iter().cloned();
        let transcripts = self.transcripts.problems.iter();
        let transcripts = transcripts
            .map(|why| format!("{why}; data that is only there is missing; to check: teamkeep verify"));
        let mut problems: Vec<String> = objects.chain(transcripts).collect();
        if let Some(damage) = &self.journal.damage {
            problems.push(format!(
                "{damage}; {} line(s) of the run's journal are passed over, and the states in them left out",
                self.journal.damaged
            ));
        }
        problems
    }

    pub(super) fn tool_calls(&self, tool: Tool) -> Vec<CallEvents<'_>> {
        let mut calls: Vec<CallEvents<'_>> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        for event in &self.events {
            if !matches!(event.kind, EventKind::PreToolUse | EventKind::PostToolUse)
                || event.tool() != Some(tool)
            {
                continue;
            }
            let id = event.tool_use_id();
            let index = id.and_then(|id| places.get(id).copied()).unwrap_or(calls.len());
            if index == calls.len() {
                calls.push(CallEvents { id, ..CallEvents::default() });
                places.extend(id.map(|id| (id, index)));
            }
            let call = &mut calls[index];
            match event.kind {
                EventKind::PreToolUse => call.before = Some(event),
                _ => call.after = Some(event),
            }
        }
        calls
    }
}

/// The teammates whose process was gone before the end of the run. With that end, the processes of all panes end.
fn crashed_panes(
    run: &RunRecord,
    events: &[LoadedEvent],
    is_gone: impl Fn(&ProcessId) -> bool,
) -> Vec<String> {
    let has_ended = |id: &str| {
        events.iter().any(|event| event.kind == EventKind::SessionEnd && event.session() == Some(id))
    };
    let is_gone =
        |session: &SessionRecord| session.gone_at.is_some() || session.process.as_ref().is_some_and(&is_gone);
    let crashed = run.sessions.iter().filter(|session| is_gone(session) && !has_ended(&session.id));
    crashed.filter_map(|session| session.name.clone()).collect()
}

/// The index of a run that hook calls on this machine capture.
pub fn open_index(archive: &Archive, run: &RunRecord) -> Option<Index> {
    let index = run.subject().and_then(|subject| archive.index(&subject));
    index.filter(|index| index.run == run.run && !index.ended)
}

/// Whether a run without a recorded end has certainly lost its Claude Code process.
pub fn is_client_gone(archive: &Archive, run: &RunRecord) -> bool {
    open_index(archive, run).is_some_and(|index| index.is_client_gone())
}

#[derive(Debug, Default, Clone, Copy)]
pub(super) struct CallEvents<'a> {
    pub id: Option<&'a str>,
    pub before: Option<&'a LoadedEvent>,
    pub after: Option<&'a LoadedEvent>,
}

impl<'a> CallEvents<'a> {
    pub(super) fn first(&self) -> Option<&'a LoadedEvent> {
        self.before.or(self.after)
    }

    pub(super) fn who(&self) -> Option<&'a str> {
        self.after.and_then(LoadedEvent::who).or_else(|| self.before.and_then(LoadedEvent::who))
    }
}

pub(super) fn spawns(events: &[LoadedEvent]) -> impl Iterator<Item = (&LoadedEvent, Spawn)> {
    let is_done =
        |event: &&LoadedEvent| event.kind == EventKind::PostToolUse && event.tool() == Some(Tool::Agent);
    let done = events.iter().filter(is_done);
    done.filter_map(|event| Some((event, Spawn::of(event.payload())?)))
}

pub(super) fn prompts<'a>(
    snapshots: &'a RunSnapshots,
    events: &'a [LoadedEvent],
) -> impl Iterator<Item = (String, &'a str)> {
    let rosters = snapshots.rosters.iter().flat_map(|(_, roster)| &roster.members);
    let told = rosters.filter_map(|member| Some((member.name.clone(), member.prompt.as_deref()?.trim())));
    let spawned = spawns(events).filter_map(|(event, spawn)| {
        Some((spawn.name, event.tool_input().get("prompt").and_then(Value::as_str)?.trim()))
    });
    told.chain(spawned)
}

/// Clocks that differ by less (milliseconds) are the same clock.
const SAME_CLOCK_MS: i64 = 5_000;

/// Pairs of Claude Code's time and teamkeep's.
#[derive(Debug, Default)]
pub struct ClockMap {
    ties: Vec<(Timestamp, Timestamp)>,
    end: Timestamp,
}

impl ClockMap {
    pub fn of(data: &RunData) -> ClockMap {
        let calls = data.events.iter().filter(|event| event.kind == EventKind::PreToolUse);
        let ties = calls.filter_map(|event| {
            let used = data.transcripts.uses.get(event.tool_use_id()?)?;
            Some((used.at?, event.at))
        });
        let mut ties: Vec<(Timestamp, Timestamp)> = ties.collect();
        ties.extend(data.clock_jumps.iter().map(|jump| (jump.recorded, jump.shown)));
        let first = data.events.first().filter(|_| !data.clock_jumps.is_empty());
        ties.extend(first.map(|event| (event.at, event.at)));
        ties.sort();
        let end = data.events.last().map_or(data.run.started_at, |event| event.at);
        ClockMap { ties, end }
    }

    /// Claude Code's time by teamkeep's clock.
    pub(crate) fn to_local(&self, theirs: Timestamp) -> Timestamp {
        let next = self.ties.partition_point(|(tie, _)| *tie <= theirs);
        let before = next.checked_sub(1).and_then(|index| self.ties.get(index));
        let after = self.ties.get(next);
        let Some((tie, ours)) = before.or(after) else { return theirs };
        if (*ours - *tie).num_milliseconds().abs() < SAME_CLOCK_MS {
            return theirs;
        }
        let mapped = *ours + (theirs - *tie);
        // After the clock was set back, the next tie can be of an earlier moment.
        let bound = after.filter(|(_, next)| before.is_some() && next >= ours).map(|(_, ours)| *ours);
        bound.into_iter().fold(mapped.min(self.end), Timestamp::min)
    }

    /// The same; without a valid time, the last recorded moment.
    pub(crate) fn to_local_or_end(&self, theirs: Option<Timestamp>) -> Timestamp {
        theirs.map_or(self.end, |theirs| self.to_local(theirs))
    }
}

/// A run in a few numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub run: String,
    pub team: Option<String>,
    #[serde(default)]
    pub project: Option<String>,
    pub lead_session: Option<String>,
    /// When Claude Code created the team; for a session without one, when it was first seen.
    pub created_at: Option<Timestamp>,
    /// The first hook call of the run: the origin of its times.
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub ended_by: Option<EndedBy>,
    pub members: Vec<String>,
    /// Number of tasks, without deleted ones and the trackers of 2.1.47.
    pub tasks: usize,
    pub messages: usize,
    pub snapshots: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events_missing_until: Option<Timestamp>,
    /// The last sign of a run without a recorded end whose Claude Code process is gone.
    #[serde(skip)]
    pub gone: Option<Timestamp>,
}

impl Summary {
    pub fn of(data: &RunData, timeline: &Timeline) -> Summary {
        let run = &data.run;
        let entries = &timeline.entries;
        let messages = entries.iter().filter_map(Entry::message);
        let sent = messages.filter(|message| message.event != MessageEvent::Refused && !message.automatic);
        Summary {
            run: run.run.clone(),
            team: run.name().map(str::to_owned),
            project: project(data),
            lead_session: run.lead_session.clone(),
            created_at: run.created_at.or_else(|| run.team.is_none().then_some(run.started_at)),
            started_at: run.started_at,
            ended_at: run.ended_at,
            ended_by: run.ended_by,
            members: data.members.clone(),
            tasks: state_after(entries).not_deleted().len(),
            messages: sent.count(),
            snapshots: data.journal.snapshots.len(),
            events_missing_until: data.missing_until,
            gone: data.client_gone.then(|| data.last_moment(entries).to_owned()),
        }
    }
}

/// The directory of a run: that of its lead.
pub fn project(data: &RunData) -> Option<String> {
    let mut members = data.snapshots.rosters.iter().flat_map(|(_, roster)| &roster.members);
    let of_lead = members.find(|member| member.name == LEAD).and_then(|lead| lead.cwd.clone());
    let mut starts = data.events.iter().filter(|event| event.kind == EventKind::SessionStart);
    of_lead.or_else(|| starts.find_map(|start| start.text("cwd").map(str::to_owned)))
}
