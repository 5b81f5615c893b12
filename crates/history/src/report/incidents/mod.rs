//! Incidents: what went wrong, once for each cause, with its evidence, its cost and a remedy. The symptoms of a cause
//! are in its chain.
//!
//! A new kind needs:
//! - a variant of [`IncidentKind`], whose methods ask what it is;
//! - a function in a file here that finds it, and its place in [`incidents`], which decides what it explains;
//! - its name in `crates/config/src/model.rs`, a row in `docs/reference/incidents.md`, and a run that has it in
//!   `tests/it/report/incident_kinds.rs`;
//! - if an agent is in another state meanwhile: `effect` in `src/status/observed.rs`, and `HALTS` in `src/view/html/script/lanes.js`;
//! - if it is a condition: its words in `src/watch/draw/alerts.rs`; if messages wait for an agent in it: `ABOUT_LATE` in
//!   `src/view/html/script/details.js`;
//! - if it is over when others complete the work that an agent left: `is_resolved` in `scene.rs`.

mod chains;
mod departures;
mod failures;
mod scene;
mod stalls;
mod teamwork;
mod waits;

use std::fmt;

use serde::{Deserialize, Serialize};
use strum::VariantArray;

use crate::timeline::{Entry, TurnEvent};
use scene::Draft;
pub(super) use scene::Scene;
pub(super) use stalls::millis;
pub use stalls::restore_command;
use teamkeep_model::json;
use teamkeep_model::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Incident {
    /// Ten hexadecimal digits. A later look at the same run finds the same incident under the same id.
    pub id: String,
    pub kind: IncidentKind,
    pub severity: Severity,
    /// The agents, the cause first.
    pub agents: Vec<String>,
    /// The ids of the tasks that it lost; if it lost none, of those that it is about.
    pub tasks: Vec<String>,
    pub from: Timestamp,
    /// `None` while it lasts.
    pub to: Option<Timestamp>,
    /// One sentence. It may quote the run, so escape it for a terminal.
    pub summary: String,
    /// The beginning of the summary, without what followed.
    #[serde(skip)]
    pub happened: String,
    /// The ids of the timeline's entries in `chain`.
    pub evidence: Vec<String>,
    /// The evidence for people, in order.
    pub chain: Vec<Step>,
    pub cost: IncidentCost,
    pub remedy: Option<Remedy>,
    /// Whether the work that an agent left was completed later.
    #[serde(default, skip_serializing_if = "is_false")]
    pub resolved: bool,
    /// The ids of entries that it counts, apart from those in `chain`.
    #[serde(skip)]
    pub counted: Vec<String>,
    /// When which agent was silent with work, in milliseconds.
    #[serde(skip)]
    pub silences: Vec<(String, (i64, i64))>,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// What to do about an incident.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Remedy {
    /// For a shell.
    Command(String),
    /// A sentence for a person. It may quote the run, so escape it for a terminal.
    Advice(String),
}

impl Remedy {
    pub fn text_mut(&mut self) -> &mut String {
        let (Remedy::Command(text) | Remedy::Advice(text)) = self;
        text
    }
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Remedy::Command(text) | Remedy::Advice(text)) = self;
        f.write_str(text)
    }
}

/// An entry of the timeline as evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// See [`Entry::id`].
    pub id: String,
    pub at: Timestamp,
    pub actor: String,
    pub what: String,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct IncidentCost {
    /// Number of tasks that were never completed because of it. No task counts for two incidents.
    pub tasks_lost: usize,
    /// Tokens of the model's messages that it made useless; `None` if unknown.
    pub tokens: Option<u64>,
    /// Their price in US dollars; `None` if unknown.
    pub usd: Option<f64>,
    /// How long it lasted.
    pub seconds: u64,
}

/// The kinds of incidents. Kinds are only added, never renamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum IncidentKind {
    CrashedLead,
    CrashedAgent,
    FailedAgent,
    StalledAgent,
    LostWork,
    TasksDeleted,
    WaitingPermission,
    WaitingApproval,
    BlockedChain,
    UnreadMessage,
    UnknownRecipient,
    FalseCompletion,
    DuplicateAgents,
    PolicyEscalated,
    UnfinishedWork,
    IdlePingPong,
}

impl IncidentKind {
    pub const ALL: &[IncidentKind] = IncidentKind::VARIANTS;

    /// Its name: `stalled-agent`.
    pub fn name(self) -> String {
        json::serde_name(&self)
    }

    /// Whether it is a condition that ends, rather than an event with consequences.
    pub fn is_condition(self) -> bool {
        use IncidentKind as Kind;
        match self {
            Kind::FailedAgent
            | Kind::StalledAgent
            | Kind::WaitingPermission
            | Kind::WaitingApproval
            | Kind::BlockedChain
            | Kind::UnreadMessage
            | Kind::DuplicateAgents
            | Kind::IdlePingPong => true,
            Kind::CrashedLead
            | Kind::CrashedAgent
            | Kind::LostWork
            | Kind::TasksDeleted
            | Kind::UnknownRecipient
            | Kind::FalseCompletion
            | Kind::PolicyEscalated
            | Kind::UnfinishedWork => false,
        }
    }

