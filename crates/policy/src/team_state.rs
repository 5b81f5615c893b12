//! A team as the gates see it: its files, and the ledger of its events. A hook call, a backtest and the status use it.

use std::collections::BTreeMap;

use super::ledger::{fits, forget_oldest};
use super::observe::{idle_teammate, shutdown_request};
use super::{Case, Change, JudgedEvent, Ledger, TaskChange, TaskEvent};
use crate::spending::Spending;
use teamkeep_model::TaskStatus;
use teamkeep_model::event::{LEAD, MAX_ENTRIES};
use teamkeep_model::payload::{EventKind, TaskUpdate};
use teamkeep_model::team::{FileFacts, Lists, Mail, PlanNotice, Task, TeamFile, TeamPath, mailbox, task_key};

/// The team at the moment of the event.
#[derive(Debug, Clone, Default)]
pub struct TeamState {
    pub name: Option<String>,
    /// The names in the roster, including the lead.
    pub members: Vec<String>,
    /// The tasks on disk, by id, without the trackers of 2.1.47. An internal task is included if it has an owner.
    pub tasks: BTreeMap<String, Task>,
    /// Tasks that the team's tool calls named and that are not in any known task list.
    pub missing: Vec<String>,
    /// Number of unread messages in each inbox.
    pub mail: BTreeMap<String, usize>,
    /// The requests to approve a plan and the responses in each inbox that has some, in order.
    pub plans: BTreeMap<String, Vec<PlanNotice>>,
    /// Number of files that could not be read in time.
    pub unread: usize,
    pub unreadable: Vec<Unreadable>,
    pub ledger: Ledger,
    /// Whether Claude Code delivers the final text of a teammate's turn to the lead ([`delivers_answers`]).
    ///
    /// [`delivers_answers`]: teamkeep_model::compat::delivers_answers
    pub delivers_answers: bool,
    /// The spending of its agents, if a gate needs it.
    pub spending: Spending,
}

impl TeamState {
    pub fn waiting(&self, name: &str) -> usize {
        self.mail.get(name).or_else(|| self.mail.get(&mailbox(name))).copied().unwrap_or_default()
    }

    /// Whether a teammate has asked the lead to approve its plan, and the inboxes have no response to it. Both notices stay
    /// there until they are delivered; 2.1.47 keeps them.
    pub fn awaits_approval(&self, name: &str) -> bool {
        let in_inbox = |owner: &str| self.plans.get(owner).or_else(|| self.plans.get(&mailbox(owner)));
        let mut requests = in_inbox(LEAD).into_iter().flatten();
        let Some(last) = requests.rfind(|one| one.is_request && one.from.as_deref() == Some(name)) else {
            return false;
        };
        let is_answer = |one: &PlanNotice| !one.is_request && (one.id.is_none() || one.id == last.id);
        !in_inbox(name).into_iter().flatten().any(is_answer)
    }

