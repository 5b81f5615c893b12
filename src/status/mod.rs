//! The status of running teams, and the size of the recorded data.
//!
//! [`Status`] is built from [`Observed`] states of the running teams. [`StatusLine`] is one line for Claude Code: it opens no
//! timeline, except for an [`Attention`] that is not recent.

mod line;
mod observed;

pub use line::{Attention, StatusLine};
pub use observed::{AgentState, Board, Item, Member, Observed, Surroundings, count_states, lasts_at};

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::Serialize;

use teamkeep_history::report::Incident;
use teamkeep_history::timeline::{
    Entry, OpenedRun, RunCatalog, RunData, UnsentAnswer, is_client_gone, unsent_answers,
};
use teamkeep_model::time::Timestamp;
use teamkeep_policy::{Decision, Overrides, TeamState};
use teamkeep_store::archive::{Archive, RunRecord};
use teamkeep_store::log::LogOwner;

/// Time limit for counting the bytes of the store.
const TIMEOUT: Duration = Duration::from_millis(150);

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
        let until = Instant::now() + TIMEOUT;
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
