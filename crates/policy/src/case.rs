//! An event with its team, and the facts about its tool call. It resolves names to members and tasks to owners; each name is folded once per hook call.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use super::file_history::{FileState, GitCall};
use super::{Activity, TeamState};
use teamkeep_model::event::{Actor, ActorKind, LEAD};
use teamkeep_model::payload::{EventKind, Payload};
use teamkeep_model::team::{Task, mailbox};
use teamkeep_model::time::Timestamp;
use teamkeep_model::unicode::fold;
use teamkeep_model::{TaskStatus, Tool};

/// The event that is judged.
#[derive(Debug, Clone, Copy)]
pub struct JudgedEvent<'a> {
    pub at: Timestamp,
    pub kind: EventKind,
    /// The actor, as far as known. It is a label and never grants a right.
    pub actor: &'a Actor,
    pub payload: &'a Payload,
    /// The files that the tool call uses, if a gate needs them.
    pub access: Option<&'a Access>,
}

impl JudgedEvent<'_> {
    /// Whether this tool is about to run.
    pub fn calls(&self, tool: Tool) -> bool {
        self.kind.is_before_tool() && self.payload.tool() == Some(tool)
    }

    /// Whether the call names no agent, as before 2.1.69.
    pub(super) fn is_nameless(&self) -> bool {
        self.payload.agent_id().is_none() && self.payload.text("agent_type").is_none_or(str::is_empty)
    }
}

/// Everything that a gate can use. Each set of names is built when first needed.
#[derive(Debug)]
pub struct Case<'a> {
    pub event: JudgedEvent<'a>,
    pub team: &'a TeamState,
    roster: OnceCell<KnownNames<'a>>,
    /// The members that did something.
    active: OnceCell<KnownNames<'a>>,
    owned: OnceCell<TasksByOwner<'a>>,
}

/// Tasks by the folded name of their owner, each with its owner.
type TasksByOwner<'a> = HashMap<Cow<'a, str>, Vec<(&'a str, &'a Task)>>;

/// Known names, exact and folded.
#[derive(Debug)]
struct KnownNames<'a> {
    exact: HashSet<&'a str>,
    /// The first name of each folded form.
    folded: HashMap<Cow<'a, str>, &'a str>,
}

impl<'a> Case<'a> {
    pub fn new(event: JudgedEvent<'a>, team: &'a TeamState) -> Case<'a> {
        Case { event, team, roster: OnceCell::new(), active: OnceCell::new(), owned: OnceCell::new() }
    }

    /// The actor that the loop guard counts. A session that becomes a lead is the same actor as before.
    pub(super) fn actor(&self) -> &'a str {
        let actor = self.event.actor;
        if actor.kind == ActorKind::Lead { LEAD } else { actor.shown() }
    }

    /// The member that a text refers to, in the team's spelling; `None` for an unknown name, which has no work. A known
    /// roster has all members: one that left can still own tasks, and can still be sent messages.
    pub fn member(&self, text: &str) -> Option<&'a str> {
        let name = self.team.ledger.strip_team(text);
        if !self.team.members.is_empty() {
            return self.roster().get(name);
        }
        if self.has_left(text) {
            return None;
        }
        let owners = self.owners_of(name).iter().map(|(owner, _)| *owner);
        let owner = owners.clone().find(|owner| *owner == name).or_else(|| owners.clone().next());
        owner.or_else(|| self.active().get(name))
    }

    /// The members (and the lead) that receive a shutdown request to this name: the one that 2.1.330 finds by the name, and
    /// those whose inbox has that name. Claude Code before 2.1.178 does not look names up and writes to that inbox. Before
    /// names were restricted (2.1.47), several members can have one inbox.
    pub fn recipients(&self, to: &str) -> Vec<&'a str> {
        let name = self.team.ledger.strip_team(to);
        let by_name = self.member(to).or_else(|| (fold(name) == LEAD).then_some(LEAD));
        let inbox = mailbox(name);
        let by_inbox = |member: &&str| Some(*member) != by_name && mailbox(member) == inbox;
        let all = self.team.members.iter().map(String::as_str).filter(|member| *member != LEAD);
        by_name.into_iter().chain(all.chain([LEAD]).filter(by_inbox)).collect()
    }

    /// The member that owns a task, in the team's spelling. A file can have `@bob`, `bob@team` or bob's agent id. An
    /// owner without a name (`@`) means unassigned.
    pub fn owner(&self, task: &'a Task) -> Option<&'a str> {
        let name = self.team.ledger.strip_team(task.owner.as_deref()?);
        let known = || self.roster().get(name).or_else(|| self.active().get(name)).unwrap_or(name);
        (!name.is_empty()).then(known)
    }

    /// The tasks of a member in a status, in the order of their ids, however the owner is written.
    pub fn owned(&self, name: &str, status: &TaskStatus) -> Vec<&'a Task> {
        let own = self.owners_of(name).iter().filter(|(owner, _)| self.refers_to(owner, name));
        own.map(|(_, task)| *task).filter(|task| task.status.as_ref() == Some(status)).collect()
    }

    /// Whether a text refers to this member: it is the name, or folds to the same and is not another name in the
    /// roster.
    pub(crate) fn refers_to(&self, text: &str, name: &str) -> bool {
        text == name || (!self.roster().exact.contains(text) && fold(text) == fold(name))
    }

    /// Whether a text names a member that has left and was not spawned again.
    pub fn has_left(&self, text: &str) -> bool {
        let ledger = &self.team.ledger;
        let name = ledger.strip_team(text);
        let mut left = ledger.live.roster.iter().filter(|agent| agent.doing == Activity::Gone);
        ledger.has_left(name) || left.any(|agent| fold(&agent.name) == fold(name))
    }

    /// Whether exactly this name belongs to a teammate.
    pub fn is_teammate(&self, name: &str) -> bool {
        let known = if self.team.members.is_empty() { self.active() } else { self.roster() };
        name != LEAD && known.exact.contains(name)
    }

    /// The teammates: those in the roster or, if the roster is unknown, those that did something.
    pub fn teammates(&self) -> Vec<&'a str> {
        let TeamState { members, ledger, .. } = self.team;
        let active = ledger.members.keys().filter(|_| members.is_empty());
        members.iter().chain(active).map(String::as_str).filter(|name| *name != LEAD).collect()
    }

    /// Claude Code sends the same event for a completed task and for the end of a turn whose agent has a task in progress.
    /// It is a completion if a TaskUpdate to `completed` has started and the turn has not ended. A version that names no
    /// agents may not report the turn; then the TaskUpdate decides.
    pub fn is_completion(&self) -> bool {
        let (payload, ledger) = (self.event.payload, &self.team.ledger);
        let named = payload.text("teammate_name").filter(|name| !name.is_empty());
        let member = named.filter(|name| ledger.members.contains_key(*name));
        let could_see_turn = |name| ledger.names_agents || ledger.has_worked(name);
        let turn_ended = member.is_some_and(|name| !ledger.works(name) && could_see_turn(name));
        let task = payload.text("task_id");
        let asked = task.is_some_and(|id| ledger.pending_completions.values().any(|task| task == id));
        self.event.kind == EventKind::TaskCompleted && asked && !turn_ended
    }

    /// Whether the event ends a turn, so that the model reads a block before it does anything else.
    pub fn ends_turn(&self) -> bool {
        match self.event.kind {
            EventKind::Stop | EventKind::SubagentStop | EventKind::TeammateIdle => true,
            EventKind::TaskCompleted => !self.is_completion(),
            _ => false,
        }
    }

    /// Whether an agent works: a turn has started and not ended, or it owns a task in progress.
    pub fn works(&self, name: &str) -> bool {
        self.team.ledger.works(name) || !self.owned(name, &TaskStatus::InProgress).is_empty()
    }

    fn roster(&self) -> &KnownNames<'a> {
        self.roster.get_or_init(|| KnownNames::of(self.team.members.iter().map(String::as_str)))
    }

    fn active(&self) -> &KnownNames<'a> {
        self.active.get_or_init(|| KnownNames::of(self.team.ledger.members.keys().map(String::as_str)))
    }

    /// The tasks whose owner's name folds to the same as this one, each with its owner.
    fn owners_of(&self, name: &str) -> &[(&'a str, &'a Task)] {
        let by_owner = self.owned.get_or_init(|| {
            let mut by_owner = TasksByOwner::new();
            for task in self.team.tasks.values() {
                if let Some(owner) = self.owner(task) {
                    by_owner.entry(fold(owner)).or_default().push((owner, task));
                }
            }
            by_owner
        });
        by_owner.get(&*fold(name)).map(Vec::as_slice).unwrap_or_default()
    }
}

