//! Who waits for whom: the dependencies between open tasks, tasks that block others, questions without an answer, and
//! abandoned tasks.

use super::scene::{Draft, Scene, task_names};
use super::stalls::{millis, restore};
use super::{IncidentKind, Remedy, Severity};
use crate::report::input::Spans;
use crate::report::messages::bare;
use crate::report::tasks::TaskHistory;
use crate::report::work::open_questions;
use crate::timeline::Entry;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use teamkeep_model::TaskStatus;
use teamkeep_model::time::duration;

/// Open tasks that block others although an agent could work on them, for longer than the threshold; those of one owner
/// together.
pub(super) fn blocked_chains(scene: &Scene<'_>) -> Vec<Draft> {
    let dependencies = Dependencies::of(scene.tasks.iter().filter(|task| task.is_unfinished()).collect());
    let mut chains: BTreeMap<Option<&str>, Vec<Chain<'_>>> = BTreeMap::new();
    let busy = BusyEnds::of(scene);
    for root in dependencies.roots() {
        let path = dependencies.critical_path(root);
        let is_worked_on = root.status == TaskStatus::InProgress;
        if path.len() < 2 || is_worked_on {
            continue;
        }
        let since = path.iter().filter_map(|task| task.changes.last()).map(|change| change.at.millis()).max();
        let since = since.unwrap_or(scene.end).max(busy.until(scene, root));
        if scene.end - since < millis(scene.limits.silent) {
            continue;
        }
        chains.entry(root.owner.as_deref()).or_default().push(Chain { path, since });
    }
    let mut found: Vec<Draft> =
        chains.into_iter().map(|(owner, chains)| blocked_by(scene, owner, &chains)).collect();
    found.extend(cycle(scene, &dependencies.cyclic));
    found
}

/// A task that no agent works on, the tasks that wait for it, and since when.
struct Chain<'a> {
    path: Vec<&'a TaskHistory>,
    since: i64,
}

/// Until when each agent was last busy with a task in progress, and not silent.
struct BusyEnds<'a>(HashMap<&'a str, i64>);

impl<'a> BusyEnds<'a> {
    fn of(scene: &Scene<'a>) -> BusyEnds<'a> {
        let mut held: HashMap<&str, Vec<Spans>> = HashMap::new();
        for task in scene.tasks {
            let owners: BTreeSet<&str> =
                task.changes.iter().filter_map(|change| change.owner.as_deref()).collect();
            for name in owners {
                held.entry(name).or_default().push(task.held_by(name, scene.end));
            }
        }
        let ends = held.into_iter().filter_map(|(name, held)| {
            let held = Spans::union(&held).intersection(&scene.presence(name));
            let silent = Spans::of(scene.silences(name, millis(scene.limits.silent)));
            Some((name, held.difference(&silent).iter().last()?.1))
        });
        BusyEnds(ends.collect())
    }

    /// Until when a ready task waited because its owner was busy, or for a task without an owner, because all teammates
    /// were.
    fn until(&self, scene: &Scene<'_>, task: &TaskHistory) -> i64 {
        let busy = |name: &str| self.0.get(name).copied().unwrap_or(i64::MIN);
        match &task.owner {
            Some(owner) => busy(owner),
            None => {
                let present = scene.case.teammates().filter(|name| scene.is_there_at_end(name));
                present.map(busy).min().unwrap_or(i64::MIN)
            }
        }
    }
}

fn blocked_by(scene: &Scene<'_>, owner: Option<&str>, chains: &[Chain<'_>]) -> Draft {
    let since = chains.iter().map(|chain| chain.since).min().unwrap_or(scene.end);
    let mut draft = Draft::new(IncidentKind::BlockedChain, Severity::Medium, (since, scene.end));
    let roots: Vec<&String> = chains.iter().filter_map(|chain| Some(&chain.path.first()?.id)).collect();
    // The roots are first.
    roots.iter().for_each(|id| draft.task(id));
    for Chain { path, .. } in chains {
        let blockers = std::iter::once(None).chain(path.iter().map(Some));
        for (task, blocker) in path.iter().zip(blockers) {
            if let Some(owner) = &task.owner {
                draft.agent(owner);
            }
            draft.task(&task.id);
            if let Some(entry) = last_change(scene, task) {
                let by = blocker.map(|blocker| format!(", blocked by #{}", blocker.id)).unwrap_or_default();
                let owner = task.owner.as_deref().unwrap_or("no agent");
                draft.step(entry, format!("#{} ({}, owned by {owner}){by}", task.id, task.status));
            }
        }
    }
    let rest = &draft.tasks[roots.len()..];
    let waited = match (scene.lasts(scene.end), rest.len()) {
        (false, _) => "waited",
        (true, 1) => "has waited",
        (true, _) => "have waited",
    };
    let (rest, time, roots) = (task_names(rest), duration(scene.end - since), task_names(roots));
    draft.summary = format!("{rest} {waited} {time} for {roots}, which no agent works on");
    draft.remedy = Some(match owner.filter(|name| scene.is_there_at_end(name)) {
        _ if scene.case.is_over() => restore(scene),
        Some(owner) => {
            let them = if chains.len() == 1 { "it" } else { "them" };
            Remedy::Advice(format!("Ask {owner} to start {roots}, or assign {them} to another teammate"))
        }
        None => Remedy::Advice(format!("Assign {roots} to a teammate")),
    });
    draft
}

