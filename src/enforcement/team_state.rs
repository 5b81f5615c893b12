//! The state of the team at a hook call, from the snapshots that the call has just taken.

use std::path::Path;
use std::time::Instant;

use serde_json::Value;

use crate::archive::{Archive, CapturedFile, Contents, Index};
use crate::fs;
use crate::json;
use crate::policy::{Ledger, Part, TeamState, Unreadable};
use crate::team::{Lists, Task, TeamConfig};

/// With more files than this, several threads read them.
const THREADED_FROM: usize = 1_000;
/// Number of these threads.
const THREADS: usize = 4;

/// Where and until when a team's files are read.
#[derive(Debug, Clone, Copy)]
pub struct SnapshotReader<'a> {
    /// The archive with the snapshots.
    pub archive: &'a Archive,
    /// Claude Code's directory, in metadata-only mode: gates need subjects and marks, and the store has only their
    /// sizes and hashes.
    pub client: Option<&'a Path>,
    /// The deadline for reading. Files that are not read by then are counted ([`TeamState::unread`]).
    pub until: Option<Instant>,
}

/// Reads the state of the team. Unreadable files are left out: a gate judges by the rest. With `client`, files
/// are read there. Task ids are those that `session` sees; without one, those that the lead sees.
pub fn team_state(
    archive: &Archive,
    client: Option<&Path>,
    whose: (Option<&str>, Option<&str>),
    index: Option<&Index>,
    ledger: Ledger,
) -> TeamState {
    TeamState { ledger, ..(SnapshotReader { archive, client, until: None }).team(whose, index) }
}

impl SnapshotReader<'_> {
    /// Reads the team and its session's tasks, without a ledger.
    pub fn team(&self, (team, session): (Option<&str>, Option<&str>), index: Option<&Index>) -> TeamState {
        let mut state = TeamState { name: team.map(str::to_owned), ..TeamState::default() };
        let Some(index) = index else { return state };
        let lists = index.lists(team, session);
        state.missing = index.lists.missing().map(str::to_owned).collect();
        let mut files: Vec<(&str, TeamFile<'_>, &CapturedFile)> = Vec::new();
        for (path, seen) in &index.files {
            match TeamFile::of(path, &lists) {
                Some(file) if seen.object.is_some() => files.push((path.as_str(), file, seen)),
                _ => state.unreadable.extend(unreadable(path, seen.skipped.as_deref(), &lists)),
            }
        }
        let read = |files: &[(&str, TeamFile<'_>, &CapturedFile)]| -> Vec<Result<SnapshotPart, ReadFailure>> {
            let mut contents = self.archive.contents(&index.run);
            files.iter().map(|(path, file, seen)| self.piece(&mut contents, path, *file, seen)).collect()
        };
        let pieces = if files.len() > THREADED_FROM {
            std::thread::scope(|scope| {
                let parts = files.chunks(files.len().div_ceil(THREADS));
                let threads: Vec<_> = parts.map(|part| scope.spawn(move || read(part))).collect();
                threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
            })
        } else {
            read(&files)
        };
        for piece in pieces {
            match piece {
                Ok(piece) => piece.put(&mut state),
                Err(ReadFailure::Late) => state.unread += 1,
                Err(ReadFailure::Unreadable(path)) => {
                    state.unreadable.extend(unreadable(&path, Some("its content cannot be read"), &lists));
                }
            }
        }
        state
    }

    /// The content of a file, if it can be read.
    fn piece(
        &self,
        contents: &mut Contents<'_>,
        path: &str,
        file: TeamFile<'_>,
        seen: &CapturedFile,
    ) -> Result<SnapshotPart, ReadFailure> {
        if self.until.is_some_and(|until| Instant::now() >= until) {
            return Err(ReadFailure::Late);
        }
        let largest = self.archive.largest;
        let there = self.client.and_then(|client| fs::read_regular(&client.join(path), largest).ok());
        let there = there.map(|(bytes, _)| bytes).filter(|bytes| json::parse_lossy(bytes).is_some());
        // Before a TeamDelete, larger files are archived as well; a hook call does not have the time to read them.
        let is_short = seen.stamp.0 <= largest;
        let kept = || if is_short { contents.get(seen) } else { None };
        let bytes = there.or_else(kept).ok_or_else(|| ReadFailure::Unreadable(path.to_owned()))?;
        Ok(file.says(&bytes))
    }
}

/// Why a file was not read.
#[derive(Debug)]
enum ReadFailure {
    /// The deadline had passed.
    Late,
    /// The file with this path is too large, or its stored content is damaged.
    Unreadable(String),
}

/// The part that the gates do not see if this path cannot be read, if any. Older versions stored no `why`.
pub fn unreadable(path: &str, why: Option<&str>, lists: &Lists<'_>) -> Option<Unreadable> {
    let part = match TeamFile::of(path, lists) {
        Some(TeamFile::Roster) => Part::Roster,
        Some(TeamFile::Inbox(name)) => Part::Inbox(name.to_owned()),
        Some(TeamFile::Task(list, name)) => Part::Task(key(list, name.strip_suffix(".json")?)),
        None => match *path.split('/').collect::<Vec<_>>() {
            ["teams", _] => Part::Team,
            ["teams", _, "inboxes"] => Part::Inboxes,
            ["tasks", list] => lists.prefix(list).map(|_| Part::Tasks)?,
            _ => return None,
        },
    };
    let why = why.unwrap_or("it could not be stored").to_owned();
    Some(Unreadable { path: path.to_owned(), why, part })
}

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
pub enum SnapshotPart {
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
        let mut parts = path.split('/');
        match (parts.next()?, parts.next()?, parts.next()?, parts.next(), parts.next()) {
            ("teams", _, "config.json", None, None) => Some(TeamFile::Roster),
            ("teams", _, "inboxes", Some(name), None) => name.strip_suffix(".json").map(TeamFile::Inbox),
            ("tasks", list, name, None, None) => Some(TeamFile::Task(lists.prefix(list)?, name)),
            _ => None,
        }
    }

    /// Parses its content.
    pub fn says(self, bytes: &[u8]) -> SnapshotPart {
        match self {
            TeamFile::Roster => {
                let config = TeamConfig::parse(bytes).unwrap_or_default();
                SnapshotPart::Roster(config.members.into_iter().map(|member| member.name).collect())
            }
            TeamFile::Inbox(owner) => SnapshotPart::Mail(owner.to_owned(), unread(bytes)),
            TeamFile::Task(list, name) => {
                let task = Task::parse(name, bytes).filter(|task| !task.is_tracker());
                SnapshotPart::Task(task.map(|task| Task { id: key(list, &task.id), ..task }))
            }
        }
    }

    /// Removes a deleted file from a team's state.
    pub fn take(self, state: &mut TeamState) {
        match self {
            TeamFile::Roster => state.members.clear(),
            TeamFile::Inbox(owner) => drop(state.mail.remove(owner)),
            TeamFile::Task(list, name) => {
                drop(state.tasks.remove(&key(list, name.strip_suffix(".json").unwrap_or(name))));
            }
        }
    }
}