impl<'a> KnownNames<'a> {
    fn of(names: impl Iterator<Item = &'a str>) -> KnownNames<'a> {
        let mut known = KnownNames { exact: HashSet::new(), folded: HashMap::new() };
        for name in names.filter(|name| !name.is_empty()) {
            if known.exact.insert(name) {
                known.folded.entry(fold(name)).or_insert(name);
            }
        }
        known
    }

    /// The member of this name, else the first whose name folds to the same.
    fn get(&self, name: &str) -> Option<&'a str> {
        let exact = self.exact.get(name).copied();
        exact.or_else(|| self.folded.get(&*fold(name)).copied())
    }
}

// The facts about a tool call that the gates for shared files need. They are collected before the policy judges the call,
// because gates read no disk and run no git.

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    /// A tool has read or changed a file, which now has this state.
    Used {
        path: String,
        state: Option<FileState>,
        is_change: bool,
    },
    Edit(Edit),
    Git(GitAccess),
}

/// A file that a tool is about to change. Its path is absolute, with all links resolved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Edit {
    pub path: String,
    /// The file now; `None` if it does not exist.
    pub present: Option<FileState>,
    /// Whether the call replaces the whole file or a cell of a notebook, not only a text in it.
    pub is_whole: bool,
    /// Lines of the file that the new content does not have.
    pub lost: Vec<String>,
}

/// The effects of the git commands in a line of Bash.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GitAccess {
    /// The losses if it runs, as git shows them.
    pub losses: Vec<GitLoss>,
    /// Whether every part of the line is judged.
    pub is_complete: bool,
    /// Before a call that can make commits: the state of git.
    pub before: Option<GitCall>,
    /// After such a call: its commits and stash entries.
    pub made: Vec<String>,
    /// After a call: the files of agents that git no longer shows as changed, and those that it does.
    pub settled: Vec<String>,
    pub shown: Vec<String>,
}

/// A loss of recorded work by a git command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitLoss {
    /// Its subcommand and the decisive option: `reset --hard`.
    pub command: &'static str,
    /// The root of the working tree.
    pub root: String,
    pub what: Lost,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lost {
    /// Uncommitted changes of these files are lost.
    Changes(Vec<String>),
    /// Uncommitted changes of these files, which are not named, are added or committed.
    Adds(Vec<String>),
    /// These commits are replaced or removed.
    Commits(Vec<String>),
    /// These entries of the stash are removed.
    Stash(Vec<String>),
    /// The working tree is put on another branch, or removed. Other agents used files of it, and it has changes of some.
    Tree { used: Vec<String>, changed: Vec<String> },
}
