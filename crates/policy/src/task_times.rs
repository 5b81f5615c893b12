//! The times in which agents had tasks in progress, for limits per task.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::ledger::fits;
use teamkeep_model::time::Timestamp;

/// Maximum number of stored times.
const MAX_TIMES: usize = 256;

/// In the order in which they began.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TaskTimes(Vec<TaskTime>);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct TaskTime {
    task: String,
    owner: String,
    /// Milliseconds since 1970.
    from: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to: Option<i64>,
}

impl TaskTimes {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Compares with the tasks that are in progress at a moment, each with its owner.
    pub fn note(&mut self, in_progress: &BTreeSet<(String, String)>, at: Timestamp) {
        let at = at.millis();
        let is_of = |time: &TaskTime, (task, owner): &(String, String)| {
            time.to.is_none() && time.task == *task && time.owner == *owner
        };
        for time in self.0.iter_mut().filter(|time| time.to.is_none()) {
            if !in_progress.iter().any(|one| is_of(time, one)) {
                time.to = Some(at);
            }
        }
        for (task, owner) in in_progress.iter().filter(|(task, owner)| fits(task) && fits(owner)) {
            let pair = (task.clone(), owner.clone());
            if !self.0.iter().any(|time| is_of(time, &pair)) && self.make_room() {
                self.0.push(TaskTime { task: pair.0, owner: pair.1, from: at, to: None });
            }
        }
    }

    /// The task that an agent had in progress at a moment; of several, the one that began last.
    pub fn task_of(&self, owner: &str, at: i64) -> Option<&str> {
        let contains = |time: &&TaskTime| time.from <= at && time.to.is_none_or(|to| at < to);
        let own = self.0.iter().rev().filter(|time| time.owner == owner);
        own.filter(contains).map(|time| time.task.as_str()).next()
    }

    /// Whether the agent has the task in progress.
    pub fn is_in_progress(&self, task: &str, owner: &str) -> bool {
        self.0.iter().any(|time| time.to.is_none() && time.task == task && time.owner == owner)
    }

    /// Drops the oldest time that has ended, if there is no room for another.
    fn make_room(&mut self) -> bool {
        if self.0.len() < MAX_TIMES {
            return true;
        }
        let ended = self.0.iter().position(|time| time.to.is_some());
        ended.map(|index| self.0.remove(index)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(times: &mut TaskTimes, in_progress: &[(&str, &str)], at: i64) {
        let pairs = in_progress.iter().map(|(task, owner)| ((*task).to_owned(), (*owner).to_owned()));
        times.note(&pairs.collect(), Timestamp::from_millis(at).unwrap());
    }

    #[test]
    fn a_task_has_the_times_of_each_owner_and_the_last_one_begun_counts() {
        let mut times = TaskTimes::default();
        note(&mut times, &[("1", "alice")], 10);
        note(&mut times, &[("1", "alice"), ("2", "alice"), ("3", "bob")], 20);
        note(&mut times, &[("1", "bob"), ("3", "bob")], 30);
        let found = |owner: &str, at: i64| times.task_of(owner, at);
        assert_eq!([9, 10, 19].map(|at| found("alice", at)), [None, Some("1"), Some("1")]);
        assert_eq!([20, 29, 30].map(|at| found("alice", at)), [Some("2"), Some("2"), None]);
        assert_eq!([29, 30, i64::MAX].map(|at| found("bob", at)), [Some("3"), Some("1"), Some("1")]);
        assert!(times.is_in_progress("3", "bob") && !times.is_in_progress("1", "alice"));
        let stored = serde_json::to_string(&times).unwrap();
        assert_eq!(serde_json::from_str::<TaskTimes>(&stored).unwrap(), times);
    }

    #[test]
    fn the_number_of_times_is_limited_and_open_ones_stay() {
        let mut times = TaskTimes::default();
        note(&mut times, &[("first", "alice")], 0);
        for number in 0..2 * MAX_TIMES as i64 {
            note(&mut times, &[("first", "alice"), (&number.to_string(), "bob")], number + 1);
        }
        assert_eq!(times.0.len(), MAX_TIMES);
        assert!(times.is_in_progress("first", "alice"));
        let all: Vec<String> = (0..2 * MAX_TIMES).map(|number| format!("new{number}")).collect();
        let open: Vec<(&str, &str)> = all.iter().map(|task| (task.as_str(), "carol")).collect();
        note(&mut times, &open, 2_000);
        assert_eq!(times.0.len(), MAX_TIMES);
        note(&mut times, &[(&"x".repeat(300), "bob")], 3_000);
        assert!(times.0.iter().all(|time| time.task.len() < 300));
    }
}
