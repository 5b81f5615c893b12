//! Which teammates are working when the lead's turn ends.

use std::cell::OnceCell;
use std::collections::HashSet;

use serde_json::Value;

use crate::policy::{Case, MemberActivity, TeammateRef};

/// Who is working. The event's list of background tasks is read once.
pub struct AtWork<'c, 'a> {
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
    /// Whether there is any.
    any: bool,
}

impl<'c, 'a> AtWork<'c, 'a> {
    pub fn of(case: &'c Case<'a>) -> AtWork<'c, 'a> {
        let tasks = case.event.payload.field("background_tasks");
        let handled = case.team.ledger.handles.values().map(String::as_str).collect();
        AtWork { case, listed: tasks.map(|tasks| Listed::of(case, tasks)), handled, any: OnceCell::new() }
    }

    /// Whether a teammate is in a turn or will be, because unread messages start one. A message during a turn leaves
    /// the inbox at once and is delivered with the next turn. Claude Code lists an idle teammate as running, too; this
    /// is trusted only if no idle was seen since its last turn. In a pane the start of a turn is not always seen, but
    /// its end is.
    pub fn is_at_work(&self, name: &str) -> bool {
        let activity = self.case.team.ledger.of(name);
        activity.turn
            || activity.stopping
            || self.has_mail(name)
            || activity
                .idle
                .map_or_else(|| self.runs(name, activity), |idle| activity.last_instruction() > Some(idle))
    }

    /// Whether any teammate is working.
    pub fn any_is_at_work(&self) -> bool {
        *self.any.get_or_init(|| self.case.names.teammates().iter().any(|name| self.is_at_work(name)))
    }

    /// Whether this is a teammate, or was one.
    pub fn is_teammate(&self, name: &str) -> bool {
        let ledger = &self.case.team.ledger;
        self.case.names.is_teammate(name)
            || ledger.left.contains(name)
            || ledger.of(name).turned
            || self.handled.contains(name)
    }

    /// Whether a background task runs that does not belong to a teammate.
    pub fn other_runs(&self) -> bool {
        self.listed.as_ref().is_some_and(|listed| listed.other)
    }

    /// Whether any background task runs.
    pub fn runs_any(&self) -> bool {
        self.listed.as_ref().is_some_and(|listed| listed.any)
    }

    /// Whether an agent has unread messages.
    pub fn has_mail(&self, name: &str) -> bool {
        self.case.team.waiting(name) > 0
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
            listed.any = true;
            match case.team.ledger.listed(task) {
                Some(TeammateRef::One(name)) => drop(listed.own.insert(name)),
                Some(TeammateRef::Among(all)) => listed.shared.extend(all.iter().map(String::as_str)),
                Some(TeammateRef::Any) => listed.unknown = true,
                None => listed.other = true,
            }
        }
        listed
    }
}