/// Whether the chain waits for an agent that cannot work according to this incident.
pub(super) fn is_held_up_by(scene: &Scene<'_>, chain: &Draft, cause: &Draft) -> bool {
    let root = chain.tasks.first().and_then(|id| scene.tasks.iter().find(|task| task.id == *id));
    let owner = root.and_then(|task| task.owner.as_ref());
    let cannot_work = matches!(
        cause.kind,
        IncidentKind::StalledAgent | IncidentKind::FailedAgent | IncidentKind::CrashedAgent
    );
    cannot_work && cause.overlaps(chain.span) && owner.is_some_and(|owner| cause.agents.contains(owner))
}

fn last_change<'a>(scene: &Scene<'a>, task: &TaskHistory) -> Option<&'a Entry> {
    scene.changes_of(&task.id).last().copied()
}

/// Open tasks that depend on each other, so that none can begin. `cyclic` can also have tasks that are blocked by them.
fn cycle(scene: &Scene<'_>, cyclic: &[&TaskHistory]) -> Option<Draft> {
    let is_blocker = |task: &&TaskHistory| cyclic.iter().any(|other| other.blocked_by.contains(&task.id));
    let left: Vec<&TaskHistory> = cyclic.iter().copied().filter(is_blocker).collect();
    let since = left.iter().filter_map(|task| task.changes.last()).map(|change| change.at.millis()).max()?;
    let mut draft = Draft::new(IncidentKind::BlockedChain, Severity::High, (since, scene.end));
    for task in &left {
        draft.task(&task.id);
        if let Some(entry) = last_change(scene, task) {
            draft.step(entry, format!("#{} is blocked by {}", task.id, task_names(&task.blocked_by)));
        }
    }
    draft.summary = format!("{} depend on each other, so none of them can begin", task_names(&draft.tasks));
    draft.advise(format!("Remove a dependency of {}", task_names(&draft.tasks[..1])));
    Some(draft)
}

