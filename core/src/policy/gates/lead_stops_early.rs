//! The lead's turn ends while no agent works on a task in progress.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::idle::is_marked_waiting;
use super::{actor, finding};
use crate::client::payload::Kind;
use crate::client::team::Task;
use crate::config::{Gate, Policy};
use crate::model::TaskStatus;
use crate::model::event::{ActorKind, LEAD};
use crate::policy::{Case, Finding, MemberActivity, Part, Reason, TeammateRef};

pub fn judge(policy: &Policy, case: &Case<'_>) -> Option<Finding> {
    let is_open = |task: &&Task| task.status == Some(TaskStatus::InProgress);
    let mut open: Vec<&Task> = case.team.tasks.values().filter(is_open).collect();
    // A message starts the lead's next turn.
    if !ends_turn(case) || case.team.waiting(LEAD) > 0 || open.is_empty() {
        return None;
    }
    let attended = attended(policy, case);
    open.retain(|task| !attended.contains(task.id.as_str()));
    if open.is_empty() {
        return None;
    }
    let mode = policy.lead_stops_early.mode;
    let reason = Reason::of(mode)
        .then("ending your turn while no agent works on ")
        .tasks(&open)
        .then(".")
        .instead("Send its owner a message, or complete or reassign it with TaskUpdate.");
    Some(finding(Gate::LeadStopsEarly, "lead-stops-with-open-work", mode, actor(case), reason))
}

/// The lead, at the end of its turn: the gate reads every part.
pub fn needs(_: &Policy, case: &Case<'_>, _: &Part) -> Option<String> {
    ends_turn(case).then(|| actor(case).to_owned())
}

fn ends_turn(case: &Case<'_>) -> bool {
    case.event.kind == Kind::Stop && case.event.actor.kind == ActorKind::Lead
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
    handled: HashSet<&'a str>,
    any: OnceCell<bool>,
}

/// The owners of the running background tasks.
#[derive(Default)]
struct Listed<'a> {
    /// Each belongs to one of these teammates.
    own: HashSet<&'a str>,
    /// Each belongs to one of several of these teammates.
    shared: HashSet<&'a str>,
    /// Whether one belongs to an unknown teammate.
    unknown: bool,
    /// Whether one does not belong to a teammate.
    other: bool,
}

impl<'c, 'a> Workers<'c, 'a> {
    fn of(case: &'c Case<'a>) -> Workers<'c, 'a> {
        let tasks = case.event.payload.field("background_tasks");
        let handled = case.team.ledger.handles.values().map(String::as_str).collect();
        Workers { case, listed: tasks.map(|tasks| Listed::of(case, tasks)), handled, any: OnceCell::new() }
    }

    /// Whether the owner of a task, or a teammate that the owner asked, is working; for an unassigned task, any teammate. A
    /// task of the lead and an unassigned task may also belong to a subagent or a shell. An owner that is not a teammate
    /// cannot be checked.
    fn attend(&self, task: &'a Task) -> bool {
        let (names, ledger) = (&self.case.names, &self.case.team.ledger);
        let other_runs = self.listed.as_ref().is_some_and(|listed| listed.other);
        match names.owner(task) {
            Some(LEAD) => other_runs || self.will_answer(LEAD),
            Some(owner) => {
                let is_teammate = names.is_teammate(owner)
                    || ledger.left.contains(owner)
                    || ledger.of(owner).turned
                    || self.handled.contains(owner);
                !is_teammate || self.is_working(owner) || self.will_answer(owner)
            }
            None => {
                let any_runs = || self.listed.as_ref().is_some_and(Listed::has_any);
                self.any_is_working() || other_runs || (names.teammates().is_empty() && any_runs())
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
        activity.turn
            || activity.stopping
            || team.waiting(name) > 0
            || activity
                .idle
                .map_or_else(|| self.runs(name, activity), |idle| activity.last_instruction() > Some(idle))
    }

    fn any_is_working(&self) -> bool {
        *self.any.get_or_init(|| self.case.names.teammates().iter().any(|name| self.is_working(name)))
    }

    /// Whether a teammate is working that the agent asked something.
    fn will_answer(&self, asker: &str) -> bool {
        let mut asked = self.case.team.ledger.of(asker).awaits_answer_from().filter(|name| *name != LEAD);
        asked.any(|name| if name == "*" { self.any_is_working() } else { self.is_working(name) })
    }

    /// Whether Claude Code lists this teammate as running. Without a list: whether it ever was in a turn or has an
    /// instruction.
    fn runs(&self, name: &str, activity: &MemberActivity) -> bool {
        let Some(listed) = &self.listed else {
            return activity.turned || activity.last_instruction().is_some();
        };
        listed.own.contains(name)
            || listed.unknown
            || (listed.shared.contains(name) && !self.case.team.ledger.left.contains(name))
    }
}

impl<'a> Listed<'a> {
    fn of(case: &Case<'a>, tasks: &'a Value) -> Listed<'a> {
        let mut listed = Listed::default();
        let runs = |task: &&Value| task.get("status").and_then(Value::as_str) == Some("running");
        for task in tasks.as_array().into_iter().flatten().filter(runs) {
            match case.team.ledger.listed(task) {
                Some(TeammateRef::One(name)) => drop(listed.own.insert(name)),
                Some(TeammateRef::Among(all)) => listed.shared.extend(all.iter().map(String::as_str)),
                Some(TeammateRef::Any) => listed.unknown = true,
                None => listed.other = true,
            }
        }
        listed
    }

    fn has_any(&self) -> bool {
        !self.own.is_empty() || !self.shared.is_empty() || self.unknown || self.other
    }
}