    /// Whether its tasks that were never completed are lost by it.
    fn is_loss(self) -> bool {
        use IncidentKind as Kind;
        match self {
            Kind::CrashedAgent | Kind::LostWork | Kind::TasksDeleted | Kind::BlockedChain => true,
            Kind::CrashedLead
            | Kind::FailedAgent
            | Kind::StalledAgent
            | Kind::WaitingPermission
            | Kind::WaitingApproval
            | Kind::UnreadMessage
            | Kind::UnknownRecipient
            | Kind::FalseCompletion
            | Kind::DuplicateAgents
            | Kind::PolicyEscalated
            | Kind::UnfinishedWork
            | Kind::IdlePingPong => false,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    High,
    Medium,
    Low,
}

impl Severity {
    pub fn name(self) -> String {
        json::serde_name(&self)
    }
}

impl Step {
    pub fn of(entry: &Entry, what: impl Into<String>) -> Step {
        Step { id: entry.id(), at: entry.at, actor: entry.actor.clone(), what: what.into() }
    }
}

/// Finds the incidents, worst first.
pub(super) fn incidents(scene: &Scene<'_>) -> Vec<Incident> {
    let waits = waits::waits(scene);
    let failed = failures::halts(scene, TurnEvent::Failed);
    let interrupted = failures::halts(scene, TurnEvent::Interrupted);
    let excused = waits.iter().map(|wait| (wait.agents[0].as_str(), wait.span));
    let halts = failed.iter().chain(&interrupted).map(|halt| (halt.agent, (halt.from(), halt.until(scene))));
    let excused: Vec<(&str, (i64, i64))> = excused.chain(halts).collect();
    let mut causes = departures::crashed_panes(scene);
    // A crash explains a failure, but an earlier failure does not.
    let (explained, own) = failures::failures(scene, &failed)
        .into_iter()
        .partition::<Vec<Draft>, _>(|draft| causes.iter().any(|cause| is_about_same_agent(cause, draft)));
    fold(&mut causes, explained, is_about_same_agent);
    causes.extend(own);
    fold(&mut causes, stalls::stalls(scene, &excused), is_about_same_agent);
    fold(&mut causes, departures::departures(scene), is_about_same_task);
    causes.extend(waits);
    fold(&mut causes, chains::unanswered_questions(scene), is_about_same_agent);
    // A block can be a symptom, but it is not an incident.
    let (escalated, blocked) =
        teamwork::verdicts(scene).into_iter().partition::<Vec<Draft>, _>(|draft| !draft.summary.is_empty());
    fold(&mut causes, escalated, is_about_same_agent);
    blocked.into_iter().for_each(|block| {
        if let Some(cause) = causes.iter_mut().find(|cause| is_about_same_agent(cause, &block)) {
            cause.explain(block);
        }
    });
    fold(&mut causes, waits::unread(scene), is_about_same_agent);
    fold(&mut causes, chains::blocked_chains(scene), |cause, chain| {
        is_about_same_task(cause, chain) || chains::is_held_up_by(scene, chain, cause)
    });
    causes.extend(waits::unknown_recipients(scene));
    causes.extend(teamwork::deleted_tasks(scene));
    causes.extend(teamwork::false_completions(scene));
    causes.extend(teamwork::duplicates(scene));
    causes.extend(teamwork::shared_names(scene));
    causes.extend(teamwork::ping_pong(scene));
    let rest = departures::assign(scene, &mut causes);
    // A crash explains the unfinished tasks that nothing else explains.
    let rest = departures::crashed_lead(scene, &rest).or_else(|| chains::unfinished_work(scene, &rest));
    causes.extend(rest);
    let mut incidents: Vec<Incident> = causes.into_iter().map(|draft| draft.finish(scene)).collect();
    incidents.sort_by(|a, b| {
        let rank = |one: &Incident| (one.severity, std::cmp::Reverse(one.cost.tasks_lost));
        let time = |one: &Incident| (std::cmp::Reverse(one.cost.seconds), one.from, one.kind);
        rank(a).cmp(&rank(b)).then_with(|| time(a).cmp(&time(b)))
    });
    incidents
}

/// Adds each symptom to the cause that explains it, else to the list as a cause of its own.
fn fold(causes: &mut Vec<Draft>, symptoms: Vec<Draft>, explains: impl Fn(&Draft, &Draft) -> bool) {
    for symptom in symptoms {
        match causes.iter_mut().find(|cause| explains(cause, &symptom)) {
            Some(cause) => cause.explain(symptom),
            None => causes.push(symptom),
        }
    }
}

/// A stall explains that its task was lost or held others up later, whatever its agent did meanwhile.
fn is_about_same_task(cause: &Draft, symptom: &Draft) -> bool {
    cause.span.0 <= symptom.span.1 && cause.tasks.iter().any(|task| symptom.tasks.contains(task))
}

fn is_about_same_agent(cause: &Draft, symptom: &Draft) -> bool {
    let is_same = symptom.agents.first().is_some_and(|agent| cause.agents.first() == Some(agent));
    is_same && cause.overlaps(symptom.span)
}
