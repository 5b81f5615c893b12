//! The gates at TeammateIdle: idle-with-work and report-before-idle.

use serde_json::Value;

use super::budget;
use crate::{Case, Finding, Reason, observe};
use teamkeep_config::{Gate, IdleWithWork, Mode, Policy};
use teamkeep_model::TaskStatus;
use teamkeep_model::team::Task;

/// Going idle with work left.
pub(crate) fn with_work(policy: &Policy, case: &Case<'_>) -> Option<Finding> {
    let (settings, team) = (&policy.idle_with_work, case.team);
    let mode = settings.mode;
    let name = blockable_idler(case)?;
    let is_held_up = |task: &Task| is_marked_waiting(settings, task) || team.blockers(task).next().is_some();
    let mut open = case.owned(name, &TaskStatus::InProgress);
    // It waits if all its tasks in progress are held up, or without one all its pending tasks.
    let own = if open.is_empty() { case.owned(name, &TaskStatus::Pending) } else { open.clone() };
    let waits = !own.is_empty() && own.iter().all(|task| is_held_up(task));
    if waits || team.ledger.of(name).awaits_answer_from().next().is_some() {
        return None;
    }
    open.retain(|task| !is_held_up(task));
    if !open.is_empty() {
        let key = &settings.waiting_key;
        let reason = goes_idle(mode, name, " while owning ").tasks(&open).then(".");
        let reason = reason.instead(&match mode {
            Mode::Block => format!(
                "Continue it, or complete it with TaskUpdate. If you are waiting, ask with SendMessage, or add \"{key}\" to the task's metadata with TaskUpdate."
            ),
            _ => format!(
                "A message starts its next turn. A teammate that is waiting can add \"{key}\" to the task's metadata."
            ),
        });
        return Some(Finding::new(
            Gate::IdleWithWork,
            "idle-with-task-in-progress",
            mode.into(),
            name,
            reason,
        ));
    }
    let pending = team.tasks.values().filter(|task| task.status == Some(TaskStatus::Pending));
    let unassigned = pending.filter(|task| case.owner(task).is_none());
    let free: Vec<&Task> = unassigned.filter(|task| team.blockers(task).next().is_none()).collect();
    if free.is_empty() {
        return None;
    }
    let mode = budget::mode_of_more_work(policy, case, mode);
    let reason = goes_idle(mode, name, " although this task is unassigned: ").tasks(&free).then(".");
    let reason = reason.instead(match mode {
        Mode::Block => {
            "Take one with TaskUpdate (owner: your name, status: in_progress), or send the lead a message with the reason why not."
        }
        _ => "The lead can assign it with TaskUpdate.",
    });
    Some(Finding::new(Gate::IdleWithWork, "idle-with-free-task", mode.into(), name, reason))
}

/// Going idle without a report since the last instruction: a message, or a final text that Claude Code delivers.
pub(crate) fn without_report(policy: &Policy, case: &Case<'_>) -> Option<Finding> {
    let mode = policy.report_before_idle.mode;
    let name = blockable_idler(case)?;
    if !case.team.ledger.of(name).has_unreported_work(case.team.delivers_answers) {
        return None;
    }
    let without = " without having sent a message since its last instruction.";
    let reason = goes_idle(mode, name, without).instead(match mode {
        Mode::Block => "Send team-lead a message with your results and the remaining work.",
        _ => "The lead can ask it for a report with SendMessage.",
    });
    Some(Finding::new(Gate::ReportBeforeIdle, "idle-without-report", mode.into(), name, reason))
}

/// The teammate that goes idle, unless it must not be blocked: it has a shutdown request or unread messages, which are
/// delivered only at idle, it waits for the approval of its plan, or it is a child whose idle is reported under its parent's
/// name.
pub(super) fn blockable_idler<'a>(case: &Case<'a>) -> Option<&'a str> {
    let (event, team) = (&case.event, case.team);
    let name = observe::idle_teammate(event)?;
    let activity = team.ledger.of(name);
    let waits = activity.stopping || team.waiting(name) > 0 || team.awaits_approval(name);
    (!waits && !is_child(case, name)).then_some(name)
}

/// In-process an agent's type is its name, each id belongs to one agent, and a turn ends before its agent goes idle.
fn is_child(case: &Case<'_>, name: &str) -> bool {
    let (payload, ledger) = (case.event.payload, &case.team.ledger);
    let other = |text: Option<&str>| text.is_some_and(|text| !text.is_empty() && text != name);
    let by_agent =
        |id| other(payload.text("agent_type")) || other(ledger.handles.get(id).map(String::as_str));
    payload.agent_id().is_some_and(by_agent) || other(case.event.actor.name.as_deref()) || ledger.works(name)
}

/// Starts a reason. The user reads a warning and needs the teammate's name.
fn goes_idle(mode: Mode, name: &str, how: &str) -> Reason {
    let reason = Reason::default();
    match mode {
        Mode::Block => reason.then("going idle").then(how),
        _ => reason.name(name).then(" goes idle").then(how),
    }
}

/// Whether the owner marked the task as waiting in its metadata.
pub(super) fn is_marked_waiting(settings: &IdleWithWork, task: &Task) -> bool {
    let mark = task.raw.get("metadata").and_then(|metadata| metadata.get(&settings.waiting_key));
    mark.is_some_and(|mark| !matches!(mark, Value::Null | Value::Bool(false)) && mark != "")
}
