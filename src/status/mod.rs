//! The status of running teams with the size of the recorded data, or as one line.
//!
//! [`Status`] is built from [`Observed`] states of the running teams. [`StatusLine`] is one line for Claude Code, which shows it below
//! its prompt many times a minute. It comes from the last snapshots and the policy's counts: it opens no timeline, except for an
//! [`Attention`] that is not recent.

mod observed;

pub use observed::{AgentState, Board, Item, Member, Observed, Surroundings, count_states, lasts_at};

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

use teamkeep_history::report::Incident;
use teamkeep_history::timeline::{
    Entry, OpenedRun, RunCatalog, RunData, UnsentAnswer, is_client_gone, unsent_answers,
};
use teamkeep_hook::enforcement::{GateStateStore, SnapshotReader};
use teamkeep_model::event::LEAD;
use teamkeep_model::time::Timestamp;
use teamkeep_policy::{Decision, Overrides, RecordedVerdict, TeamState, VERDICT};
use teamkeep_store::archive::{Archive, Index, RunRecord};
use teamkeep_store::log::{self, LogOwner, Logs};
use teamkeep_system::paths::Paths;

/// Time limit for counting the bytes of the store.
const COUNT_TIMEOUT: Duration = Duration::from_millis(150);
/// Number of bytes to read from the end of a large log for verdicts.
const MAX_TAIL_BYTES: u64 = 4 << 20;

#[derive(Debug, Serialize)]
pub struct Status {
    pub v: u8,
    pub at: Timestamp,
    pub teams: Vec<TeamStatus>,
    pub overrides: Overrides,
    /// The gates that the organization has fixed: pauses and allowances do not apply to them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fixed: Vec<&'static str>,
    pub record: StoreStats,
}

/// The runs of teams without a recorded end whose Claude Code process is not known to be gone. A run without any
/// session is left out: 2.1.328 creates a team that it never uses when it resumes a session.
pub fn alive(catalog: &RunCatalog) -> Vec<&RunRecord> {
    catalog.runs.iter().filter(|run| is_alive(&catalog.archive, run)).collect()
}

fn is_alive(archive: &Archive, run: &RunRecord) -> bool {
    let is_open = run.team.is_some() && run.ended_at.is_none() && run.imported.is_none();
    is_open && !run.sessions.is_empty() && !is_client_gone(archive, run)
}

impl Status {
    /// Builds the status. `opened` are the running runs, `overrides` the active pauses and allowances.
    pub fn of(
        catalog: &RunCatalog,
        opened: &OpenedRun,
        around: Surroundings<'_>,
        overrides: Overrides,
        now: Timestamp,
    ) -> Status {
        let mut overrides = overrides;
        overrides.v = 1;
        let live = opened.runs.iter().filter(|data| !data.client_gone);
        Status {
            v: 1,
            at: now,
            teams: live.map(|data| TeamStatus::of(data, &Observed::of(data, around, now))).collect(),
            overrides,
            fixed: around.config.policy.fixed_gates(None),
            record: StoreStats::count(catalog),
        }
    }
}

#[derive(Debug, Serialize)]
pub struct TeamStatus {
    pub run: String,
    pub team: String,
    pub lead_session: Option<String>,
    pub started_at: Timestamp,
    /// The time of the last recorded event. An old version of Claude Code names no process, so it may have exited since then.
    pub heard_at: Option<Timestamp>,
    #[serde(flatten)]
    pub board: Board,
    pub unread: BTreeMap<String, usize>,
    /// Sorted, worst first.
    pub incidents: Vec<Incident>,
    /// Answers of teammates that no agent received.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unsent_answers: Vec<UnsentAnswer>,
    pub blocks: usize,
    pub escalations: usize,
    /// Tasks that tools named and that are not in any known task list: the gates cannot see that work.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing_tasks: Vec<String>,
    /// Team files that cannot be read, each with the reason: the gates cannot see their content.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
    pub warnings: usize,
}

