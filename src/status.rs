//! The status of running teams, and the size of the recorded data.
//!
//! [`Status`] is built from the timelines of the running teams. [`StatusLine`] is one line that Claude Code shows below
//! its prompt many times a minute: it comes from the last snapshots and the policy's counts, without opening a timeline.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Serialize, Serializer};

use crate::timeline::{Entry, LiveState, OpenedRun, RunCatalog, RunData, is_client_gone, merge};
use teamkeep_core::enforcement::{GateStateStore, Overrides, SnapshotReader, VERDICT};
use teamkeep_core::model::TaskStatus;
use teamkeep_core::model::event::{LEAD, SafeName};
use teamkeep_core::policy::{Activity, Decision, RecordedVerdict, TeamState};
use teamkeep_core::store::archive::{Archive, CaptureScope, Index, RunRecord};
use teamkeep_core::store::log;
use teamkeep_core::sys::clock::Timestamp;
use teamkeep_core::sys::fs;
use teamkeep_core::sys::paths::Paths;

/// A smaller log is counted line by line, in bytes.
const MAX_COUNTED_BYTES: u64 = 16 << 20;
/// Number of bytes of each segment from which the length of a line is estimated.
const SAMPLE_BYTES: u64 = 64 << 10;
/// Time limit for counting the bytes of the store.
const TIMEOUT: Duration = Duration::from_millis(150);
/// Number of bytes to read from the end of a large log for verdicts.
const MAX_TAIL_BYTES: u64 = 4 << 20;

#[derive(Debug, Serialize)]
pub struct Status {
    pub v: u8,
    pub at: Timestamp,
    pub teams: Vec<TeamStatus>,
    pub overrides: Overrides,
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
        paths: &Paths,
        overrides: Overrides,
        now: Timestamp,
    ) -> Status {
        let mut overrides = Overrides { v: 1, ..overrides };
        overrides.pauses.retain(|pause| pause.is_in_force(now));
        let live = opened.runs.iter().filter(|data| !data.client_gone);
        Status {
            v: 1,
            at: now,
            teams: live.map(|data| TeamStatus::of(catalog, data, paths)).collect(),
            overrides,
            record: StoreStats::count(catalog, &paths.log()),
        }
    }
}

