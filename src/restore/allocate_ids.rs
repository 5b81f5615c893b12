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
pub(super) fn allocate_ids(wanted: &[&RestorableTask], board: &TaskList, own: bool) -> Result<Vec<u64>> {
    let mut given: Vec<Option<u64>> = Vec::new();
    for past in wanted {
        let id = number(&past.task.id).filter(|id| {
            let was_its = own && past.list().is_none();
            !board.has(*id) && (was_its || *id > board.mark()) && !given.contains(&Some(*id))
        });
        given.push(id);
    }
    let mut next = given.iter().flatten().copied().fold(board.read_highwatermark(), u64::max);
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

    fn past(key: &str) -> RestorableTask {
        let id = key.rsplit('/').next().unwrap();
        let task = Task::parse(&format!("{id}.json"), b"{}").unwrap();
        RestorableTask { key: key.to_owned(), task, deleted: false, told_only: false }
    }

    fn given(keys: &[&str], taken: &[u64], mark: u64, own: bool) -> Vec<u64> {
        let pasts: Vec<RestorableTask> = keys.iter().map(|key| past(key)).collect();
        let tasks = taken.iter().map(|id| (id.to_string(), None)).collect();
        let board = TaskList { tasks, highwatermark: Some(mark.to_string().into_bytes()) };
        allocate_ids(&pasts.iter().collect::<Vec<_>>(), &board, own).unwrap()
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
        let board = TaskList { highwatermark: Some(b"99999999999999999999".to_vec()), ..TaskList::default() };
        let error = allocate_ids(&[&past("1")], &board, true).unwrap_err();
        assert!(error.to_string().contains("there is no higher one"));
    }
}
