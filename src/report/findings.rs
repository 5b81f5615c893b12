//! Findings: the problems of a run.

use serde::{Deserialize, Serialize};
use strum::VariantArray;

use super::input::ReportInput;
use super::messages::{MessageRow, MessageStats};
use super::tasks::{Change, TaskHistory};
use super::turns::Turn;
use crate::timeline::{Entry, Kind};
use teamkeep_core::model::TaskStatus;
use teamkeep_core::policy::{Decision, without_prefix};
use teamkeep_core::sys::clock::Timestamp;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    pub code: Code,
    pub at: Option<Timestamp>,
    pub who: Option<String>,
    pub task: Option<String>,
    pub what: String,
    pub amount: Option<f64>,
}

/// The kinds of findings, most severe first. Kinds are only added, never renamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Code {
    StoppedAtWork,
    WorkReturned,
    /// The run ended, or the task was erased, before it was completed.
    Unfinished,
    TaskErased,
    NotDelivered,
    Refused,
    NeverReported,
    IdlePingPong,
    Blocked,
    Escalated,
    Warned,
    NoEnd,
    EventsMissing,
    Unreadable,
}

impl Code {
    pub const ALL: &[Code] = Code::VARIANTS;
}

pub fn findings(
    case: &ReportInput<'_>,
    mail: &MessageStats,
    tasks: &[TaskHistory],
    turns: &[Turn],
) -> Vec<Finding> {
    let mut found = stopped_at_work(case, tasks);
    found.extend(task_findings(case, tasks));
    found.extend(message_findings(case, mail));
    found.extend(ping_pong(case, turns));
    found.extend(verdict_findings(case));
    found.extend(data_gaps(case));
    found.sort_by_key(|finding| (finding.code, finding.at));
    found
}

impl Finding {
    /// A finding with only the required fields.
    pub fn new(code: Code, what: impl Into<String>) -> Finding {
        Finding { code, at: None, who: None, task: None, what: what.into(), amount: None }
    }

    pub fn at(self, at: Timestamp) -> Finding {
        Finding { at: Some(at), ..self }
    }

    pub fn of(self, who: &str) -> Finding {
        Finding { who: Some(who.to_owned()), ..self }
    }

    pub fn task(self, task: &str) -> Finding {
        Finding { task: Some(task.to_owned()), ..self }
    }
}

fn stopped_at_work(case: &ReportInput<'_>, tasks: &[TaskHistory]) -> Vec<Finding> {
    let mut found = Vec::new();
    for entry in case.entries.iter().filter(|entry| entry.kind() == Kind::ShutdownApproved) {
        let who = &entry.actor;
        for task in tasks.iter().filter(|task| task.is_held(who, entry.at.millis())) {
            let what =
                format!("{who} approved its shutdown with task {} in progress{}", task.id, called(task));
            found.push(Finding::new(Code::StoppedAtWork, what).at(entry.at).of(who).task(&task.id));
        }
    }
    found
}

/// Tasks that were returned to pending, erased or never completed.
fn task_findings(case: &ReportInput<'_>, tasks: &[TaskHistory]) -> Vec<Finding> {
    let mut found = Vec::new();
    let returned = |change: &&Change| {
        change.by == "client" && change.to == Some(TaskStatus::Pending) && change.owner_from.is_some()
    };
    for task in tasks {
        for change in task.changes.iter().filter(returned) {
            let owner = change.owner_from.as_deref().unwrap_or_default();
            let what =
                format!("Claude Code returned task {} to pending and unassigned it (was {owner})", task.id);
            found.push(Finding::new(Code::WorkReturned, what).at(change.at).of(owner).task(&task.id));
        }
        for change in task.changes.iter().filter(|change| change.kind == Kind::TaskErased) {
            let what = format!("Claude Code erased task {} ({}){}", task.id, task.status, called(task));
            found.push(Finding::new(Code::TaskErased, what).at(change.at).task(&task.id));
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
            let finding = Finding::new(Code::Unfinished, what).task(&task.id);
            found.push(last.map_or(finding.clone(), |owner| finding.of(owner)));
        }
    }
    found
}

fn called(task: &TaskHistory) -> String {
    task.subject.as_ref().map_or_else(String::new, |subject| format!(": {subject}"))
}

fn message_findings(case: &ReportInput<'_>, mail: &MessageStats) -> Vec<Finding> {
    let mut found = Vec::new();
    for message in mail.messages.iter().filter(|message| !message.automatic) {
        let to = if message.to == "*" { "everyone" } else { &message.to };
        let what = format!("{} from {} to {to}", message.kind, message.from);
        let about = message.summary.as_ref().map_or_else(String::new, |summary| format!(": {summary}"));
        let finding = match (&message.refused, message.delivered) {
            // A message that a gate blocked is reported as a block.
            (Some(_), _) if message.blocked => continue,
            (Some(_), _) => Finding::new(Code::Refused, format!("{what} was rejected{about}")),
            (None, Some(false)) => Finding::new(Code::NotDelivered, format!("{what} was never read{about}")),
            _ => continue,
        };
        found.push(finding.at(message.at).of(&message.from));
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
            found.push(Finding::new(Code::NeverReported, what).of(name));
        }
    }
    found
}

/// The lead's turns that were triggered only by idle notices.
fn ping_pong(case: &ReportInput<'_>, turns: &[Turn]) -> Vec<Finding> {
    let own = turns.iter().filter(|turn| turn.agent == case.lead);
    let all = own.clone().count();
    let vain = own.filter(|turn| turn.for_idlers).count();
    if vain == 0 {
        return Vec::new();
    }
    let were = if vain == 1 { "was" } else { "were" };
    let share = vain as f64 / all as f64;
    let percent = share * 100.0;
    let what = format!("{vain} of {all} lead turns ({percent:.0}%) {were} triggered only by idle notices");
    vec![Finding { amount: Some(share), ..Finding::new(Code::IdlePingPong, what).of(case.lead) }]
}

fn verdict_findings(case: &ReportInput<'_>) -> Vec<Finding> {
    let finding = |entry: &Entry| {
        let verdict = entry.verdict().filter(|verdict| !verdict.repeated)?;
        let (code, done) = match (verdict.decision, verdict.blocks) {
            (Decision::Block, _) => (Code::Blocked, "blocked".to_owned()),
            (_, Some(1)) => (Code::Escalated, "allowed by the loop guard after 1 block".to_owned()),
            (_, Some(blocks)) => {
                (Code::Escalated, format!("allowed by the loop guard after {blocks} blocks"))
            }
            (Decision::Warn, _) => (Code::Warned, "warned".to_owned()),
            _ => return None,
        };
        let reason = without_prefix(&verdict.reason);
        let what = format!("{} was {done}: {reason} ({})", entry.actor, verdict.gate);
        Some(Finding::new(code, what).at(entry.at).of(&entry.actor))
    };
    case.entries.iter().filter_map(finding).collect()
}

fn data_gaps(case: &ReportInput<'_>) -> Vec<Finding> {
    let mut found: Vec<Finding> =
        case.data.problems().into_iter().map(|what| Finding::new(Code::Unreadable, what)).collect();
    if case.data.client_gone {
        let what = "the process of Claude Code is gone, but no end of the run was recorded";
        found.push(Finding::new(Code::NoEnd, what).at(case.end));
    }
    if let Some(until) = &case.data.missing_until {
        let what = format!(
            "events until {until} are missing: the log was pruned before they were copied into the run"
        );
        found.push(Finding::new(Code::EventsMissing, what).at(case.data.run.started_at));
    }
    found
}
