//! A team's status on one line, which Claude Code shows below its prompt many times a minute. No timeline is opened
//! for it.

use std::path::Path;

use super::team::unread;
use super::{StatusPaths, is_alive};
use crate::archive::{Archive, CaptureScope, Index, RunRecord};
use crate::clock::Time;
use crate::enforcement::{GateStateStore, Overrides, VERDICT, team_state};
use crate::event::{LEAD, SafeName};
use crate::log;
use crate::policy::{Decision, RecordedVerdict};

/// Number of bytes to read from the end of a large log for verdicts.
const LOOKED_AT: u64 = 4 << 20;

/// Which team to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted<'a> {
    /// The team of a session.
    Session(&'a str),
    /// The team that changed last.
    Latest,
}

/// The status of a team as numbers, without the lead, who reads them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatusLine {
    /// The team.
    pub team: String,
    /// Teammates in a turn.
    pub working: usize,
    /// Other teammates that have not left.
    pub idle: usize,
    /// Completed tasks.
    pub done: usize,
    /// All tasks.
    pub tasks: usize,
    /// Unread messages.
    pub unread: usize,
    /// Number of blocks.
    pub blocks: usize,
    /// Number of actions that the loop guard allowed.
    pub escalations: usize,
    /// Whether there are tasks in a list that teamkeep does not know.
    pub blind: bool,
    /// Whether there are team files that teamkeep cannot read.
    pub unreadable: bool,
    /// Whether a gate is paused for the team.
    pub paused: bool,
}

impl StatusLine {
    /// Finds the team and counts; `None` if no such team is running.
    pub fn find(
        archive: &Archive,
        wanted: Wanted<'_>,
        surroundings: &StatusPaths<'_>,
        overrides: &Overrides,
        now: Time,
    ) -> Option<StatusLine> {
        let (run, index) = open_runs(archive, wanted).max_by(|one, other| one.1.at.cmp(&other.1.at))?;
        let id = SafeName::new(&run.run)?;
        let ledger =
            GateStateStore::new(surroundings.policy.to_owned(), std::time::Duration::ZERO).read(&id).ledger;
        let team = run.team.clone().unwrap_or_default();
        let state = team_state(archive, surroundings.client, (Some(&team), None), Some(&index), ledger);
        let mates = || state.members.iter().filter(|name| *name != LEAD);
        let working = mates().filter(|name| state.ledger.of(name).turn).count();
        let tasks = || state.tasks.values().filter(|task| !task.internal);
        let (blocks, escalations) = verdicts(surroundings.log, &run.run);
        Some(StatusLine {
            working,
            idle: mates().count() - working,
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

/// The running teams' runs that are wanted, with their last snapshot.
fn open_runs<'a>(archive: &'a Archive, wanted: Wanted<'a>) -> impl Iterator<Item = (RunRecord, Index)> + 'a {
    let teams =
        archive.open_subjects().into_iter().filter(|subject| matches!(subject, CaptureScope::Team(_)));
    teams.filter_map(move |subject| {
        let index = archive.index(&subject).filter(|index| !index.ended)?;
        let run = archive.run(&index.run)?;
        let is_meant = match wanted {
            Wanted::Session(id) => {
                index.is_led_by(Some(id)) || run.sessions.iter().any(|session| session.id == id)
            }
            Wanted::Latest => true,
        };
        (is_meant && is_alive(archive, &run)).then_some((run, index))
    })
}

/// The number of blocks and of actions that the loop guard allowed, from the end of the log.
fn verdicts(log: &Path, run: &str) -> (usize, usize) {
    // The event's name is near the start of a line.
    let mark = format!("\"event\":\"{VERDICT}\"");
    let is_verdict =
        |bytes: &[u8]| bytes[..bytes.len().min(256)].windows(mark.len()).any(|part| part == mark.as_bytes());
    let lines = log::tail(log, LOOKED_AT, is_verdict).unwrap_or_default();
    let of_run = lines.iter().filter(|line| line.recorded.run.as_deref() == Some(run));
    let said = of_run.filter_map(|line| RecordedVerdict::read(line.recorded.verdict.as_deref()?));
    said.fold((0, 0), |(blocks, escalations), ruling| {
        let verdict = ruling.verdict;
        (
            blocks + usize::from(verdict.decision == Decision::Block),
            escalations + usize::from(verdict.escalated),
        )
    })
}
