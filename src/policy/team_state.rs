//! The state of a team: the only fold of its files and events. A hook call, a backtest and the status use it.

use std::collections::{BTreeMap, BTreeSet};

use super::observe::idler;
use super::team_file::{FileContent, TeamFile, Unreadable, key};
use super::{Decision, Finding, Judged, Ledger, Sent, Verdict};
use crate::config::Gate;
use crate::model::{TaskStatus, Tool};
use crate::payload::{Kind, MessageKind};
use crate::team::{Task, mailbox};

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
            for (name, activity) in &self.ledger.members {
                hasher.update(
                    format!("{name}\0{:?}\0{:?}\n", activity.last_instruction(), activity.said).as_bytes(),
                );
            }
        }
        hasher.finalize().to_hex()[..16].to_owned()
    }

    /// Adds the content of a file.
    pub fn put_file(&mut self, content: FileContent) {
        match content {
            FileContent::Roster(members) => self.members = members,
            FileContent::Mail(owner, waiting) => drop(self.mail.insert(owner, waiting)),
            FileContent::Task(Some(task)) => drop(self.tasks.insert(task.id.clone(), task)),
            FileContent::Task(None) => {}
        }
    }

    /// Removes a deleted file.
    pub fn remove_file(&mut self, file: TeamFile<'_>) {
        match file {
            TeamFile::Roster => self.members.clear(),
            TeamFile::Inbox(owner) => drop(self.mail.remove(owner)),
            TeamFile::Task(list, name) => {
                drop(self.tasks.remove(&key(list, name.strip_suffix(".json").unwrap_or(name))));
            }
        }
    }

    /// Adds an event, unless it is a blocked tool call, which never ran.
    pub fn apply(&mut self, event: &Judged<'_>, judgement: &Judgement<'_>) {
        if judgement.blocked && event.kind == Kind::PreToolUse {
            return;
        }
        self.ledger.observe(event);
        // A teammate whose idle is blocked continues, and so does one with unread messages.
        if event.kind == Kind::TeammateIdle
            && let Some(name) = idler(event)
            && (judgement.blocked || self.waiting(name) > 0)
            && let Some(member) = self.ledger.members.get_mut(name)
        {
            member.idle = None;
        }
        let approved: BTreeSet<String> =
            judgement.approved().map(|about| self.ledger.named(about).to_owned()).collect();
        if !approved.is_empty() {
            self.ledger.approve_shutdown(event, |name| approved.contains(name));
        }
    }
}

/// How an event was judged.
#[derive(Debug, Clone, Copy, Default)]
pub struct Judgement<'a> {
    /// Whether it was blocked.
    pub blocked: bool,
    /// The verdicts.
    pub verdicts: &'a [Verdict],
    /// The findings behind them.
    pub findings: &'a [Finding],
}

impl<'a> Judgement<'a> {
    /// The agents whose shutdown a gate allowed, so that their approval is allowed, too. A warning does not allow it.
    /// A request that only a backtest would have blocked was sent nevertheless.
    fn approved(&self) -> impl Iterator<Item = &'a str> {
        let of_gate = self.verdicts.iter().filter(|verdict| verdict.gate == Gate::PrematureShutdown.name());
        let was_sent = of_gate.clone().any(|verdict| verdict.decision == Decision::Block);
        let is_allowed = move |finding: &&Finding| {
            let mut allowed = of_gate.clone().filter(|verdict| verdict.escalated || verdict.paused);
            finding.gate == Gate::PrematureShutdown
                && (was_sent
                    || allowed
                        .any(|verdict| verdict.code == finding.code && verdict.reason == finding.reason))
        };
        self.findings.iter().filter(is_allowed).map(|finding| finding.about.as_str())
    }
}

/// Whether a gate needs the tasks, the roster or the inboxes for this event. Reading them is the most expensive part
/// of a call, and most tool calls do not concern a team.
pub fn needs_team_state(event: &Judged<'_>) -> bool {
    let payload = event.payload;
    match (event.kind, payload.tool()) {
        (Kind::PreToolUse, Some(Tool::TaskUpdate | Tool::TaskStop | Tool::TeamDelete | Tool::Agent)) => true,
        (Kind::PreToolUse, Some(Tool::SendMessage)) => {
            Sent::of(payload).is_some_and(|sent| sent.message.kind != MessageKind::Plain)
        }
        (kind, _) => kind != Kind::PreToolUse && kind.is_judged(),
    }
}
