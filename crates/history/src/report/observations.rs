//! Observations: facts worth knowing about a run that are not part of an incident.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use strum::VariantArray;

use super::incidents::{Incident, IncidentKind};
use super::input::ReportInput;
use super::messages::{MessageRow, MessageStats};
use super::tasks::{TaskHistory, TaskUpdate};
use crate::timeline::{Entry, Kind};
use teamkeep_model::TaskStatus;
use teamkeep_model::time::Timestamp;
use teamkeep_model::words::count;
use teamkeep_policy::Decision;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    pub code: ObservationKind,
    pub at: Option<Timestamp>,
    pub who: Option<String>,
    pub task: Option<String>,
    pub what: String,
    /// The id of the timeline's entry that shows it.
    #[serde(skip)]
    entry: Option<String>,
}

/// The kinds of observations, most important first. Kinds are only added, never renamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum ObservationKind {
    StoppedAtWork,
    WorkReturned,
    /// The run ended, or the task was erased, before it was completed.
    Unfinished,
    TaskErased,
    NotDelivered,
    Refused,
    NeverReported,
    Blocked,
    Escalated,
    Warned,
    NoEnd,
    EventsMissing,
    Unreadable,
}

impl ObservationKind {
    pub const ALL: &[ObservationKind] = ObservationKind::VARIANTS;
}

pub(super) fn observations(
    case: &ReportInput<'_>,
    mail: &MessageStats,
    tasks: &[TaskHistory],
    incidents: &[Incident],
) -> Vec<Observation> {
    let mut found = stopped_at_work(case, tasks);
    found.extend(task_observations(case, tasks));
    found.extend(message_observations(case, mail));
    found.extend(verdict_observations(case));
    found.extend(data_gaps(case));
    let covered = Covered::by(incidents);
    found.retain(|observation| !covered.has(observation));
    found.sort_by_key(|observation| (observation.code, observation.at));
    found
}

/// What incidents already show: the loss of a task, an entry that they count, or the missing end of a crash.
struct Covered<'a> {
    tasks: HashSet<&'a str>,
    entries: HashSet<&'a str>,
    is_crashed: bool,
}

impl<'a> Covered<'a> {
    fn by(incidents: &'a [Incident]) -> Covered<'a> {
        let entries = incidents.iter().flat_map(|incident| incident.evidence.iter().chain(&incident.counted));
        Covered {
            tasks: incidents.iter().flat_map(|incident| &incident.tasks).map(String::as_str).collect(),
            entries: entries.map(String::as_str).collect(),
            is_crashed: incidents.iter().any(|incident| incident.kind == IncidentKind::CrashedLead),
        }
    }

    fn has(&self, observation: &Observation) -> bool {
        let has_task = observation.task.as_ref().is_some_and(|task| self.tasks.contains(task.as_str()));
        let has_entry = observation.entry.as_ref().is_some_and(|entry| self.entries.contains(entry.as_str()));
        match observation.code {
            ObservationKind::StoppedAtWork
            | ObservationKind::WorkReturned
            | ObservationKind::Unfinished
            | ObservationKind::TaskErased => has_task || has_entry,
            ObservationKind::NoEnd => self.is_crashed,
            _ => has_entry,
        }
    }
}

impl Observation {
    /// An observation with only the required fields.
    pub fn new(code: ObservationKind, what: impl Into<String>) -> Observation {
        Observation { code, at: None, who: None, task: None, what: what.into(), entry: None }
    }

    pub fn at(self, at: Timestamp) -> Observation {
        Observation { at: Some(at), ..self }
    }

    pub fn of(self, who: &str) -> Observation {
        Observation { who: Some(who.to_owned()), ..self }
    }

    pub(crate) fn shown_by(self, entry: &Entry) -> Observation {
        Observation { entry: Some(entry.id()), ..self }.at(entry.at)
    }

