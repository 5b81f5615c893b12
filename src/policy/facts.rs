//! What a gate may know. The recorder gathers it at a hook call, the back-test from the record.

use std::collections::BTreeMap;

use super::Ledger;
use crate::event::Actor;
use crate::payload::{Kind, Payload};
use crate::team::{Task, mailbox};

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
    /// The tasks on disk, by id. Trackers of 2.1.47 are not work and not here; a task that is marked as internal and has an
    /// owner is.
    pub tasks: BTreeMap<String, Task>,
    /// Tasks that tools of its members named and that are not in any known task list.
    pub missing: Vec<String>,
    /// How many messages wait unread in each inbox.
    pub mail: BTreeMap<String, usize>,
    /// How many of its files could not be read in time.
    pub unread: usize,
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
    /// The number of unread messages of a member.
    pub fn waiting(&self, name: &str) -> usize {
        self.mail.get(name).or_else(|| self.mail.get(&mailbox(name))).copied().unwrap_or_default()
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