impl TeamStatus {
    fn of(data: &RunData, observed: &Observed) -> TeamStatus {
        let (run, files) = (&data.run, &observed.files);
        let verdicts = || observed.timeline.entries.iter().filter_map(Entry::verdict);
        let decided = |decision| verdicts().filter(move |verdict| verdict.decision == decision);
        TeamStatus {
            run: run.run.clone(),
            team: run.team.clone().unwrap_or_default(),
            lead_session: run.lead_session.clone(),
            started_at: run.started_at,
            heard_at: data.last_sign(),
            board: observed.board(data),
            unread: unread(files),
            incidents: observed.incidents().to_vec(),
            unsent_answers: unsent_answers(data, &observed.timeline.entries),
            missing_tasks: files.missing.clone(),
            unreadable: files.unreadable.iter().map(|one| format!("{}: {}", one.path, one.why)).collect(),
            blocks: decided(Decision::Block).count(),
            escalations: verdicts().filter(|verdict| verdict.blocks.is_some()).count(),
            warnings: decided(Decision::Warn).filter(|verdict| !verdict.repeated).count(),
        }
    }
}

fn unread(state: &TeamState) -> BTreeMap<String, usize> {
    let waiting = state.mail.iter().filter(|(_, count)| **count > 0);
    waiting.map(|(owner, count)| (owner.clone(), *count)).collect()
}

/// The size of the recorded data: runs, events and bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StoreStats {
    /// Readable runs, including sessions without a team.
    pub runs: usize,
    /// The lines of all logs: events and verdicts.
    pub events: u64,
    /// Whether the events of all logs were counted in time; otherwise there are more.
    pub events_counted: bool,
    pub bytes: u64,
    /// Whether all files were counted in time; otherwise there are more bytes.
    pub bytes_counted: bool,
}

impl StoreStats {
    fn count(catalog: &RunCatalog) -> StoreStats {
        let until = Instant::now() + COUNT_TIMEOUT;
        let logs = catalog.logs.all().unwrap_or_default();
        let (mut events, mut bytes) = (0, 0);
        let is_in_time = logs.iter().all(|log| {
            events += log.head().map_or(0, |head| head.count);
            if matches!(log.owner, LogOwner::Session(_)) {
                let segments = log.segments().unwrap_or_default();
                bytes += segments.iter().map(|segment| segment.size).sum::<u64>();
            }
            Instant::now() < until
        });
        let mut runs = catalog.runs.iter().map(|run| {
            bytes += catalog.archive.run_size(&run.run);
            Instant::now() < until
        });
        let bytes_counted = runs.all(|is_in_time| is_in_time) && is_in_time;
        StoreStats { runs: catalog.runs.len(), events, events_counted: is_in_time, bytes, bytes_counted }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatusLine {
    pub run: String,
    pub team: String,
    /// The members by name, without those that have left. The lead's state is known only with `attention`.
    pub members: BTreeMap<String, AgentState>,
    pub done: usize,
    pub tasks: usize,
    pub unread: usize,
    pub blocks: usize,
    pub escalations: usize,
    pub blind: bool,
    pub unreadable: bool,
    pub paused: bool,
    /// `None` if it is not known.
    pub attention: Option<Attention>,
}

impl StatusLine {
    /// Finds the team of a session, or else the team that changed last, and counts; `None` if it does not run.
    pub fn find(
        archive: &Archive,
        session: Option<&str>,
        paths: &Paths,
        overrides: &Overrides,
    ) -> Option<StatusLine> {
        let (run, index) = open_runs(archive, session).max_by_key(|(_, index)| index.at)?;
        let ledger = GateStateStore::new(archive.run_dir(&run.run)?, Duration::ZERO).read().ledger;
        let team = run.team.clone().unwrap_or_default();
        let client = run.client_dir(paths.client.as_deref());
        let reader = SnapshotReader { archive, client: client.as_deref(), live_first: true, until: None };
        let state = TeamState { ledger, ..reader.team((Some(&team), None), Some(&index)) };
        let teammates = state.members.iter().filter(|name| *name != LEAD);
        let members = teammates
            .map(|name| (name.clone(), AgentState::from(state.ledger.live.doing(name).unwrap_or_default())));
        let tasks = || state.tasks.values().filter(|task| !task.internal);
        let (blocks, escalations) = verdicts(&Logs::of(paths), &run.run);
        Some(StatusLine {
            attention: None,
            members: members.filter(|(_, state)| *state != AgentState::Left).collect(),
            done: tasks().filter(|task| task.is_done()).count(),
            tasks: tasks().count(),
            unread: unread(&state).values().sum(),
            blocks,
            escalations,
            blind: !state.missing.is_empty(),
            unreadable: !state.unreadable.is_empty(),
            paused: overrides
                .pauses
                .iter()
                .any(|pause| pause.team.as_deref().is_none_or(|paused| paused == team)),
            team,
            run: run.run,
        })
    }

    /// The same with agents and incidents that need attention.
    #[must_use]
    pub fn with(mut self, attention: Option<Attention>) -> StatusLine {
        for (name, state) in attention.iter().flat_map(|attention| &attention.states) {
            // The state of other agents is known better from the last hook call, unless that only shows that they joined.
            let is_vague = self.members.get(name) == Some(&AgentState::Joined);
            if state.needs_attention() || name == LEAD || is_vague {
                self.members.insert(name.clone(), *state);
            }
        }
        StatusLine { attention, ..self }
    }
}

fn open_runs<'a>(
    archive: &'a Archive,
    session: Option<&'a str>,
) -> impl Iterator<Item = (RunRecord, Index)> + 'a {
    let teams = archive.open_subjects().into_iter().filter(|subject| subject.team().is_some());
    teams.filter_map(move |subject| {
        let index = archive.index(&subject).filter(|index| !index.ended)?;
        let run = archive.run(&index.run)?;
        let is_wanted = session.is_none_or(|id| {
            index.is_led_by(Some(id)) || run.sessions.iter().any(|session| session.id == id)
        });
        (is_wanted && is_alive(archive, &run)).then_some((run, index))
    })
}

