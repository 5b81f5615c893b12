//! Resolves names to members and tasks to owners. Each name of a team is folded once per hook call.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::ops::Deref;

use super::{Facts, TeamState};
use crate::client::team::{Task, mailbox};
use crate::model::TaskStatus;
use crate::model::event::LEAD;
use crate::sys::unicode::fold;

/// The facts of one judgement, and the names in them.
#[derive(Debug)]
pub struct Case<'a> {
    facts: Facts<'a>,
    pub names: Names<'a>,
}

impl<'a> Case<'a> {
    pub fn of(facts: &Facts<'a>) -> Case<'a> {
        Case { facts: *facts, names: Names::of(facts.team) }
    }
}

impl<'a> Deref for Case<'a> {
    type Target = Facts<'a>;

    fn deref(&self) -> &Facts<'a> {
        &self.facts
    }
}

/// Tasks by the folded name of their owner, each with its owner.
type Owned<'a> = HashMap<Cow<'a, str>, Vec<(&'a str, &'a Task)>>;

/// The names of a team. Each part is built when first needed.
#[derive(Debug)]
pub struct Names<'a> {
    team: &'a TeamState,
    roster: OnceCell<Known<'a>>,
    /// The members that did something.
    active: OnceCell<Known<'a>>,
    owners: OnceCell<Known<'a>>,
    owned: OnceCell<Owned<'a>>,
    teammates: OnceCell<Vec<&'a str>>,
}

/// Known names, exact and folded.
#[derive(Debug)]
struct Known<'a> {
    exact: HashSet<&'a str>,
    /// The first name of each folded form.
    folded: HashMap<Cow<'a, str>, &'a str>,
}

impl<'a> Names<'a> {
    pub fn of(team: &'a TeamState) -> Names<'a> {
        Names {
            team,
            roster: OnceCell::new(),
            active: OnceCell::new(),
            owners: OnceCell::new(),
            owned: OnceCell::new(),
            teammates: OnceCell::new(),
        }
    }

    /// The member that a text refers to, in the team's spelling; `None` for an unknown name, which has no work.
    pub fn member(&self, text: &str) -> Option<&'a str> {
        let name = self.team.ledger.strip_team(text);
        // The roster's spelling first: the ledger may have another spelling, from a message.
        self.roster().get(name).or_else(|| self.owners().get(name)).or_else(|| self.active().get(name))
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
        let all = self.by_owner().get(&*fold(name)).map(Vec::as_slice).unwrap_or_default();
        let own = all.iter().filter(|(owner, _)| self.refers_to(owner, name)).map(|(_, task)| *task);
        own.filter(|task| task.status.as_ref() == Some(status)).collect()
    }

    /// Whether a text refers to this member: it is the name, or folds to the same and is not another name in the
    /// roster.
    pub fn refers_to(&self, text: &str, name: &str) -> bool {
        text == name || (!self.roster().exact.contains(text) && fold(text) == fold(name))
    }

    /// Whether exactly this name belongs to a teammate.
    pub fn is_teammate(&self, name: &str) -> bool {
        let known = if self.team.members.is_empty() { self.active() } else { self.roster() };
        name != LEAD && known.exact.contains(name)
    }

    /// The teammates: those in the roster or, if the roster is unknown, those that did something.
    pub fn teammates(&self) -> &[&'a str] {
        self.teammates.get_or_init(|| {
            let TeamState { members, ledger, .. } = self.team;
            let all: Vec<&str> = match members.is_empty() {
                false => members.iter().map(String::as_str).collect(),
                true => ledger.members.keys().map(String::as_str).collect(),
            };
            all.into_iter().filter(|name| *name != LEAD).collect()
        })
    }

    fn roster(&self) -> &Known<'a> {
        self.roster.get_or_init(|| Known::of(self.team.members.iter().map(String::as_str)))
    }

    fn active(&self) -> &Known<'a> {
        self.active.get_or_init(|| Known::of(self.team.ledger.members.keys().map(String::as_str)))
    }

    fn owners(&self) -> &Known<'a> {
        self.owners.get_or_init(|| Known::of(self.team.tasks.values().filter_map(|task| self.owner(task))))
    }

    fn by_owner(&self) -> &Owned<'a> {
        self.owned.get_or_init(|| {
            let mut owned = Owned::new();
            for task in self.team.tasks.values() {
                if let Some(owner) = self.owner(task) {
                    owned.entry(fold(owner)).or_default().push((owner, task));
                }
            }
            owned
        })
    }
}

impl<'a> Known<'a> {
    fn of(names: impl Iterator<Item = &'a str>) -> Known<'a> {
        let mut known = Known { exact: HashSet::new(), folded: HashMap::new() };
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
