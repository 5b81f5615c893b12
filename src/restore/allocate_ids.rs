//! Assigns a number to each task.

use super::source::RestorableTask;
use super::task_list::{MAX_TASK_ID, TaskList};
use crate::error::{Error, Result};

/// A larger number is not kept, because Claude Code continues from the highest.
const RESERVED_IDS: u64 = 999_999_999;

/// Assigns a number to each task: its own if that is free, else the next after all used ones. In a list that is not
/// the run's `own`, numbers up to the mark are used as well, because they belonged to other tasks.
///
/// # Errors
/// No numbers are left.
pub(super) fn allocate_ids(wanted: &[&RestorableTask], list_now: &TaskList, own: bool) -> Result<Vec<u64>> {
    let mut given: Vec<Option<u64>> = Vec::new();
    for recorded in wanted {
        let id = number(&recorded.task.id).filter(|id| {
            let was_its = own && recorded.list().is_none();
            !list_now.has(*id) && (was_its || *id > list_now.mark()) && !given.contains(&Some(*id))
        });
        given.push(id);
    }
    let mut next = given.iter().flatten().copied().fold(list_now.read_highwatermark(), u64::max);
    if next > MAX_TASK_ID - given.len() as u64 {
        return Err(Error::new(format!("the list has used the ID {next}, and there is no higher one"))
            .hint("choose another list"));
    }
    let ids = given.into_iter().map(|id| {
        id.unwrap_or_else(|| {
            next += 1;
            next
        })
    });
    Ok(ids.collect())
}

/// The number of an id in Claude Code's spelling.
fn number(id: &str) -> Option<u64> {
    id.parse().ok().filter(|number: &u64| (1..=RESERVED_IDS).contains(number) && number.to_string() == id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::team::Task;

    fn recorded(key: &str) -> RestorableTask {
        let id = key.rsplit('/').next().unwrap();
        let task = Task::parse(&format!("{id}.json"), b"{}").unwrap();
        RestorableTask { key: key.to_owned(), task, deleted: false, from_tools_only: false }
    }

    fn given(keys: &[&str], taken: &[u64], mark: u64, own: bool) -> Vec<u64> {
        let recorded_tasks: Vec<RestorableTask> = keys.iter().map(|key| recorded(key)).collect();
        let tasks = taken.iter().map(|id| (id.to_string(), None)).collect();
        let list_now = TaskList { tasks, highwatermark: Some(mark.to_string().into_bytes()) };
        allocate_ids(&recorded_tasks.iter().collect::<Vec<_>>(), &list_now, own).unwrap()
    }

    #[test]
    fn a_number_is_kept_where_it_is_free_and_new_where_it_is_taken() {
        assert_eq!(given(&["2", "3"], &[], 0, false), [2, 3]);
        assert_eq!(given(&["1", "2", "3"], &[1, 2], 0, false), [4, 5, 3]);
        assert_eq!(given(&["2", "9"], &[], 3, false), [10, 9], "2 was another task's");
        assert_eq!(given(&["2", "9"], &[], 3, true), [2, 9], "2 was this task's own");
        assert_eq!(given(&["2", "session-x/2"], &[], 0, true), [2, 3]);
        assert_eq!(given(&["x", "007", "0", "99999999999"], &[5], 4, false), [6, 7, 8, 9]);
    }

    #[test]
    fn a_list_that_has_given_every_number_is_told() {
        let list_now =
            TaskList { highwatermark: Some(b"99999999999999999999".to_vec()), ..TaskList::default() };
        let error = allocate_ids(&[&recorded("1")], &list_now, true).unwrap_err();
        assert!(error.to_string().contains("there is no higher one"));
    }
}
