//! The ids of a run's tasks: the plain number in the main list, `list/number` in any other.

use std::collections::BTreeSet;

use super::events::LoadedEvent;
use crate::team::{Task, is_of};

/// The task lists of a run. The first one in which a task was seen is the main list: its task ids are plain numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskIds {
    /// The list that is named after the team, or after the session of a run without a team.
    own: Option<String>,
    main: Option<String>,
    /// The lists that `CLAUDE_CODE_TASK_LIST_ID` named.
    named: BTreeSet<String>,
}

impl TaskIds {
    /// The lists of a run, before any task was seen.
    pub fn new(own: Option<&str>, events: &[LoadedEvent]) -> TaskIds {
        let named = events.iter().filter_map(|event| event.task_list.clone()).collect();
        TaskIds { own: own.map(str::to_owned), main: None, named }
    }

    /// Records a task in a list. The trackers of 2.1.47 do not count.
    pub(super) fn see(&mut self, list: &str, task: &Task) {
        if self.main.is_none() && !task.internal && !self.is_own(list) {
            self.main = Some(list.to_owned());
        } else if self.main.is_none() && !task.internal {
            self.main.clone_from(&self.own);
        }
    }

    /// The id of a task, from its list and its number.
    pub fn of_file(&self, list: &str, id: &str) -> String {
        let is_main = match &self.main {
            Some(main) if Some(main) != self.own.as_ref() => main == list,
            _ => self.is_own(list),
        };
        if is_main { id.to_owned() } else { format!("{list}/{id}") }
    }

    /// The id of a task in a file. The trackers of 2.1.47 may be in another list than the team's tasks and have the same
    /// numbers.
    pub(super) fn of_task(&self, list: &str, task: &Task) -> String {
        let is_beside = task.internal && self.own.as_deref().is_some_and(|own| own != list);
        if is_beside { format!("{list}/{}", task.id) } else { self.of_file(list, &task.id) }
    }

    /// The id of a task, from its number and the list that a tool's event names. Without a list, it is the team's.
    pub fn of_event(&self, list: Option<&str>, id: &str) -> String {
        let is_named = self.main.as_ref().is_some_and(|main| self.named.contains(main));
        match (list, &self.own) {
            (Some(list), _) => self.of_file(list, id),
            (None, Some(own)) if is_named => self.of_file(own, id),
            (None, _) => id.to_owned(),
        }
    }

    /// Whether the task with this id is in a list that `CLAUDE_CODE_TASK_LIST_ID` named.
    pub fn is_named(&self, called: &str) -> bool {
        let list = called.rsplit_once('/').map(|(list, _)| list).or(self.main.as_deref());
        list.is_some_and(|list| self.named.contains(list))
    }

    /// The list whose task ids are plain numbers.
    pub fn main(&self) -> Option<&str> {
        self.main.as_deref().or(self.own.as_deref())
    }

    fn is_own(&self, list: &str) -> bool {
        self.own.as_deref().is_none_or(|own| is_of(list, own))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(seen: &[&str], named: &[&str]) -> TaskIds {
        let task = Task::parse("1.json", b"{}").unwrap();
        let named = named.iter().map(|list| (*list).to_owned()).collect();
        let mut ids = TaskIds { own: Some("t-1".to_owned()), main: None, named };
        seen.iter().for_each(|list| ids.see(list, &task));
        ids
    }

    #[test]
    fn the_first_list_is_called_by_numbers_and_each_event_means_its_own() {
        let team = ids(&["t_1", "x"], &["x"]);
        assert_eq!(
            [team.of_file("t-1", "1"), team.of_file("T_1", "1"), team.of_file("x", "1")],
            ["1", "1", "x/1"]
        );
        assert_eq!([team.of_event(None, "1"), team.of_event(Some("x"), "1")], ["1", "x/1"]);
        let named = ids(&["x", "y", "t-1"], &["x", "y"]);
        assert_eq!(
            [named.of_file("x", "1"), named.of_file("y", "1"), named.of_file("t-1", "1")],
            ["1", "y/1", "t-1/1"]
        );
        assert_eq!([named.of_event(Some("y"), "1"), named.of_event(None, "1")], ["y/1", "t-1/1"]);
        let cleared = ids(&["session-2"], &[]);
        assert_eq!([cleared.of_file("session-2", "1"), cleared.of_event(None, "1")], ["1", "1"]);
        assert_eq!(ids(&[], &["x"]).of_event(Some("x"), "1"), "x/1", "no task of any list was seen");
    }
}
