//! One line about a team, which Claude Code shows below its prompt many times a minute. It comes from the last snapshots
//! and the policy's counts, without opening a timeline.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

use super::observed::{AgentState, Observed};
use super::{is_alive, unread};
use teamkeep_history::timeline::RunData;
use teamkeep_hook::enforcement::{GateStateStore, SnapshotReader};
use teamkeep_model::event::LEAD;
use teamkeep_model::time::Timestamp;
use teamkeep_policy::{Decision, Overrides, RecordedVerdict, TeamState, VERDICT};
use teamkeep_store::archive::{Archive, Index, RunRecord};
use teamkeep_store::log::{self, Logs};
use teamkeep_system::paths::Paths;

/// Number of bytes to read from the end of a large log for verdicts.
const MAX_TAIL_BYTES: u64 = 4 << 20;

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
const FILE_NAME: &str = "attention.json";
/// Version of the content.
const VERSION: u32 = 3;
/// How long it is used.
const MAX_AGE: TimeDelta = TimeDelta::seconds(30);

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
            v: VERSION,
            at: observed.at,
            states: there.map(|member| (member.name.clone(), member.state)).collect(),
            incidents: observed.incidents().iter().filter(is_open).count(),
        }
    }

    /// The stored one, if it is recent.
    pub fn stored(archive: &Archive, run: &str, now: Timestamp) -> Option<Attention> {
        let stored: Attention = archive.cached(run, FILE_NAME)?;
        let is_recent = stored.at <= now && now - stored.at <= MAX_AGE;
        (stored.v == VERSION && is_recent).then_some(stored)
    }

    /// Stores it. A failure is ignored: it is made again.
    pub fn store(&self, archive: &Archive, run: &str) {
        archive.cache(run, FILE_NAME, self);
    }
}
