//! The gates at the end of a turn: idle-with-work, report-before-idle and lead-stops-early.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::budget;
use crate::{Case, Finding, MemberActivity, Reason, TeammateRef, observe};
use teamkeep_config::{Gate, IdleWithWork, Mode, Policy};
use teamkeep_model::TaskStatus;
use teamkeep_model::event::{ActorKind, LEAD};
use teamkeep_model::team::Task;

/// Going idle with work left.
pub(super) fn idle_with_work(policy: &Policy, case: &Case<'_>) -> Option<Finding> {
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
pub(super) fn report_before_idle(policy: &Policy, case: &Case<'_>) -> Option<Finding> {
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
fn is_marked_waiting(settings: &IdleWithWork, task: &Task) -> bool {
    let mark = task.raw.get("metadata").and_then(|metadata| metadata.get(&settings.waiting_key));
    mark.is_some_and(|mark| !matches!(mark, Value::Null | Value::Bool(false)) && mark != "")
}

/// The lead's turn ends while no agent works on a task in progress.
pub(super) fn lead_stops_early(policy: &Policy, case: &Case<'_>) -> Option<Finding> {
    let is_open = |task: &&Task| task.status == Some(TaskStatus::InProgress);
    let mut open: Vec<&Task> = case.team.tasks.values().filter(is_open).collect();
    // A message starts the lead's next turn.
    if !is_lead(case) || case.team.waiting(LEAD) > 0 || open.is_empty() {
        return None;
    }
    let attended = attended(policy, case);
    open.retain(|task| !attended.contains(task.id.as_str()));
    if open.is_empty() {
        return None;
    }
    let mode = budget::mode_of_more_work(policy, case, policy.lead_stops_early.mode);
    let reason = Reason::default()
        .then("ending the turn while no agent works on ")
        .tasks(&open)
        .then(".")
        .instead("Send its owner a message, or complete or reassign it with TaskUpdate.");
    let code = "lead-stops-with-open-work";
    Some(Finding::new(Gate::LeadStopsEarly, code, mode.into(), case.actor(), reason))
}

/// Whether the turn is the lead's. The gate then reads every part of the team's files.
pub(super) fn is_lead(case: &Case<'_>) -> bool {
    case.event.actor.kind == ActorKind::Lead
}

/// The tasks that an agent works on, those marked as waiting, and those blocked by one of them.
fn attended<'a>(policy: &Policy, case: &Case<'a>) -> HashSet<&'a str> {
    let work = Workers::of(case);
    let mut waiting: HashMap<&str, Vec<&Task>> = HashMap::new();
    let mut next: Vec<&Task> = Vec::new();
    for task in case.team.tasks.values().filter(|task| !task.is_done()) {
        if work.attend(task) || is_marked_waiting(&policy.idle_with_work, task) {
            next.push(task);
        }
        for blocker in case.team.blockers(task) {
            waiting.entry(&blocker.id).or_default().push(task);
        }
    }
    let mut attended = HashSet::new();
    while let Some(task) = next.pop() {
        if attended.insert(task.id.as_str()) {
            next.extend(waiting.get(task.id.as_str()).into_iter().flatten());
        }
    }
    attended
}

/// Who is working. The event's list of background tasks is read once.
struct Workers<'c, 'a> {
    case: &'c Case<'a>,
    /// The running background tasks in the payload; `None` if it has no list.
    listed: Option<Listed<'a>>,
    any: OnceCell<bool>,
}

/// The running background tasks.
#[derive(Default)]
struct Listed<'a> {
    /// The teammates that one of them belongs to, or may belong to.
    teammates: HashSet<&'a str>,
    /// Whether one belongs to an unknown teammate.
    unknown: bool,
    /// Whether one does not belong to a teammate.
    other: bool,
}

impl<'c, 'a> Workers<'c, 'a> {
    fn of(case: &'c Case<'a>) -> Workers<'c, 'a> {
        let tasks = case.event.payload.field("background_tasks");
        Workers { case, listed: tasks.map(|tasks| Listed::of(case, tasks)), any: OnceCell::new() }
    }

    /// Whether the owner of a task, or a teammate that the owner asked, is working; for an unassigned task, any teammate. A
    /// task of the lead and an unassigned task may also belong to a subagent or a shell. An owner that is not a teammate
    /// cannot be checked.
    fn attend(&self, task: &'a Task) -> bool {
        let (case, ledger) = (self.case, &self.case.team.ledger);
        let other_runs = self.listed.as_ref().is_some_and(|listed| listed.other);
        match case.owner(task) {
            Some(LEAD) => other_runs || self.will_answer(LEAD),
            Some(owner) => {
                let is_teammate = case.is_teammate(owner)
                    || ledger.live.member(owner).is_some()
                    || ledger.handles.values().any(|name| name == owner);
                !is_teammate || self.is_working(owner) || self.will_answer(owner)
            }
            None => {
                let any_runs = |listed: &Listed<'_>| listed.unknown || !listed.teammates.is_empty();
                self.any_is_working()
                    || other_runs
                    || (self.listed.as_ref().is_some_and(any_runs) && case.teammates().is_empty())
            }
        }
    }

    /// Whether a teammate is in a turn or will be, because unread messages start one. A message during a turn leaves
    /// the inbox at once and is delivered with the next turn. Claude Code lists an idle teammate as running, too; this
    /// is trusted only if no idle was seen since its last turn. In a pane the start of a turn is not always seen, but
    /// its end is.
    fn is_working(&self, name: &str) -> bool {
        let team = self.case.team;
        let activity = team.ledger.of(name);
        team.ledger.works(name)
            || activity.stopping
            || team.waiting(name) > 0
            || activity
                .idle
                .map_or_else(|| self.runs(name, activity), |idle| activity.last_instruction() > Some(idle))
    }

    fn any_is_working(&self) -> bool {
        *self.any.get_or_init(|| self.case.teammates().iter().any(|name| self.is_working(name)))
    }

    /// Whether a teammate is working that the agent asked something.
    fn will_answer(&self, asker: &str) -> bool {
        let mut asked = self.case.team.ledger.of(asker).awaits_answer_from().filter(|name| *name != LEAD);
        asked.any(|name| if name == "*" { self.any_is_working() } else { self.is_working(name) })
    }

    /// Whether Claude Code lists this teammate as running. Without a list: whether it ever was in a turn or has an
    /// instruction.
    fn runs(&self, name: &str, activity: &MemberActivity) -> bool {
        let ledger = &self.case.team.ledger;
        let Some(listed) = &self.listed else {
            return ledger.has_worked(name) || activity.last_instruction().is_some();
        };
        listed.unknown || (listed.teammates.contains(name) && !ledger.has_left(name))
    }
}

impl<'a> Listed<'a> {
    fn of(case: &Case<'a>, tasks: &'a Value) -> Listed<'a> {
        let mut listed = Listed::default();
        let runs = |task: &&Value| task.get("status").and_then(Value::as_str) == Some("running");
        for task in tasks.as_array().into_iter().flatten().filter(runs) {
            match case.team.ledger.listed(task) {
                Some(TeammateRef::Among(all)) => listed.teammates.extend(all.iter().map(String::as_str)),
                Some(TeammateRef::Any) => listed.unknown = true,
                None => listed.other = true,
            }
        }
        listed
    }
}
