//! The key figures of a run, and its observed phases.

use super::input::ReportInput;
use super::messages::MessageStats;
use super::spending::Spending;
use super::tasks::TaskHistory;
use super::turns::Turn;
use crate::timeline::{Entry, Kind};
use serde::{Deserialize, Serialize};
use strum::VariantArray;
use teamkeep_model::payload::EventKind as Event;
use teamkeep_model::time::Timestamp;
use teamkeep_model::{TaskStatus, Tool, json};
use teamkeep_policy::TaskChange;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overview {
    pub run: String,
    pub team: Option<String>,
    pub lead_session: Option<String>,
    /// The first recorded hook call of the run. Its session may have started before.
    pub started_at: Timestamp,
    /// When it ended; `None` for a running team, and if no end is recorded.
    pub ended_at: Option<Timestamp>,
    /// From the first recorded hook call of the run (`started_at`) to its end, in milliseconds; without a recorded end,
    /// to its last recorded moment.
    pub duration_ms: Option<i64>,
    /// How it ended: `session-end`, `team-delete`, `replaced`, `crashed` or `disappeared`.
    pub ended_by: Option<String>,
    pub ended_reason: Option<String>,
    pub client_versions: Vec<String>,
    pub topology: Topology,
    pub members: Vec<Person>,
    /// The worktrees whose work is recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub worktrees: Vec<String>,
    pub count: Count,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Topology {
    InProcess,
    Panes,
    Mixed,
    LeadAlone,
    NoTeam,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    pub name: String,
    pub agent_type: Option<String>,
    pub model: Option<String>,
    pub joined_at: Option<Timestamp>,
    pub left_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    pub members: usize,
    pub messages: usize,
    pub automatic: usize,
    pub refused: usize,
    /// Number of tasks, without deleted ones.
    pub tasks: usize,
    pub completed: usize,
    pub turns: usize,
    pub events: usize,
    pub snapshots: usize,
}

/// What the overview and the incidents are made of.
#[derive(Clone, Copy)]
pub(crate) struct Parts<'a> {
    pub mail: &'a MessageStats,
    pub tasks: &'a [TaskHistory],
    pub turns: &'a [Turn],
    pub spending: &'a Spending<'a>,
}

pub(super) fn overview(case: &ReportInput<'_>, parts: Parts<'_>, until: Timestamp) -> Overview {
    let Parts { mail, tasks, turns, .. } = parts;
    let (data, run) = (case.data, &case.data.run);
    let recorded = |automatic: bool| {
        mail.messages.iter().filter(|one| one.automatic == automatic && one.refused.is_none()).count()
    };
    Overview {
        run: run.run.clone(),
        team: run.team.clone(),
        lead_session: run.lead_session.clone(),
        started_at: run.started_at,
        ended_at: run.ended_at,
        duration_ms: Some((until - run.started_at).num_milliseconds()),
        ended_by: run.ended_by.map(|by| json::serde_name(&by)),
        ended_reason: run.ended_reason.clone(),
        client_versions: data.transcripts.versions.iter().cloned().collect(),
        topology: topology(case),
        members: data.members.iter().map(|name| person(case, name)).collect(),
        worktrees: data.worktrees(None).into_keys().collect(),
        count: Count {
            members: data.members.len(),
            messages: recorded(false),
            automatic: recorded(true),
            refused: mail.messages.iter().filter(|one| one.refused.is_some()).count(),
            tasks: tasks.iter().filter(|task| task.status != TaskStatus::Deleted).count(),
            completed: tasks.iter().filter(|task| task.status == TaskStatus::Completed).count(),
            turns: turns.len(),
            events: data.events.iter().filter(|event| event.verdict.is_none()).count(),
            snapshots: data.journal.snapshots.len(),
        },
    }
}