    pub fn task(self, task: &str) -> Observation {
        Observation { task: Some(task.to_owned()), ..self }
    }
}

fn stopped_at_work(case: &ReportInput<'_>, tasks: &[TaskHistory]) -> Vec<Observation> {
    let mut found = Vec::new();
    for entry in case.entries.iter().filter(|entry| entry.kind() == Kind::ShutdownApproved) {
        let who = &entry.actor;
        for task in tasks.iter().filter(|task| task.is_held(who, entry.at.millis())) {
            let what =
                format!("{who} approved its shutdown with task {} in progress{}", task.id, called(task));
            found.push(
                Observation::new(ObservationKind::StoppedAtWork, what).shown_by(entry).of(who).task(&task.id),
            );
        }
    }
    found
}

/// Tasks that were returned to pending, erased or never completed.
fn task_observations(case: &ReportInput<'_>, tasks: &[TaskHistory]) -> Vec<Observation> {
    let mut found = Vec::new();
    let returned = |change: &&TaskUpdate| {
        change.by == "client" && change.to == Some(TaskStatus::Pending) && change.owner_from.is_some()
    };
    for task in tasks {
        for change in task.changes.iter().filter(returned) {
            let owner = change.owner_from.as_deref().unwrap_or_default();
            let what =
                format!("Claude Code returned task {} to pending and unassigned it (was {owner})", task.id);
            found.push(
                Observation::new(ObservationKind::WorkReturned, what).at(change.at).of(owner).task(&task.id),
            );
        }
        // Claude Code erases completed tasks in every run.
        let erased = task.changes.iter().filter(|change| change.kind == Kind::TaskErased);
        for change in erased.filter(|_| task.is_unfinished()) {
            let what = format!("Claude Code erased task {} ({}){}", task.id, task.status, called(task));
            found.push(Observation::new(ObservationKind::TaskErased, what).at(change.at).task(&task.id));
        }
        if task.is_unfinished() && (case.is_over() || task.removed_at.is_some()) {
            let last = task.changes.iter().rev().find_map(|change| change.owner.as_deref());
            let owned = match (&task.owner, last) {
                (Some(owner), _) => format!("owned by {owner}"),
                (None, Some(last)) => format!("unassigned (was {last})"),
                (None, None) => "unassigned".to_owned(),
            };
            let (id, status, called) = (&task.id, &task.status, called(task));
            let what = format!("task {id} was never completed: status {status}, {owned}{called}");
            let observation = Observation::new(ObservationKind::Unfinished, what).task(&task.id);
            found.push(last.map_or(observation.clone(), |owner| observation.of(owner)));
        }
    }
    found
}

fn called(task: &TaskHistory) -> String {
    task.subject.as_ref().map_or_else(String::new, |subject| format!(": {subject}"))
}

fn message_observations(case: &ReportInput<'_>, mail: &MessageStats) -> Vec<Observation> {
    let mut found = Vec::new();
    // No agent has to read an answer to a shutdown request: Claude Code acts on it.
    let is_for_reader = |message: &&MessageRow| !message.automatic && message.kind != "shutdown_response";
    for message in mail.messages.iter().filter(is_for_reader) {
        let to = if message.to == "*" { "everyone" } else { &message.to };
        let what = format!("{} from {} to {to}", message.kind, message.from);
        let about = message.summary.as_ref().map_or_else(String::new, |summary| format!(": {summary}"));
        let observation = match (&message.refused, message.delivered) {
            // A message that a gate blocked is reported as a block.
            (Some(_), _) if message.blocked => continue,
            (Some(_), _) => Observation::new(ObservationKind::Refused, format!("{what} was rejected{about}")),
            (None, Some(false)) => {
                Observation::new(ObservationKind::NotDelivered, format!("{what} was never read{about}"))
            }
            _ => continue,
        };
        let observation = observation.at(message.at).of(&message.from);
        found.push(Observation { entry: Some(message.id.clone()), ..observation });
    }
    for name in case.teammates() {
        let is_sent = |message: &MessageRow| {
            !message.automatic && message.refused.is_none() && !message.kind.starts_with("shutdown_")
        };
        let reports =
            |message: &&MessageRow| message.from == name && (message.answer.is_some() || is_sent(message));
        // If events are missing, messages that only they show may be missing, too.
        let is_known = case.data.missing_until.is_none();
        if is_known && case.is_over() && !mail.messages.iter().any(|message| reports(&message)) {
            let what = format!("{name} never sent a message");
            found.push(Observation::new(ObservationKind::NeverReported, what).of(name));
        }
    }
    found
}

fn verdict_observations(case: &ReportInput<'_>) -> Vec<Observation> {
    let observation = |entry: &Entry| {
        let verdict = entry.verdict().filter(|verdict| !verdict.repeated)?;
        let (code, done) = match (verdict.decision, verdict.blocks) {
            (Decision::Block, _) => (ObservationKind::Blocked, "blocked".to_owned()),
            (_, Some(blocks)) => {
                let blocks = count(blocks, "block");
                (ObservationKind::Escalated, format!("allowed by the loop guard after {blocks}"))
            }
            (Decision::Warn, _) => (ObservationKind::Warned, "warned".to_owned()),
            _ => return None,
        };
        let reason = verdict.reason.trim_end_matches('.');
        let what = format!("{} was {done}: {reason} ({})", entry.actor, verdict.gate);
        Some(Observation::new(code, what).shown_by(entry).of(&entry.actor))
    };
    case.entries.iter().filter_map(observation).collect()
}

/// An action that a gate or a rule blocked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockedAction {
    pub at: Timestamp,
    pub agent: String,
    pub gate: String,
}

/// All blocks, each once.
pub(super) fn blocks(case: &ReportInput<'_>) -> Vec<BlockedAction> {
    let block = |entry: &Entry| {
        let verdict = entry.verdict().filter(|one| !one.repeated && one.decision == Decision::Block)?;
        Some(BlockedAction { at: entry.at, agent: entry.actor.clone(), gate: verdict.gate.clone() })
    };
    case.entries.iter().filter_map(block).collect()
}

fn data_gaps(case: &ReportInput<'_>) -> Vec<Observation> {
    let mut found: Vec<Observation> = case
        .data
        .problems()
        .into_iter()
        .map(|what| Observation::new(ObservationKind::Unreadable, what))
        .collect();
    if case.data.client_gone {
        let what = "the process of Claude Code is gone, but no end of the run was recorded";
        found.push(Observation::new(ObservationKind::NoEnd, what).at(case.end));
    }
    if let Some(until) = &case.data.missing_until {
        let what = format!("events until {until} are missing: the run has no log from before");
        found.push(Observation::new(ObservationKind::EventsMissing, what).at(case.data.run.started_at));
    }
    found
}
