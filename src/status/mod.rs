//! The status of running teams, and the size of the recorded data.
//!
//! [`Status`] is built from the timelines of the running teams. [`StatusLine`] is one line for Claude Code's status line,
//! from the last snapshots and the policy's counts, without opening a timeline.

mod status_line;

pub use status_line::{StatusLine, Wanted};

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::timeline::{Entry, LiveState, OpenedRun, RunCatalog, RunData, is_client_gone, merge};
use teamkeep_core::enforcement::{Overrides, SnapshotReader};
use teamkeep_core::model::TaskStatus;
use teamkeep_core::policy::{Activity, Decision, TeamState};
use teamkeep_core::store::archive::{Archive, RunRecord};
use teamkeep_core::store::log;
use teamkeep_core::sys::clock::Timestamp;
use teamkeep_core::sys::fs;

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
pub fn alive(library: &RunCatalog) -> Vec<&RunRecord> {
    library.runs.iter().filter(|run| is_alive(&library.archive, run)).collect()
}

fn is_alive(archive: &Archive, run: &RunRecord) -> bool {
    let is_open = run.team.is_some() && run.ended_at.is_none() && run.imported.is_none();
    is_open && !run.sessions.is_empty() && !is_client_gone(archive, run)
}

impl Status {
    /// Builds the status. `opened` are the running runs, `overrides` the active pauses and allowances.
    pub fn of(
        library: &RunCatalog,
        opened: &OpenedRun,
        paths: &StatusPaths<'_>,
        overrides: Overrides,
        now: Timestamp,
    ) -> Status {
        let mut overrides = Overrides { v: 1, ..overrides };
        overrides.pauses.retain(|pause| pause.is_in_force(now));
        let live = opened.runs.iter().filter(|data| !data.client_gone);
        Status {
            v: 1,
            at: now,
            teams: live.map(|data| TeamStatus::of(library, data, paths)).collect(),
            overrides,
            record: StoreStats::count(library, paths.log),
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct StatusPaths<'a> {
    pub client: Option<&'a Path>,
    pub log: &'a Path,
    pub policy: &'a Path,
}

#[derive(Debug, Serialize)]
pub struct TeamStatus {
    pub run: String,
    pub team: String,
    pub lead_session: Option<String>,
    pub started_at: Timestamp,
    /// The last sign of the team. An old version of Claude Code names no process, so it may be gone since.
    pub heard_at: Option<Timestamp>,
    pub members: Vec<Member>,
    pub tasks: Vec<Item>,
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Member {
    pub name: String,
    pub doing: &'static str,
    pub since: Timestamp,
    pub tasks: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Item {
    pub id: String,
    pub status: TaskStatus,
    pub owner: Option<String>,
    pub subject: String,
}

impl TeamStatus {
    fn of(library: &RunCatalog, data: &RunData, paths: &StatusPaths<'_>) -> TeamStatus {
        let (run, entries) = (&data.run, merge(data).entries);
        let state = LiveState::of(&entries);
        let tasks = state.tasks.iter().filter(|(_, task)| !task.is_gone()).map(|((_, id), task)| Item {
            id: id.clone(),
            status: task.status.clone().unwrap_or_else(TaskStatus::unknown),
            owner: task.owner.clone(),
            subject: task.subject.clone(),
        });
        let tasks: Vec<Item> = tasks.collect();
        let in_progress = |name: &str| {
            let own = tasks
                .iter()
                .filter(|task| task.status == TaskStatus::InProgress && task.owner.as_deref() == Some(name));
            own.map(|task| task.id.clone()).collect()
        };
        let members = state.roster.iter().map(|member| Member {
            name: member.name.clone(),
            doing: member.doing.word(),
            since: member.since,
            tasks: in_progress(&member.name),
        });
        let members = members.collect();
        let index = run.subject().and_then(|subject| library.archive.index(&subject));
        let index = index.filter(|index| index.run == run.run);
        let verdicts = || entries.iter().filter_map(Entry::verdict);
        let decided = |decision| verdicts().filter(move |verdict| verdict.decision == decision);
        // Roster, tasks and messages from the files on disk, or else from the last snapshots.
        let team = (run.team.as_deref(), None);
        let reader = SnapshotReader { archive: &library.archive, client: paths.client, until: None };
        let files = reader.team(team, index.as_ref());
        TeamStatus {
            run: run.run.clone(),
            team: run.team.clone().unwrap_or_default(),
            lead_session: run.lead_session.clone(),
            started_at: run.started_at,
            heard_at: data.last_sign(),
            members,
            tasks,
            unread: unread(&files),
            missing_tasks: files.missing,
            unreadable: files.unreadable.iter().map(|one| format!("{}: {}", one.path, one.why)).collect(),
            blocks: decided(Decision::Block).count(),
            escalations: verdicts().filter(|verdict| verdict.blocks.is_some()).count(),
            warnings: decided(Decision::Warn).filter(|verdict| !verdict.repeated).count(),
        }
    }

    pub fn doing(&self, doing: Activity) -> usize {
        self.members.iter().filter(|member| member.doing == doing.word()).count()
    }
}

pub(super) fn unread(state: &TeamState) -> BTreeMap<String, usize> {
    let waiting = state.mail.iter().filter(|(_, count)| **count > 0);
    waiting.map(|(owner, count)| (owner.clone(), *count)).collect()
}

/// A smaller log is counted line by line, in bytes.
const MAX_COUNTED_BYTES: u64 = 16 << 20;
/// Number of bytes of each segment from which the length of a line is estimated.
const SAMPLE_BYTES: u64 = 64 << 10;
const TIMEOUT: Duration = Duration::from_millis(150);

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
    pub fn count(library: &RunCatalog, log: &Path) -> StoreStats {
        let (events, events_counted) = events(log);
        let until = Instant::now() + TIMEOUT;
        let mut bytes = log::size(log);
        let walked = library.archive.objects.each(|stored| {
            bytes += stored.size;
            if Instant::now() < until { Ok(()) } else { Err(ErrorKind::TimedOut.into()) }
        });
        let mut bytes_counted = walked.is_ok();
        for run in &library.runs {
            bytes_counted &= Instant::now() < until;
            if !bytes_counted {
                break;
            }
            bytes += library.archive.contents_size(&run.run);
        }
        StoreStats { runs: library.runs.len(), events, events_counted, bytes, bytes_counted }
    }
}

fn events(dir: &Path) -> (u64, bool) {
    let segments = log::list(dir).unwrap_or_default();
    let all: u64 = segments.iter().map(|segment| segment.size).sum();
    let most = if all <= MAX_COUNTED_BYTES { u64::MAX } else { SAMPLE_BYTES };
    let (mut read, mut lines) = (0u64, 0u64);
    for segment in &segments {
        let Ok((bytes, count)) = count_lines(&segment.path(dir), most) else { continue };
        read += bytes;
        lines += count;
    }
    if most == u64::MAX {
        return (lines, true);
    }
    let scaled = u128::from(lines) * u128::from(all) / u128::from(read.max(1));
    (u64::try_from(scaled).unwrap_or(u64::MAX), false)
}

/// Counts the line breaks in the first bytes of a file.
fn count_lines(path: &Path, most: u64) -> io::Result<(u64, u64)> {
    let mut from = fs::open_regular(path)?.take(most);
    let mut chunk = vec![0u8; 64 << 10];
    let (mut bytes, mut lines) = (0u64, 0u64);
    loop {
        match from.read(&mut chunk)? {
            0 => return Ok((bytes, lines)),
            count => {
                bytes += count as u64;
                lines += chunk[..count].iter().filter(|byte| **byte == b'\n').count() as u64;
            }
        }
    }
}
