//! The observed phases of a run.

use serde::{Deserialize, Serialize};

use super::input::ReportInput;
use crate::model::Tool;
use crate::payload::Kind as Event;
use crate::timeline::{Entry, Kind, TaskEntry};

/// One phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    /// Which.
    pub name: PhaseName,
    /// The first sign of it, RFC 3339; `None` if there was none.
    pub from: Option<String>,
    /// The last sign of it.
    pub to: Option<String>,
    /// Number of signs.
    pub signs: usize,
}

/// The phases, in their usual order. They can overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PhaseName {
    /// The session starts and the team is created.
    Setup,
    /// Tasks are created.
    Define,
    /// Tasks are assigned.
    Assign,
    /// Teammates join.
    Spawn,
    /// After the first teammate joined: messages, and the lead's checks of the tasks.
    Monitor,
    /// Teammates are asked to shut down, and answer.
    Shutdown,
    /// The team is deleted, its files disappear, the session ends.
    Cleanup,
}

/// All phases.
const ALL: [PhaseName; 7] = [
    PhaseName::Setup,
    PhaseName::Define,
    PhaseName::Assign,
    PhaseName::Spawn,
    PhaseName::Monitor,
    PhaseName::Shutdown,
    PhaseName::Cleanup,
];

/// Tools with which a lead checks the progress of others.
const READ_TOOLS: [&str; 3] = ["TaskList", "TaskGet", "TaskOutput"];

/// Collects the signs of each phase.
pub fn phases(case: &ReportInput<'_>) -> Vec<Phase> {
    let mut signs: Vec<(PhaseName, String)> =
        case.entries.iter().filter_map(|entry| Some((sign(case, entry)?, entry.at.clone()))).collect();
    for event in &case.material.events {
        let phase = match (event.kind, event.payload.tool()) {
            (Event::PreToolUse | Event::PostToolUse, Some(Tool::TeamCreate)) => PhaseName::Setup,
            (Event::PreToolUse | Event::PostToolUse, Some(Tool::TeamDelete)) => PhaseName::Cleanup,
            _ => continue,
        };
        signs.push((phase, event.at.clone()));
    }
    let leads = case.material.transcripts.uses.values().filter(|used| used.by == case.lead);
    let looks = leads.filter(|used| READ_TOOLS.contains(&used.tool.as_str()));
    signs.extend(looks.filter_map(|used| Some((PhaseName::Monitor, case.ours(used.at.as_ref())?))));
    let spawned = signs.iter().filter(|(name, _)| *name == PhaseName::Spawn).map(|(_, at)| at.clone()).min();
    signs.retain(|(name, at)| {
        *name != PhaseName::Monitor || spawned.as_ref().is_some_and(|spawned| at > spawned)
    });
    let phase = |name| {
        let own = signs.iter().filter(|(sign, _)| *sign == name).map(|(_, at)| at);
        Phase { name, from: own.clone().min().cloned(), to: own.clone().max().cloned(), signs: own.count() }
    };
    ALL.map(phase).into()
}

/// The phase of which an entry is a sign.
fn sign(case: &ReportInput<'_>, entry: &Entry) -> Option<PhaseName> {
    let by_lead = entry.actor == case.lead;
    let assigns = |task: &TaskEntry| task.owner.is_some() && (by_lead || task.from == task.to);
    match entry.kind() {
        Kind::SessionStarted | Kind::TeamCreated => Some(PhaseName::Setup),
        Kind::TaskCreated => Some(PhaseName::Define),
        Kind::TaskChanged if entry.task().is_some_and(assigns) => Some(PhaseName::Assign),
        Kind::MemberJoined if !by_lead => Some(PhaseName::Spawn),
        Kind::Message if !entry.is_automatic() => Some(PhaseName::Monitor),
        Kind::ShutdownRequested | Kind::ShutdownApproved | Kind::ShutdownRejected => {
            Some(PhaseName::Shutdown)
        }
        Kind::TeamErased | Kind::SessionEnded => Some(PhaseName::Cleanup),
        _ => None,
    }
}
