//! What a gate may know. The recorder gathers it at a hook call, the back-test from the record.

use std::collections::BTreeMap;

use super::Ledger;
use super::ledger::spelled;
use crate::event::Actor;
use crate::payload::{Kind, Payload};
use crate::team::Task;

/// The event that is judged.
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    /// Its id in the log.
    pub id: &'a str,
    /// When, RFC 3339.
    pub at: &'a str,
    /// Which event.
    pub kind: Kind,
    /// The session.
    pub session: Option<&'a str>,
    /// Who, as far as the evidence goes. A label is not an authority: it never grants a right.
    pub actor: &'a Actor,
    /// What the client said.
    pub payload: &'a Payload,
}

/// The team at the moment of the event.
#[derive(Debug, Clone, Default)]
pub struct TeamState {
    /// The team's name.
    pub name: Option<String>,
    /// Who is in the roster, the lead included.
    pub members: Vec<String>,
    /// The tasks on disk, by id. Trackers of 2.1.47 are no work and are not here.
    pub tasks: BTreeMap<String, Task>,
    /// Tasks that tools of its members named and that no task list has that teamkeep knows.
    pub missing: Vec<String>,
    /// How many messages wait unread in each inbox.
    pub mail: BTreeMap<String, usize>,
    /// What the team did so far.
    pub ledger: Ledger,
}

/// Everything that a gate may know.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The event.
    pub event: Judged<'a>,
    /// The team.
    pub team: &'a TeamState,
}

impl TeamState {
    /// The tasks that somebody owns in a status, however the owner is written.
    pub fn owned<'a>(&'a self, name: &'a str, status: &'a str) -> impl Iterator<Item = &'a Task> {
        self.tasks.values().filter(move |task| {
            task.status.as_deref() == Some(status)
                && self.owner(task).is_some_and(|owner| self.is_same(owner, name))
        })
    }

    /// The member that owns a task, as the team spells it: a file may say `@bob`, `bob@team` or bob's agent id. An owner
    /// without a name (`@`) is nobody.
    pub fn owner<'a>(&'a self, task: &'a Task) -> Option<&'a str> {
        let name = Some(self.ledger.bare(task.owner.as_deref()?)).filter(|name| !name.is_empty())?;
        let roster = || self.members.iter().map(String::as_str);
        let doers = || self.ledger.members.keys().map(String::as_str);
        Some(spelled(name, roster).or_else(|| spelled(name, doers)).unwrap_or(name))
    }

    /// Whether two names are one: names that differ in case alone are, unless the roster has the owner's.
    fn is_same(&self, owner: &str, name: &str) -> bool {
        owner == name
            || (owner.to_lowercase() == name.to_lowercase()
                && !self.members.iter().any(|member| member == owner))
    }

    /// The tasks that hold this one up: named in `blockedBy`, there, and not completed.
    pub fn blockers<'a>(&'a self, task: &'a Task) -> impl Iterator<Item = &'a Task> {
        let list = task.id.rsplit_once('/').map(|(list, _)| list);
        let named = move |id: String| list.map_or_else(|| id.clone(), |list| format!("{list}/{id}"));
        let blockers = task.blocked_by().into_iter().filter_map(move |id| self.tasks.get(&named(id)));
        blockers.filter(|task| !task.is_done())
    }

    /// The state of the work, as a key: it changes when a task's status, owner or dependencies change, and, in a team
    /// without tasks, when somebody was told something or told something.
    pub fn key(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for task in self.tasks.values() {
            let blocked = task.blocked_by().join(",");
            let line = format!("{}\0{:?}\0{:?}\0{blocked}\n", task.id, task.status, task.owner);
            hasher.update(line.as_bytes());
        }
        if self.tasks.is_empty() {
            for (name, deeds) in &self.ledger.members {
                hasher.update(format!("{name}\0{:?}\0{:?}\n", deeds.told(), deeds.said).as_bytes());
            }
        }
        hasher.finalize().to_hex()[..16].to_owned()
    }
}
