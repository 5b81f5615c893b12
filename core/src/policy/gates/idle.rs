//! The gates at TeammateIdle: idle-with-work and report-before-idle.

use serde_json::Value;

use super::finding;
use crate::client::payload::Kind;
use crate::client::team::Task;
use crate::config::{Gate, IdleWithWork, Mode, Policy};
use crate::model::TaskStatus;
use crate::policy::{Case, Facts, Finding, Part, Reason, TeamState, observe};

/// Going idle with work left.
pub fn with_work(policy: &Policy, case: &Case<'_>) -> Option<Finding> {
    let (settings, team) = (&policy.idle_with_work, case.team);
    let mode = settings.mode;
    let name = idler(case)?;
    if waits(settings, case, name) {
        return None;
    }
    let mut open = case.names.owned(name, &TaskStatus::InProgress);
    open.retain(|task| !is_held_up(settings, team, task));
    if !open.is_empty() {
        let key = &settings.waiting_key;
        let reason = goes_idle(mode, name, [" while owning ", " while you own "]).tasks(&open).then(".");
        let reason = reason.instead(&match mode {
            Mode::Block => format!(
                "Continue it, or complete it with TaskUpdate. If you are waiting, ask with SendMessage, or add \"{key}\" to the task's metadata with TaskUpdate."
            ),
            _ => format!(
                "A message starts its next turn. A teammate that is waiting can add \"{key}\" to the task's metadata."
            ),
        });
        return Some(finding(Gate::IdleWithWork, "idle-with-task-in-progress", mode, name, reason));
    }
    let free: Vec<&Task> = team.tasks.values().filter(|task| is_free(case, task)).collect();
    if free.is_empty() {
        return None;
    }
    let reason = goes_idle(mode, name, [" although this task is unassigned: "; 2]).tasks(&free).then(".");
    let reason = reason.instead(match mode {
        Mode::Block => {
            "Take one with TaskUpdate (owner: your name, status: in_progress), or send the lead a message with the reason why not."
        }
        _ => "The lead can assign it with TaskUpdate.",
    });
    Some(finding(Gate::IdleWithWork, "idle-with-free-task", mode, name, reason))
}

/// The teammate that goes idle, if tasks or its inbox may be in this part.
pub fn with_work_needs(_: &Policy, case: &Case<'_>, part: &Part) -> Option<String> {
    idler(case).filter(|name| part.has_tasks() || part.may_have_inbox(name)).map(str::to_owned)
}

/// Going idle without a message since the last instruction.
pub fn without_report(policy: &Policy, case: &Case<'_>) -> Option<Finding> {
    let mode = policy.report_before_idle.mode;
    let name = idler(case)?;
    if !case.team.ledger.of(name).has_unreported_work() {
        return None;
    }
    let without = [
        " without having sent a message since its last instruction.",
        " without having sent a message since your last instruction.",
    ];
    let reason = goes_idle(mode, name, without).instead(match mode {
        Mode::Block => "Send team-lead a message with your results and the remaining work.",
        _ => "The lead can ask it for a report with SendMessage.",
    });
    Some(finding(Gate::ReportBeforeIdle, "idle-without-report", mode, name, reason))
}

/// The teammate that goes idle, if its inbox may be in this part.
pub fn without_report_needs(_: &Policy, case: &Case<'_>, part: &Part) -> Option<String> {
    idler(case).filter(|name| part.may_have_inbox(name)).map(str::to_owned)
}

/// The teammate that goes idle, unless it must not be blocked: it has a shutdown request or unread messages, which are
/// delivered only at idle, or it is a child whose idle is reported under its parent's name.
fn idler<'a>(facts: &Facts<'a>) -> Option<&'a str> {
    let (event, team) = (&facts.event, facts.team);
    let name = observe::idler(event).filter(|_| event.kind == Kind::TeammateIdle)?;
    let activity = team.ledger.of(name);
    (!is_child(facts, name) && !activity.stopping && team.waiting(name) == 0).then_some(name)
}

/// In-process an agent's type is its name, each id belongs to one agent, and a turn ends before its agent goes idle.
fn is_child(facts: &Facts<'_>, name: &str) -> bool {
    let (payload, ledger) = (facts.event.payload, &facts.team.ledger);
    let other = |text: Option<&str>| text.is_some_and(|text| !text.is_empty() && text != name);
    let by_agent =
        |id| other(payload.text("agent_type")) || other(ledger.handles.get(id).map(String::as_str));
    payload.agent_id().is_some_and(by_agent)
        || other(facts.event.actor.name.as_deref())
        || ledger.of(name).turn
}

/// Starts a reason. The user reads a warning and needs the teammate's name; a blocked teammate reads the second text.
fn goes_idle(mode: Mode, name: &str, [its, your]: [&str; 2]) -> Reason {
    let reason = Reason::of(mode);
    match mode {
        Mode::Block => reason.then("going idle").then(your),
        _ => reason.name(name).then(" goes idle").then(its),
    }
}

/// Whether the teammate waits: for an answer, or because every task in progress (or, without one, every pending task)
/// is blocked or marked as waiting.
fn waits(settings: &IdleWithWork, case: &Case<'_>, name: &str) -> bool {
    let all_held_up = |status: &TaskStatus| {
        let tasks = case.names.owned(name, status);
        (!tasks.is_empty()).then(|| tasks.iter().all(|task| is_held_up(settings, case.team, task)))
    };
    case.team.ledger.of(name).awaits_answer_from().next().is_some()
        || all_held_up(&TaskStatus::InProgress).or_else(|| all_held_up(&TaskStatus::Pending)).unwrap_or(false)
}

/// Whether a task is blocked by another or marked as waiting.
fn is_held_up(settings: &IdleWithWork, team: &TeamState, task: &Task) -> bool {
    is_marked_waiting(settings, task) || team.blockers(task).next().is_some()
}

/// Whether the owner marked the task as waiting in its metadata.
pub(super) fn is_marked_waiting(settings: &IdleWithWork, task: &Task) -> bool {
    let mark = task.raw.get("metadata").and_then(|metadata| metadata.get(&settings.waiting_key));
    mark.is_some_and(|mark| !matches!(mark, Value::Null | Value::Bool(false)) && mark != "")
}

fn is_free<'a>(case: &Case<'a>, task: &'a Task) -> bool {
    task.status == Some(TaskStatus::Pending)
        && case.names.owner(task).is_none()
        && case.team.blockers(task).next().is_none()
}