fn verdicts(logs: &Logs, run: &str) -> (usize, usize) {
    // The event's name is near the start of a line.
    let mark = format!("\"event\":\"{VERDICT}\"");
    let is_verdict =
        |bytes: &[u8]| bytes[..bytes.len().min(256)].windows(mark.len()).any(|part| part == mark.as_bytes());
    let lines = logs.run(run).and_then(|log| log::tail(&log, MAX_TAIL_BYTES, is_verdict).ok());
    let lines = lines.unwrap_or_default();
    let recorded = lines.iter().filter_map(|line| RecordedVerdict::read(line.recorded.verdict.as_deref()?));
    recorded.fold((0, 0), |(blocks, escalations), RecordedVerdict { verdict, .. }| {
        (
            blocks + usize::from(verdict.decision == Decision::Block),
            escalations + usize::from(verdict.escalated),
        )
    })
}

/// The cached file about a run.
const ATTENTION_FILE: &str = "attention.json";
/// Version of the content.
const ATTENTION_VERSION: u32 = 3;
/// How long it is used.
const MAX_ATTENTION_AGE: TimeDelta = TimeDelta::seconds(30);

/// The agents and incidents that need attention, cached for a while: a status line shows them many times a
/// minute and cannot open a timeline each time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attention {
    v: u32,
    at: Timestamp,
    /// The agents that have not left.
    states: BTreeMap<String, AgentState>,
    /// Number of incidents that are not over.
    pub incidents: usize,
}

impl Attention {
    pub fn of(data: &RunData, observed: &Observed) -> Attention {
        let board = observed.board(data);
        let is_open = |incident: &&_| !board.is_over(incident, observed.at);
        let there = board.members.iter().filter(|member| member.state != AgentState::Left);
        Attention {
            v: ATTENTION_VERSION,
            at: observed.at,
            states: there.map(|member| (member.name.clone(), member.state)).collect(),
            incidents: observed.incidents().iter().filter(is_open).count(),
        }
    }

    /// The stored one, if it is recent.
    pub fn stored(archive: &Archive, run: &str, now: Timestamp) -> Option<Attention> {
        let stored: Attention = archive.cached(run, ATTENTION_FILE)?;
        let is_recent = stored.at <= now && now - stored.at <= MAX_ATTENTION_AGE;
        (stored.v == ATTENTION_VERSION && is_recent).then_some(stored)
    }

    /// Stores it. A failure is ignored: it is made again.
    pub fn store(&self, archive: &Archive, run: &str) {
        archive.cache(run, ATTENTION_FILE, self);
    }
}
