//! The facts that a gate can use. The recorder collects them at a hook call, the backtest from recorded data.

use std::collections::BTreeMap;

use super::Ledger;
use crate::event::Actor;
use crate::model::TaskStatus;
use crate::payload::{Kind, Payload};
use crate::team::{Task, mailbox};

/// The event that is judged.
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    /// Its id in the log.
    pub id: &'a str,
    /// RFC 3339.
    pub at: &'a str,
    /// The event's kind.
    pub kind: Kind,
    /// The session.
    pub session: Option<&'a str>,
    /// The actor, as far as known. It is a label and never grants a right.
    pub actor: &'a Actor,
    /// The payload.
    pub payload: &'a Payload,
}

/// The team at the moment of the event.
#[derive(Debug, Clone, Default)]
pub struct TeamState {
    /// The team's name.
    pub name: Option<String>,
    /// The names in the roster, including the lead.
    pub members: Vec<String>,
    /// The tasks on disk, by id, without the trackers of 2.1.47. An internal task is included if it has an owner.
    pub tasks: BTreeMap<String, Task>,
    /// Tasks that the team's tool calls named and that are not in any known task list.
    pub missing: Vec<String>,
    /// Number of unread messages in each inbox.
    pub mail: BTreeMap<String, usize>,
    /// Number of files that could not be read in time.
    pub unread: usize,
    /// Files and directories that exist and cannot be read.
    pub unreadable: Vec<Unreadable>,
    /// The actions of the team so far.
    pub ledger: Ledger,
}

/// A file or directory of the team that cannot be read: a symlink or a special file in its place, a missing permission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// Its path below Claude Code's directory; empty if only the failure is known.
    pub path: String,
    /// Why.
    pub why: String,
    /// The part that the gates do not see because of it.
    pub part: Part,
}

/// A part of a team's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Any of them.
    Any,
    /// The team's directory: the roster and the inboxes.
    Team,
    /// The roster.
    Roster,
    /// All inboxes.
    Inboxes,
    /// One agent's inbox.
    Inbox(String),
    /// A task list.
    Tasks,
    /// A task, by its id.
    Task(String),
}

impl Part {
    /// Whether the roster is in it.
    pub fn has_roster(&self) -> bool {
        matches!(self, Part::Any | Part::Team | Part::Roster)
    }

    /// Whether any tasks are in it.
    pub fn has_tasks(&self) -> bool {
        matches!(self, Part::Any | Part::Tasks | Part::Task(_))
    }

    /// Whether this task may be in it.
    pub fn may_have_task(&self, id: &str) -> bool {
        match self {
            Part::Task(task) => task == id,
            part => part.has_tasks(),
        }
    }

    /// Whether the agent's inbox may be in it.
    pub fn may_have_inbox(&self, name: &str) -> bool {
        match self {
            Part::Inbox(inbox) => inbox == name || *inbox == mailbox(name),
            part => matches!(part, Part::Any | Part::Team | Part::Inboxes),
        }
    }
}

/// Everything that a gate can use.
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

    /// The unfinished tasks in this task's `blockedBy`.
    pub fn blockers<'a>(&'a self, task: &'a Task) -> impl Iterator<Item = &'a Task> {
        let list = task.id.rsplit_once('/').map(|(list, _)| list);
        let named = move |id: String| list.map_or_else(|| id.clone(), |list| format!("{list}/{id}"));
        let blockers = task.blocked_by().into_iter().filter_map(move |id| self.tasks.get(&named(id)));
        blockers.filter(|task| !task.is_done())
    }

    /// A key for the state of the work. It changes when a task's status, owner or dependencies change; in a team
    /// without tasks, with each message.
    pub fn key(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for task in self.tasks.values() {
            let blocked = task.blocked_by().join(",");
            let status = task.status.as_ref().map(TaskStatus::as_str);
            let line = format!("{}\0{status:?}\0{:?}\0{blocked}\n", task.id, task.owner);
            hasher.update(line.as_bytes());
        }
        if self.tasks.is_empty() {
            for (name, deeds) in &self.ledger.members {
                hasher
                    .update(format!("{name}\0{:?}\0{:?}\n", deeds.last_instruction(), deeds.said).as_bytes());
            }
        }
        hasher.finalize().to_hex()[..16].to_owned()
    }
}
