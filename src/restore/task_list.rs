//! The current content of a task list.

use std::collections::BTreeMap;

use super::dir_handle::{DirHandle, is_file};
use super::list::List;
use crate::error::{Error, Result};
use crate::team::Task;

/// Claude Code's file with the highest task number ever assigned.
pub(super) const MARK: &str = ".highwatermark";
/// Maximum size of a task file and of the mark in bytes.
pub(super) const MAX_BYTES: u64 = 32 << 20;
/// The largest number that Claude Code can represent exactly.
pub(super) const MAX_TASK_ID: u64 = (1 << 53) - 1;

/// The state of a task list.
#[derive(Debug, Default)]
pub struct TaskList {
    /// The task files by name without `.json`; `None` for an invalid one.
    pub tasks: BTreeMap<String, Option<Task>>,
    /// The content of [`MARK`]; `None` if it does not exist.
    pub highwatermark: Option<Vec<u8>>,
}

impl TaskList {
    /// Reads a list; a missing one is empty.
    ///
    /// # Errors
    /// The list is a link or not a directory, or a file in it cannot be read.
    pub fn read(dir: Option<&DirHandle>) -> Result<TaskList> {
        let Some(dir) = dir else { return Ok(TaskList::default()) };
        let mut list_now = TaskList::default();
        for name in dir.names()? {
            let Some(stem) = name.strip_suffix(".json").filter(|stem| !stem.starts_with('.')) else {
                continue;
            };
            let is_file = dir.metadata(&name)?.as_ref().is_some_and(is_file);
            let bytes = if is_file { dir.read(&name, MAX_BYTES).ok().flatten() } else { None };
            list_now.tasks.insert(stem.to_owned(), bytes.and_then(|bytes| Task::parse(&name, &bytes)));
        }
        list_now.highwatermark = dir.read(MARK, 4096)?;
        Ok(list_now)
    }

    /// Opens the list's directory; `None` if it does not exist.
    ///
    /// # Errors
    /// It or `tasks/` is a link or not a directory.
    pub fn open(client: &std::path::Path, list: &List) -> Result<Option<DirHandle>> {
        let client = match std::fs::canonicalize(client) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            other => {
                other.map_err(|error| Error::caused(format!("cannot open {}", client.display()), error))?
            }
        };
        let opened = DirHandle::open(&client)?.open_dir("tasks").and_then(|tasks| match tasks {
            Some(tasks) => tasks.open_dir(&list.name),
            None => Ok(None),
        });
        opened.map_err(|error| Error::from(error).hint("nothing was changed; fix it, or choose another list"))
    }

    /// The number in the mark, parsed as Claude Code does: an invalid number counts as none.
    pub fn mark(&self) -> u64 {
        self.highwatermark.as_deref().map_or(0, number)
    }

    /// The highest number in use.
    pub fn read_highwatermark(&self) -> u64 {
        self.tasks.keys().map(|stem| leading(stem)).fold(self.mark(), u64::max)
    }

    /// Whether a number is taken.
    pub fn has(&self, id: u64) -> bool {
        self.tasks.contains_key(&id.to_string())
    }
}

/// The number in a mark.
pub(super) fn number(mark: &[u8]) -> u64 {
    leading(String::from_utf8_lossy(mark).trim())
}

/// The leading number of a text; 0 if there is none.
fn leading(text: &str) -> u64 {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    match text.get(..digits) {
        Some("") | None => 0,
        Some(digits) => digits.parse().unwrap_or(u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_the_client_reads_them() {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in [("3.json", "{}"), ("12abc.json", "torn{"), (".7.json", "{}"), (MARK, "5\n")] {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        std::os::unix::fs::symlink("nowhere", dir.path().join("4.json")).unwrap();
        let list_now = TaskList::read(Some(&DirHandle::open(dir.path()).unwrap())).unwrap();
        assert_eq!((list_now.mark(), list_now.read_highwatermark()), (5, 12));
        assert!(list_now.has(3) && list_now.has(4) && !list_now.has(7));
        assert!(list_now.tasks["3"].is_some() && list_now.tasks["4"].is_none());
        assert_eq!((leading("abc"), leading(""), leading(&"9".repeat(30))), (0, 0, u64::MAX));
    }
}
