//! The dependencies between the open tasks of a run.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};

use crate::report::tasks::TaskHistory;

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