impl SnapshotPart {
    /// Adds it to a team's state.
    pub fn put(self, state: &mut TeamState) {
        match self {
            SnapshotPart::Roster(members) => state.members = members,
            SnapshotPart::Mail(owner, waiting) => drop(state.mail.insert(owner, waiting)),
            SnapshotPart::Task(Some(task)) => drop(state.tasks.insert(task.id.clone(), task)),
            SnapshotPart::Task(None) => {}
        }
    }
}

/// The id of a task: its number, prefixed with the list unless it is the session's list.
fn key(list: &str, id: &str) -> String {
    if list.is_empty() { id.to_owned() } else { format!("{list}/{id}") }
}

/// The number of unread messages. Delivered messages are deleted, or marked as read (2.1.47).
fn unread(bytes: &[u8]) -> usize {
    let waits = |entry: &&Value| entry.get("read").and_then(Value::as_bool) != Some(true);
    let file = json::parse_lossy(bytes).unwrap_or(Value::Null);
    file.as_array().map_or(0, |entries| entries.iter().filter(waits).count())
}

#[cfg(test)]
mod tests {
    use super::*;

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
            TeamFile::of(path, &Lists::of_team(None)).unwrap().says(text.as_bytes()).put(&mut state);
        }
        assert_eq!((state.tasks.len(), state.mail["bob"], state.members.len()), (1, 1, 1));
        files
            .iter()
            .for_each(|(path, _)| TeamFile::of(path, &Lists::of_team(None)).unwrap().take(&mut state));
        assert!(state.tasks.is_empty() && state.mail.is_empty() && state.members.is_empty());
    }

    #[test]
    fn what_there_is_no_time_to_read_is_counted_and_many_files_are_read_as_few_are() {
        let dir = tempfile::tempdir().unwrap();
        let archive = Archive::new(dir.path().to_owned(), 1 << 20, std::time::Duration::ZERO);
        let mut index = Index::default();
        for number in 1..=THREADED_FROM + 10 {
            let text = format!("{{\"status\":\"pending\",\"owner\":\"worker-{number}\"}}");
            let seen = CapturedFile {
                object: Some(archive.objects.put_compressed(text.as_bytes()).unwrap()),
                ..CapturedFile::default()
            };
            index.files.insert(format!("tasks/t/{number}.json"), seen);
        }
        let read = |until| {
            SnapshotReader { archive: &archive, client: None, until }.team((Some("t"), None), Some(&index))
        };
        let all = read(None);
        assert_eq!((all.tasks.len(), all.unread), (THREADED_FROM + 10, 0));
        assert_eq!(all.tasks["77"].owner.as_deref(), Some("worker-77"));
        let none = read(Some(Instant::now()));
        assert_eq!((none.tasks.len(), none.unread), (0, THREADED_FROM + 10));
    }

    #[test]
    fn a_message_that_was_cut_in_the_middle_of_an_emoji_still_waits() {
        assert_eq!(unread(br#"[{"text":"cut \ud83d"},{"text":"b","read":true},{"text":"c"}]"#), 2);
    }
}