/// Agents that asked a question, got no answer for longer than the threshold, and did nothing else meanwhile.
pub(super) fn unanswered_questions(scene: &Scene<'_>) -> Vec<Draft> {
    let limit = millis(scene.limits.silent);
    let mut found = Vec::new();
    let names: Vec<&str> = scene.case.teammates().collect();
    for name in names {
        for question in open_questions(scene.mail, name, scene.end) {
            let silent = scene.silences(name, limit).into_iter().find(|(from, _)| {
                (question.from..question.from + millis(scene.limits.waiting)).contains(from)
            });
            let Some(silent) = silent.filter(|_| question.asked.to != "*") else { continue };
            let span = (question.from, question.to.min(silent.1));
            let tasks = scene.held(name, span.0);
            if span.1 - span.0 < limit || tasks.is_empty() {
                continue;
            }
            let asked = bare(&question.asked.to);
            let mut draft = Draft::new(IncidentKind::BlockedChain, Severity::Medium, span);
            draft.agent(asked);
            draft.agent(name);
            tasks.iter().for_each(|task| draft.task(&task.id));
            draft.keep_lost(scene);
            // The agent may have had its answer and continued.
            draft.is_loss = false;
            let is_it = |entry: &&Entry| entry.at == question.asked.at && entry.actor == name;
            if let Some(entry) = scene.case.entries.iter().find(is_it) {
                draft.step(entry, format!("{name} asked {asked} a question"));
            }
            let (owned, time) = (task_names(&draft.tasks), duration(span.1 - span.0));
            draft.summary =
                format!("{name} waited {time} for an answer from {asked}, with {owned} in progress");
            if scene.lasts(span.1) {
                draft.advise(format!("Ask {asked} to answer {name}"));
            }
            found.push(draft);
        }
    }
    found
}

/// The unfinished tasks of a run that is over, except those of other incidents.
pub(super) fn unfinished_work(scene: &Scene<'_>, open: &[&TaskHistory]) -> Option<Draft> {
    let first = open.iter().filter_map(|task| task.changes.first()).map(|change| change.at).min()?;
    let mut draft = Draft::new(IncidentKind::UnfinishedWork, Severity::Medium, (first.millis(), scene.end));
    for task in open {
        draft.task(&task.id);
        if let Some(owner) = &task.owner {
            draft.agent(owner);
        }
        if let Some(entry) = last_change(scene, task) {
            let owner = task.owner.as_deref().unwrap_or("no agent");
            draft.step(entry, format!("#{} was still {}, owned by {owner}", task.id, task.status));
        }
    }
    let were = if open.len() == 1 { "was" } else { "were" };
    draft.lost = draft.tasks.clone();
    draft.summary = format!("the run ended before {} {were} completed", task_names(&draft.tasks));
    draft.remedy = Some(restore(scene));
    Some(draft)
}

// The dependencies between the open tasks of a run.

pub(super) struct Dependencies<'a> {
    /// The tasks that can be completed one after the other. Each is after the open tasks that block it.
    pub ordered: Vec<&'a TaskHistory>,
    /// The other tasks: those in a cycle, and those that are blocked by one.
    pub cyclic: Vec<&'a TaskHistory>,
    /// The places of the ordered tasks that each task blocks.
    dependents: HashMap<&'a str, Vec<usize>>,
}

impl<'a> Dependencies<'a> {
    pub(super) fn of(open: Vec<&'a TaskHistory>) -> Dependencies<'a> {
        let ids: HashSet<&str> = open.iter().map(|task| task.id.as_str()).collect();
        let mut placed: HashSet<&str> = HashSet::new();
        let (mut ordered, mut rest) = (Vec::new(), open);
        loop {
            let is_blocked = |task: &&TaskHistory| {
                let mut blockers = task.blocked_by.iter().map(String::as_str);
                blockers.any(|id| ids.contains(id) && !placed.contains(id))
            };
            let (blocked, ready): (Vec<_>, Vec<_>) = rest.into_iter().partition(is_blocked);
            rest = blocked;
            if ready.is_empty() {
                let dependents = dependents(&ordered);
                return Dependencies { ordered, cyclic: rest, dependents };
            }
            placed.extend(ready.iter().map(|task| task.id.as_str()));
            ordered.extend(ready);
        }
    }

    /// The tasks that no open task blocks.
    pub(super) fn roots(&self) -> impl Iterator<Item = &'a TaskHistory> {
        let ids: HashSet<&str> = self.ordered.iter().map(|task| task.id.as_str()).collect();
        let is_root = move |task: &&TaskHistory| !task.blocked_by.iter().any(|id| ids.contains(id.as_str()));
        self.ordered.iter().copied().filter(is_root)
    }