fn topology(case: &ReportInput<'_>) -> Topology {
    let panes = case.teammates().filter(|name| case.data.run.has_pane(name)).count();
    match case.teammates().count() {
        _ if case.data.run.team.is_none() => Topology::NoTeam,
        0 => Topology::LeadAlone,
        _ if panes == 0 => Topology::InProcess,
        all if panes == all => Topology::Panes,
        _ => Topology::Mixed,
    }
}

fn person(case: &ReportInput<'_>, name: &str) -> Person {
    let snapshots = &case.data.snapshots;
    let members = snapshots.members();
    let text = |key: &str| members.get(name)?.raw.get(key)?.as_str().map(str::to_owned);
    let stays = case.team.stays(name);
    Person {
        name: name.to_owned(),
        agent_type: text("agentType"),
        model: text("model"),
        joined_at: stays.first().map(|(from, _)| *from),
        left_at: stays.last().and_then(|(_, to)| *to),
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    pub name: PhaseName,
    /// The first sign of it; `None` if there was none.
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
    pub signs: usize,
}

/// The phases, in their usual order. They can overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "lowercase")]
pub enum PhaseName {
    Setup,
    Define,
    Assign,
    Spawn,
    /// After the first teammate joined: messages, and the lead's checks of the tasks.
    Monitor,
    Shutdown,
    Cleanup,
}

const READ_TOOLS: [&str; 3] = ["TaskList", "TaskGet", "TaskOutput"];

pub(super) fn phases(case: &ReportInput<'_>) -> Vec<Phase> {
    let mut signs: Vec<(PhaseName, Timestamp)> =
        case.entries.iter().filter_map(|entry| Some((phase_of(case, entry)?, entry.at))).collect();
    for event in &case.data.events {
        let phase = match (event.kind, event.tool()) {
            (Event::PreToolUse | Event::PostToolUse, Some(Tool::TeamCreate)) => PhaseName::Setup,
            (Event::PreToolUse | Event::PostToolUse, Some(Tool::TeamDelete)) => PhaseName::Cleanup,
            _ => continue,
        };
        signs.push((phase, event.at));
    }
    let leads = case.data.transcripts.uses.values().filter(|used| used.transcript.by == case.lead);
    let checks = leads.filter(|used| READ_TOOLS.contains(&used.tool.as_str()));
    signs.extend(checks.filter_map(|used| Some((PhaseName::Monitor, case.to_local(used.at)?))));
    let spawned = signs.iter().filter(|(name, _)| *name == PhaseName::Spawn).map(|(_, at)| *at).min();
    signs.retain(|(name, at)| match name {
        PhaseName::Monitor => spawned.is_some_and(|spawned| *at > spawned),
        // A later session continues the team.
        PhaseName::Setup => spawned.is_none_or(|spawned| *at <= spawned),
        _ => true,
    });
    let phase = |name| {
        let own = signs.iter().filter(|(sign, _)| *sign == name).map(|(_, at)| *at);
        Phase { name, from: own.clone().min(), to: own.clone().max(), signs: own.count() }
    };
    PhaseName::VARIANTS.iter().copied().map(phase).collect()
}

fn phase_of(case: &ReportInput<'_>, entry: &Entry) -> Option<PhaseName> {
    let by_lead = entry.actor == case.lead;
    let assigns = |task: &TaskChange| task.owner.is_some() && (by_lead || task.from == task.to);
    match entry.kind() {
        Kind::SessionStarted | Kind::TeamCreated => Some(PhaseName::Setup),
        Kind::TaskCreated => Some(PhaseName::Define),
        Kind::TaskChanged if entry.task().is_some_and(assigns) => Some(PhaseName::Assign),
        Kind::MemberJoined if !by_lead => Some(PhaseName::Spawn),
        Kind::Message if !entry.is_automatic() => Some(PhaseName::Monitor),
        Kind::ShutdownRequested | Kind::ShutdownApproved | Kind::ShutdownRejected | Kind::AgentStopped => {
            Some(PhaseName::Shutdown)
        }
        Kind::TeamErased | Kind::SessionEnded => Some(PhaseName::Cleanup),
        _ => None,
    }
}