#[derive(Debug, Serialize)]
pub struct TeamStatus {
    pub run: String,
    pub team: String,
    pub lead_session: Option<String>,
    pub started_at: Timestamp,
    /// The last sign of the team. An old version of Claude Code names no process, so it may be gone since.
    pub heard_at: Option<Timestamp>,
    #[serde(flatten)]
    pub board: Board,
    pub unread: BTreeMap<String, usize>,
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

/// The members of a team, and its tasks that exist.
#[derive(Debug, Clone, Serialize)]
pub struct Board {
    pub members: Vec<Member>,
    pub tasks: Vec<Item>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Member {
    pub name: String,
    #[serde(serialize_with = "word")]
    pub doing: Activity,
    pub since: Timestamp,
    /// The ids of its tasks in progress.
    pub tasks: Vec<String>,
}

fn word<S: Serializer>(activity: &Activity, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(activity.word())
}

#[derive(Debug, Clone, Serialize)]
pub struct Item {
    pub id: String,
    pub status: TaskStatus,
    pub owner: Option<String>,
    pub subject: String,
}

impl Board {
    pub fn of(state: &LiveState) -> Board {
        let tasks = state.tasks.iter().filter(|(_, task)| !task.is_gone()).map(|((_, id), task)| Item {
            id: id.clone(),
            status: task.status.clone().unwrap_or_else(TaskStatus::unknown),
            owner: task.owner.clone(),
            subject: task.subject.clone(),
        });
        let tasks: Vec<Item> = tasks.collect();
        let in_progress = |name: &str| {
            let is_own =
                |task: &&Item| task.status == TaskStatus::InProgress && task.owner.as_deref() == Some(name);
            tasks.iter().filter(is_own).map(|task| task.id.clone()).collect()
        };
        let members = state.roster.iter().map(|member| Member {
            name: member.name.clone(),
            doing: member.doing,
            since: member.since,
            tasks: in_progress(&member.name),
        });
        Board { members: members.collect(), tasks }
    }
}

impl TeamStatus {
    fn of(catalog: &RunCatalog, data: &RunData, paths: &Paths) -> TeamStatus {
        let (run, entries) = (&data.run, merge(data).entries);
        let index = run.subject().and_then(|subject| catalog.archive.index(&subject));
        let index = index.filter(|index| index.run == run.run);
        let verdicts = || entries.iter().filter_map(Entry::verdict);
        let decided = |decision| verdicts().filter(move |verdict| verdict.decision == decision);
        // Roster, tasks and messages from the files on disk, or else from the last snapshots.
        let client = paths.client.as_deref();
        let reader = SnapshotReader { archive: &catalog.archive, client, live_first: true, until: None };
        let files = reader.team((run.team.as_deref(), None), index.as_ref());
        TeamStatus {
            run: run.run.clone(),
            team: run.team.clone().unwrap_or_default(),
            lead_session: run.lead_session.clone(),
            started_at: run.started_at,
            heard_at: data.last_sign(),
            board: Board::of(&LiveState::of(&entries)),
            unread: unread(&files),
            missing_tasks: files.missing,
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

/// Runs, events and bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StoreStats {
    /// Readable runs, including sessions without a team.
    pub runs: usize,
    pub events: u64,
    /// Whether the events were counted; otherwise their number is an estimate.
    pub events_counted: bool,
    pub bytes: u64,
    /// Whether all files were counted in time; otherwise there are more bytes.
    pub bytes_counted: bool,
}

impl StoreStats {
    fn count(catalog: &RunCatalog, log: &Path) -> StoreStats {
        let (events, events_counted) = events(log);
        let until = Instant::now() + TIMEOUT;
        let mut bytes = log::size(log);
        let walked = catalog.archive.objects.each(|stored| {
            bytes += stored.size;
            if Instant::now() < until { Ok(()) } else { Err(ErrorKind::TimedOut.into()) }
        });
        let mut sizes = catalog.runs.iter().map(|run| {
            bytes += catalog.archive.contents_size(&run.run);
            Instant::now() < until
        });
        let bytes_counted = walked.is_ok() && sizes.all(|is_in_time| is_in_time);
        StoreStats { runs: catalog.runs.len(), events, events_counted, bytes, bytes_counted }
    }
}

/// The number of lines of the log, and whether they were counted.
fn events(dir: &Path) -> (u64, bool) {
    let segments = log::list(dir).unwrap_or_default();
    let size: u64 = segments.iter().map(|segment| segment.size).sum();
    let is_counted = size <= MAX_COUNTED_BYTES;
    let max_bytes = if is_counted { MAX_COUNTED_BYTES } else { SAMPLE_BYTES };
    let (mut read, mut lines) = (0u64, 0u64);
    for segment in &segments {
        let bytes = fs::read_prefix(&segment.path(dir), max_bytes).unwrap_or_default();
        read += bytes.len() as u64;
        lines += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
    }
    let estimate = u128::from(lines) * u128::from(size) / u128::from(read.max(1));
    (if is_counted { lines } else { u64::try_from(estimate).unwrap_or(u64::MAX) }, is_counted)
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatusLine {
    pub team: String,
    pub working: usize,
    pub idle: usize,
    pub done: usize,
    pub tasks: usize,
    pub unread: usize,
    pub blocks: usize,
    pub escalations: usize,
    pub blind: bool,
    pub unreadable: bool,
    pub paused: bool,
}

impl StatusLine {
    /// Finds the team of a session, or else the team that changed last, and counts; `None` if it does not run.
    pub fn find(
        archive: &Archive,
        session: Option<&str>,
        paths: &Paths,
        overrides: &Overrides,
        now: Timestamp,
    ) -> Option<StatusLine> {
        let (run, index) = open_runs(archive, session).max_by_key(|(_, index)| index.at)?;
        let id = SafeName::new(&run.run)?;
        let ledger = GateStateStore::new(paths.policy(), Duration::ZERO).read(&id).ledger;
        let team = run.team.clone().unwrap_or_default();
        let reader =
            SnapshotReader { archive, client: paths.client.as_deref(), live_first: true, until: None };
        let state = TeamState { ledger, ..reader.team((Some(&team), None), Some(&index)) };
        let teammates = || state.members.iter().filter(|name| *name != LEAD);
        let working = teammates().filter(|name| state.ledger.of(name).activity() == Activity::Works).count();
        let tasks = || state.tasks.values().filter(|task| !task.internal);
        let (blocks, escalations) = verdicts(&paths.log(), &run.run);
        Some(StatusLine {
            working,
            idle: teammates().count() - working,
            done: tasks().filter(|task| task.is_done()).count(),
            tasks: tasks().count(),
            unread: unread(&state).values().sum(),
            blocks,
            escalations,
            blind: !state.missing.is_empty(),
            unreadable: !state.unreadable.is_empty(),
            paused: overrides.pauses.iter().any(|pause| {
                pause.is_in_force(now) && pause.team.as_deref().is_none_or(|paused| paused == team)
            }),
            team,
        })
    }
}

fn open_runs<'a>(
    archive: &'a Archive,
    session: Option<&'a str>,
) -> impl Iterator<Item = (RunRecord, Index)> + 'a {
    let teams =
        archive.open_subjects().into_iter().filter(|subject| matches!(subject, CaptureScope::Team(_)));
    teams.filter_map(move |subject| {
        let index = archive.index(&subject).filter(|index| !index.ended)?;
        let run = archive.run(&index.run)?;
        let is_wanted = session.is_none_or(|id| {
            index.is_led_by(Some(id)) || run.sessions.iter().any(|session| session.id == id)
        });
        (is_wanted && is_alive(archive, &run)).then_some((run, index))
    })
}

fn verdicts(log: &Path, run: &str) -> (usize, usize) {
    // The event's name is near the start of a line.
    let mark = format!("\"event\":\"{VERDICT}\"");
    let is_verdict =
        |bytes: &[u8]| bytes[..bytes.len().min(256)].windows(mark.len()).any(|part| part == mark.as_bytes());
    let lines = log::tail(log, MAX_TAIL_BYTES, is_verdict).unwrap_or_default();
    let of_run = lines.iter().filter(|line| line.recorded.run.as_deref() == Some(run));
    let recorded = of_run.filter_map(|line| RecordedVerdict::read(line.recorded.verdict.as_deref()?));
    recorded.fold((0, 0), |(blocks, escalations), RecordedVerdict { verdict, .. }| {
        (
            blocks + usize::from(verdict.decision == Decision::Block),
            escalations + usize::from(verdict.escalated),
        )
    })
}
