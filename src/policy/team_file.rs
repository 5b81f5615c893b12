//! The files of a team that gates use, and the parts of them that cannot be read.

use serde_json::Value;

use crate::json;
use crate::team::{Lists, Task, TeamConfig, TeamPath, mailbox};

/// A file that gates use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TeamFile<'a> {
    /// The roster.
    Roster,
    /// An agent's inbox.
    Inbox(&'a str),
    /// A task: its list, if that must be shown, and its file name.
    Task(&'a str, &'a str),
}

/// The parsed content of a file.
#[derive(Debug, Clone)]
pub enum FileContent {
    /// The members of the team.
    Roster(Vec<String>),
    /// The owner of an inbox and the number of unread messages.
    Mail(String, usize),
    /// A task; `None` for one that is not work.
    Task(Option<Task>),
}

impl<'a> TeamFile<'a> {
    /// Parses a path below Claude Code's directory; `None` for any other file.
    pub fn of(path: &'a str, lists: &Lists<'_>) -> Option<TeamFile<'a>> {
        match TeamPath::of(path) {
            TeamPath::Config => Some(TeamFile::Roster),
            TeamPath::Inbox(name) => name.strip_suffix(".json").map(TeamFile::Inbox),
            TeamPath::Task(list, name) => Some(TeamFile::Task(lists.prefix(list)?, name)),
            _ => None,
        }
    }

    /// Parses its content.
    pub fn parse(self, bytes: &[u8]) -> FileContent {
        match self {
            TeamFile::Roster => {
                let config = TeamConfig::parse(bytes).unwrap_or_default();
                FileContent::Roster(config.members.into_iter().map(|member| member.name).collect())
            }
            TeamFile::Inbox(owner) => FileContent::Mail(owner.to_owned(), unread(bytes)),
            TeamFile::Task(list, name) => {
                let task = Task::parse(name, bytes).filter(|task| !task.is_tracker());
                FileContent::Task(task.map(|task| Task { id: key(list, &task.id), ..task }))
            }
        }
    }
}

/// The id of a task: its number, prefixed with the list unless it is the session's list.
pub(super) fn key(list: &str, id: &str) -> String {
    if list.is_empty() { id.to_owned() } else { format!("{list}/{id}") }
}

/// The number of unread messages. Delivered messages are deleted, or marked as read (2.1.47).
fn unread(bytes: &[u8]) -> usize {
    let waits = |entry: &&Value| entry.get("read").and_then(Value::as_bool) != Some(true);
    let file = json::parse_lossy(bytes).unwrap_or(Value::Null);
    file.as_array().map_or(0, |entries| entries.iter().filter(waits).count())
}

/// A file or directory of the team that cannot be read: a symlink or a special file in its place, a missing permission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// Its path below Claude Code's directory; empty if only the failure is known.
    pub path: String,
    /// Why.
    pub why: String,
    /// The part that the gates do not see because of it.
    pub part: Part,
}

impl Unreadable {
    /// The part that the gates do not see if this path cannot be read, if any. Older versions stored no `why`.
    pub fn of(path: &str, why: Option<&str>, lists: &Lists<'_>) -> Option<Unreadable> {
        let part = match TeamPath::of(path) {
            TeamPath::Team => Part::Team,
            TeamPath::Inboxes => Part::Inboxes,
            TeamPath::TaskList(list) => lists.prefix(list).map(|_| Part::Tasks)?,
            _ => match TeamFile::of(path, lists)? {
                TeamFile::Roster => Part::Roster,
                TeamFile::Inbox(name) => Part::Inbox(name.to_owned()),
                TeamFile::Task(list, name) => Part::Task(key(list, name.strip_suffix(".json")?)),
            },
        };
        let why = why.unwrap_or("it could not be stored").to_owned();
        Some(Unreadable { path: path.to_owned(), why, part })
    }
}

/// A part of a team's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Any of them.
    Any,
    /// The team's directory: the roster and the inboxes.
    Team,
    /// The roster.
    Roster,
    /// All inboxes.
    Inboxes,
    /// One agent's inbox.
    Inbox(String),
    /// A task list.
    Tasks,
    /// A task, by its id.
    Task(String),
}

impl Part {
    /// Whether the roster is in it.
    pub fn has_roster(&self) -> bool {
        matches!(self, Part::Any | Part::Team | Part::Roster)
    }

    /// Whether any tasks are in it.
    pub fn has_tasks(&self) -> bool {
        matches!(self, Part::Any | Part::Tasks | Part::Task(_))
    }

    /// Whether this task may be in it.
    pub fn may_have_task(&self, id: &str) -> bool {
        match self {
            Part::Task(task) => task == id,
            part => part.has_tasks(),
        }
    }

    /// Whether the agent's inbox may be in it.
    pub fn may_have_inbox(&self, name: &str) -> bool {
        match self {
            Part::Inbox(inbox) => inbox == name || *inbox == mailbox(name),
            part => matches!(part, Part::Any | Part::Team | Part::Inboxes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::TeamState;

    #[test]
    fn each_file_is_what_its_path_says_and_the_tasks_of_another_list_are_none() {
        let of = |path| TeamFile::of(path, &Lists::of_team(Some("t")));
        assert_eq!(of("teams/t/config.json"), Some(TeamFile::Roster));
        assert_eq!(of("teams/t/inboxes/bob.json"), Some(TeamFile::Inbox("bob")));
        assert_eq!(of("tasks/t/1.json"), Some(TeamFile::Task("", "1.json")));
        assert_eq!(TeamFile::of("tasks/u/1.json", &Lists::of_team(None)), Some(TeamFile::Task("", "1.json")));
        for other in ["tasks/u/1.json", "tasks/t", "teams/t/inboxes/bob.json.tmp", "teams/t/x/y/z", "x"] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn what_was_put_in_is_taken_out_again() {
        let mut state = TeamState::default();
        let files = [
            ("tasks/t/1.json", r#"{"id":"1","status":"pending"}"#),
            ("tasks/t/2.json", r#"{"metadata":{"_internal":true}}"#),
            ("teams/t/config.json", r#"{"members":[{"name":"bob"}]}"#),
            ("teams/t/inboxes/bob.json", r#"[{"text":"a","read":true},{"text":"b"}]"#),
        ];
        for (path, text) in files {
            let file = TeamFile::of(path, &Lists::of_team(None)).unwrap();
            state.put_file(file.parse(text.as_bytes()));
        }
        assert_eq!((state.tasks.len(), state.mail["bob"], state.members.len()), (1, 1, 1));
        let lists = Lists::of_team(None);
        files.iter().for_each(|(path, _)| state.remove_file(TeamFile::of(path, &lists).unwrap()));
        assert!(state.tasks.is_empty() && state.mail.is_empty() && state.members.is_empty());
    }

    #[test]
    fn a_message_that_was_cut_in_the_middle_of_an_emoji_still_waits() {
        assert_eq!(unread(br#"[{"text":"cut \ud83d"},{"text":"b","read":true},{"text":"c"}]"#), 2);
    }
}