    /// The unfinished tasks in this task's `blockedBy`.
    pub fn blockers<'a>(&'a self, task: &'a Task) -> impl Iterator<Item = &'a Task> {
        let list = task.id.rsplit_once('/').map_or("", |(list, _)| list);
        let blockers =
            task.blocked_by().into_iter().filter_map(move |id| self.tasks.get(&task_key(list, &id)));
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
                let (instruction, message) = (activity.last_instruction(), activity.last_message);
                hasher.update(format!("{name}\0{instruction:?}\0{message:?}\n").as_bytes());
            }
        }
        hasher.finalize().to_hex()[..16].to_owned()
    }

    /// Adds a file. Facts of another kind of file, or of a task that is not work, change nothing.
    pub fn put_file(&mut self, file: TeamFile<'_>, facts: FileFacts) {
        match (file, facts) {
            (TeamFile::Roster, FileFacts::Roster(members)) => self.members = members,
            (TeamFile::Inbox(owner), FileFacts::Inbox(Mail { unread, plans })) => {
                match plans.is_empty() {
                    true => self.plans.remove(owner),
                    false => self.plans.insert(owner.to_owned(), plans),
                };
                self.mail.insert(owner.to_owned(), unread);
            }
            (TeamFile::Task(list, _), FileFacts::Task(Some(task))) => {
                let id = task_key(list, &task.id);
                self.tasks.insert(id.clone(), Task { id, ..task });
            }
            _ => {}
        }
    }

    pub fn remove_file(&mut self, file: TeamFile<'_>) {
        match file {
            TeamFile::Roster => self.members.clear(),
            TeamFile::Inbox(owner) => {
                self.mail.remove(owner);
                self.plans.remove(owner);
            }
            TeamFile::Task(list, name) => {
                drop(self.tasks.remove(&task_key(list, name.strip_suffix(".json").unwrap_or(name))));
            }
        }
    }

    /// Adds an event, unless it is a blocked tool call, which never ran.
    pub fn apply(&mut self, event: &JudgedEvent<'_>, judgement: &Judgement<'_>) {
        if judgement.blocked && event.kind.is_before_tool() {
            return;
        }
        self.ledger.observe(event);
        if event.kind == EventKind::TeammateIdle
            && let Some(name) = idle_teammate(event)
        {
            // A teammate whose idle is blocked continues, and so does one with unread messages.
            let continues = judgement.blocked || self.waiting(name) > 0;
            if let Some(member) = self.ledger.members.get_mut(name) {
                member.idle = member.idle.filter(|_| !continues);
                if judgement.blocked {
                    // Claude Code sends no notice of an idle that is blocked, so the answer is not delivered.
                    member.answer = None;
                } else if let Some(answer) = &member.answer {
                    member.delivered = Some(answer.at);
                }
            }
        }
        if !judgement.permitted.is_empty() && shutdown_request(event).is_some() {
            self.ledger.permit_shutdown(judgement.permitted);
        }
    }

    /// Records the states of the tasks at an event, but not of those that were never in progress.
    pub(super) fn note_tasks(&mut self, event: &JudgedEvent<'_>) {
        // In a backtest, the file can be stored after the change.
        let update = TaskUpdate::of(event.payload.tool_input(), event.payload.tool_response());
        let update =
            update.filter(|update| event.kind == EventKind::PostToolUse && update.success != Some(false));
        let status = |task: &Task| {
            let update = update.as_ref().filter(|update| update.task == task.id);
            update.and_then(|update| update.status.clone()).or_else(|| task.status.clone())
        };
        let case = Case::new(*event, self);
        let known = &self.ledger.live.tasks;
        let there = self.tasks.values().map(|task| TaskChange {
            id: task.id.clone(),
            to: status(task).or_else(|| Some(TaskStatus::unknown())),
            owner: case.owner(task).map(str::to_owned),
            ..TaskChange::default()
        });
        let there = there.filter(|task| {
            let is_held = task.to == Some(TaskStatus::InProgress) && task.owner.is_some();
            let fits = fits(&task.id) && task.owner.as_deref().is_none_or(fits);
            fits && (is_held || known.contains_key(&task.id))
        });
        let gone = known.keys().filter(|id| !self.tasks.contains_key(*id));
        let gone =
            gone.map(|id| TaskChange { event: TaskEvent::Erased, id: id.clone(), ..TaskChange::default() });
        let changes: Vec<TaskChange> = there.chain(gone).collect();
        let live = &mut self.ledger.live;
        changes.iter().for_each(|change| live.apply(event.at, Change::Task { by: "", change }));
        forget_oldest(&mut live.tasks, MAX_ENTRIES, |task| (task.holder().is_some(), task.since));
    }
}

/// How an event was judged.
#[derive(Debug, Clone, Copy, Default)]
pub struct Judgement<'a> {
    pub blocked: bool,
    /// The agents whose shutdown premature-shutdown allowed although they are unfinished.
    pub permitted: &'a [String],
}

/// A file or directory of the team that gates read and that cannot be read: a symlink or a special file in its place, a missing
/// permission, a content that is not JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// Its path below Claude Code's directory; empty if only the failure is known.
    pub path: String,
    pub why: String,
}

impl Unreadable {
    /// `None` if gates do not read this path.
    pub fn of(path: &str, why: &str, lists: &Lists<'_>) -> Option<Unreadable> {
        let is_read = match TeamPath::of(path) {
            TeamPath::Team | TeamPath::Config | TeamPath::Inboxes => true,
            TeamPath::Inbox(name) => name.ends_with(".json"),
            TeamPath::TaskList(list) => lists.prefix(list).is_some(),
            TeamPath::Task(list, name) => lists.prefix(list).is_some() && name.ends_with(".json"),
            TeamPath::Other => false,
        };
        is_read.then(|| Unreadable { path: path.to_owned(), why: why.to_owned() })
    }

    /// Whether the roster is in it.
    pub fn hides_roster(&self) -> bool {
        matches!(TeamPath::of(&self.path), TeamPath::Team | TeamPath::Config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removing_each_file_empties_the_state() {
        let mut state = TeamState::default();
        let files = [
            ("tasks/t/1.json", r#"{"id":"1","status":"pending"}"#),
            ("tasks/t/2.json", r#"{"metadata":{"_internal":true}}"#),
            ("teams/t/config.json", r#"{"members":[{"name":"bob"}]}"#),
            ("teams/t/inboxes/bob.json", r#"[{"text":"a","read":true},{"text":"b"}]"#),
        ];
        for (path, text) in files {
            let file = TeamFile::of(path, &Lists::of_team(None)).unwrap();
            state.put_file(file, file.parse(text.as_bytes()).unwrap());
        }
        assert_eq!((state.tasks.len(), state.mail["bob"], state.members.len()), (1, 1, 1));
        let lists = Lists::of_team(None);
        files.iter().for_each(|(path, _)| state.remove_file(TeamFile::of(path, &lists).unwrap()));
        assert!(state.tasks.is_empty() && state.mail.is_empty() && state.members.is_empty());
    }
}