    /// The longest path from a root to a task that depends on it.
    pub(super) fn critical_path(&self, root: &'a TaskHistory) -> Vec<&'a TaskHistory> {
        // The length of the longest path to each task that depends on the root, and the task before it on that path.
        let mut reached: HashMap<&str, (usize, Option<&str>)> =
            HashMap::from([(root.id.as_str(), (1, None))]);
        let mut last = (1, root.id.as_str());
        for task in self.behind(root) {
            let blockers = task.blocked_by.iter().map(String::as_str);
            let paths = blockers.filter_map(|id| Some((reached.get(id)?.0 + 1, id)));
            if let Some((length, before)) = paths.min_by_key(|(length, _)| Reverse(*length)) {
                reached.insert(&task.id, (length, Some(before)));
                if length > last.0 {
                    last = (length, &task.id);
                }
            }
        }
        let before = |id: &&str| reached.get(id).and_then(|(_, before)| *before);
        let path: HashSet<&str> = std::iter::successors(Some(last.1), before).collect();
        let rest = self.behind(root).into_iter().filter(|task| path.contains(task.id.as_str()));
        std::iter::once(root).chain(rest).collect()
    }

    /// The tasks that depend on a task, directly or not, in order.
    fn behind(&self, root: &TaskHistory) -> Vec<&'a TaskHistory> {
        let next = |id: &str| self.dependents.get(id).into_iter().flatten().copied();
        let mut reached: BTreeSet<usize> = BTreeSet::new();
        let mut new: Vec<usize> = next(&root.id).collect();
        while let Some(place) = new.pop() {
            if reached.insert(place) {
                new.extend(next(&self.ordered[place].id));
            }
        }
        reached.into_iter().map(|place| self.ordered[place]).collect()
    }
}

fn dependents<'a>(ordered: &[&'a TaskHistory]) -> HashMap<&'a str, Vec<usize>> {
    let mut dependents: HashMap<&str, Vec<usize>> = HashMap::new();
    for (place, task) in ordered.iter().enumerate() {
        for id in &task.blocked_by {
            dependents.entry(id).or_default().push(place);
        }
    }
    dependents
}

#[cfg(test)]
mod tests {
    use super::*;
    use teamkeep_model::TaskStatus;

    fn tasks(all: &[(&str, &[&str])]) -> Vec<TaskHistory> {
        let task = |(id, blocked_by): &(&str, &[&str])| TaskHistory {
            id: (*id).to_owned(),
            subject: None,
            description: None,
            status: TaskStatus::Pending,
            owner: None,
            removed_at: None,
            blocked_by: blocked_by.iter().map(|id| (*id).to_owned()).collect(),
            holds: Vec::new(),
            changes: Vec::new(),
        };
        all.iter().map(task).collect()
    }

    fn ids<'a>(tasks: impl IntoIterator<Item = &'a TaskHistory>) -> Vec<&'a str> {
        tasks.into_iter().map(|task| task.id.as_str()).collect()
    }

    #[test]
    fn the_critical_path_is_the_longest_even_if_it_does_not_begin_with_the_first_dependent() {
        let tasks =
            tasks(&[("1", &[]), ("2", &["1", "0"]), ("3", &["1"]), ("4", &["3", "1"]), ("5", &["4"])]);
        let dependencies = Dependencies::of(tasks.iter().collect());
        assert_eq!(ids(dependencies.roots()), ["1"]);
        assert_eq!(ids(dependencies.critical_path(&tasks[0])), ["1", "3", "4", "5"]);
    }

    #[test]
    fn a_cycle_and_the_tasks_behind_it_have_no_order() {
        let tasks = tasks(&[("1", &["2"]), ("2", &["1"]), ("3", &["2", "4"]), ("4", &[]), ("5", &["5"])]);
        let dependencies = Dependencies::of(tasks.iter().collect());
        assert_eq!(ids(dependencies.ordered), ["4"]);
        assert_eq!(ids(dependencies.cyclic), ["1", "2", "3", "5"]);
    }
}
