//! The team at the moment of a call, out of what the call's look has just kept.

use std::path::Path;
use std::time::Instant;

use serde_json::Value;

use crate::archive::{Archive, Index, Seen};
use crate::fs;
use crate::json;
use crate::policy::{Ledger, TeamState};
use crate::team::{Lists, Task, TeamConfig};

/// If there are more files than this, several threads read them.
const MANY: usize = 1_000;
/// How many threads read then.
const THREADS: usize = 4;

/// Where a team's files are read, and until when.
#[derive(Debug, Clone, Copy)]
pub struct Reading<'a> {
    /// Where states are kept.
    pub archive: &'a Archive,
    /// Claude Code's directory, if the store has no texts (metadata-only mode): the gates need subjects and marks, and the
    /// store has only their sizes and hashes.
    pub client: Option<&'a Path>,
    /// The deadline for reading. Files that are not read by then are counted ([`TeamState::unread`]).
    pub until: Option<Instant>,
}

/// Gathers it. What cannot be read is left out: a gate judges by what is known.
/// With `client`, the client's directory, the files are read there. The tasks are called as `session` calls them; without
/// one, as the lead does.
pub fn team_state(
    archive: &Archive,
    client: Option<&Path>,
    whose: (Option<&str>, Option<&str>),
    index: Option<&Index>,
    ledger: Ledger,
) -> TeamState {
    TeamState { ledger, ..(Reading { archive, client, until: None }).team(whose, index) }
}

impl Reading<'_> {
    /// Gathers the team and its session's tasks, without a ledger.
    pub fn team(&self, (team, session): (Option<&str>, Option<&str>), index: Option<&Index>) -> TeamState {
        let mut state = TeamState { name: team.map(str::to_owned), ..TeamState::default() };
        let Some(index) = index else { return state };
        let lists = index.lists(team, session);
        state.missing = index.lists.missing().map(str::to_owned).collect();
        let files: Vec<(&str, File<'_>, &Seen)> = index
            .files
            .iter()
            .filter_map(|(path, seen)| Some((path.as_str(), File::of(path, &lists)?, seen)))
            .collect();
        let read = |files: &[(&str, File<'_>, &Seen)]| -> Vec<Result<Piece, Late>> {
            files
                .iter()
                .filter_map(|(path, file, seen)| self.piece(&index.run, path, *file, seen).transpose())
                .collect()
        };
        let pieces = if files.len() > MANY {
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
                Err(Late) => state.unread += 1,
            }
        }
        state
    }

    /// What a file says, if it can be read.
    fn piece(&self, run: &str, path: &str, file: File<'_>, seen: &Seen) -> Result<Option<Piece>, Late> {
        if self.until.is_some_and(|until| Instant::now() >= until) {
            return Err(Late);
        }
        let largest = self.archive.largest;
        let there = self.client.and_then(|client| fs::read_regular(&client.join(path), largest).ok());
        let there = there.map(|(bytes, _)| bytes).filter(|bytes| json::lenient(bytes).is_some());
        // Before a TeamDelete, larger files are archived as well; a hook call does not have the time to read them.
        let is_short = seen.stamp.0 <= largest;
        let kept = || if is_short { self.archive.content(run, seen) } else { None };
        Ok(there.or_else(kept).map(|bytes| file.says(&bytes)))
    }
}

/// The deadline had passed before a file was read.
#[derive(Debug)]
struct Late;

/// A file that a gate may know of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum File<'a> {
    /// The roster.
    Roster,
    /// Somebody's inbox.
    Inbox(&'a str),
    /// A task: the list where that must be said, and the name of its file.
    Task(&'a str, &'a str),
}

/// What such a file says.
#[derive(Debug, Clone)]
pub enum Piece {
    /// Who is in the team.
    Roster(Vec<String>),
    /// Whose inbox, and how many messages wait in it.
    Mail(String, usize),
    /// A task; `None` for what is no work.
    Task(Option<Task>),
}

impl<'a> File<'a> {
    /// Reads a path below the client's directory; `None` for what is none of them.
    pub fn of(path: &'a str, lists: &Lists<'_>) -> Option<File<'a>> {
        let mut parts = path.split('/');
        match (parts.next()?, parts.next()?, parts.next()?, parts.next(), parts.next()) {
            ("teams", _, "config.json", None, None) => Some(File::Roster),
            ("teams", _, "inboxes", Some(name), None) => name.strip_suffix(".json").map(File::Inbox),
            ("tasks", list, name, None, None) => Some(File::Task(lists.prefix(list)?, name)),
            _ => None,
        }
    }

    /// Reads its text.
    pub fn says(self, bytes: &[u8]) -> Piece {
        match self {
            File::Roster => {
                let config = TeamConfig::parse(bytes).unwrap_or_default();
                Piece::Roster(config.members.into_iter().map(|member| member.name).collect())
            }
            File::Inbox(owner) => Piece::Mail(owner.to_owned(), unread(bytes)),
            File::Task(list, name) => {
                let task = Task::parse(name, bytes).filter(|task| !task.is_tracker());
                Piece::Task(task.map(|task| Task { id: key(list, &task.id), ..task }))
            }
        }
    }

    /// Takes it out of a team's state: it is gone.
    pub fn take(self, state: &mut TeamState) {
        match self {
            File::Roster => state.members.clear(),
            File::Inbox(owner) => drop(state.mail.remove(owner)),
            File::Task(list, name) => {
                drop(state.tasks.remove(&key(list, name.strip_suffix(".json").unwrap_or(name))));
            }
        }
    }
}

impl Piece {
    /// Puts it into a team's state.
    pub fn put(self, state: &mut TeamState) {
        match self {
            Piece::Roster(members) => state.members = members,
            Piece::Mail(owner, waiting) => drop(state.mail.insert(owner, waiting)),
            Piece::Task(Some(task)) => drop(state.tasks.insert(task.id.clone(), task)),
            Piece::Task(None) => {}
        }
    }
}

/// The id of a task: its number, with the list in front if that is not the list of the session.
fn key(list: &str, id: &str) -> String {
    if list.is_empty() { id.to_owned() } else { format!("{list}/{id}") }
}

/// How many messages wait. What was delivered is gone, or marked as read (2.1.47).
fn unread(bytes: &[u8]) -> usize {
    let waits = |entry: &&Value| entry.get("read").and_then(Value::as_bool) != Some(true);
    let file = json::lenient(bytes).unwrap_or(Value::Null);
    file.as_array().map_or(0, |entries| entries.iter().filter(waits).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_is_what_its_path_says_and_the_tasks_of_another_list_are_none() {
        let of = |path| File::of(path, &Lists::of_team(Some("t")));
        assert_eq!(of("teams/t/config.json"), Some(File::Roster));
        assert_eq!(of("teams/t/inboxes/bob.json"), Some(File::Inbox("bob")));
        assert_eq!(of("tasks/t/1.json"), Some(File::Task("", "1.json")));
        assert_eq!(File::of("tasks/u/1.json", &Lists::of_team(None)), Some(File::Task("", "1.json")));
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
            File::of(path, &Lists::of_team(None)).unwrap().says(text.as_bytes()).put(&mut state);
        }
        assert_eq!((state.tasks.len(), state.mail["bob"], state.members.len()), (1, 1, 1));
        files.iter().for_each(|(path, _)| File::of(path, &Lists::of_team(None)).unwrap().take(&mut state));
        assert!(state.tasks.is_empty() && state.mail.is_empty() && state.members.is_empty());
    }

    #[test]
    fn what_there_is_no_time_to_read_is_counted_and_many_files_are_read_as_few_are() {
        let dir = tempfile::tempdir().unwrap();
        let archive = Archive::new(dir.path().to_owned(), 1 << 20, std::time::Duration::ZERO);
        let mut index = Index::default();
        for number in 1..=MANY + 10 {
            let text = format!("{{\"status\":\"pending\",\"owner\":\"worker-{number}\"}}");
            let seen = Seen {
                object: Some(archive.objects.put_compressed(text.as_bytes()).unwrap()),
                ..Seen::default()
            };
            index.files.insert(format!("tasks/t/{number}.json"), seen);
        }
        let read =
            |until| Reading { archive: &archive, client: None, until }.team((Some("t"), None), Some(&index));
        let all = read(None);
        assert_eq!((all.tasks.len(), all.unread), (MANY + 10, 0));
        assert_eq!(all.tasks["77"].owner.as_deref(), Some("worker-77"));
        let none = read(Some(Instant::now()));
        assert_eq!((none.tasks.len(), none.unread), (0, MANY + 10));
    }

    #[test]
    fn a_message_that_was_cut_in_the_middle_of_an_emoji_still_waits() {
        assert_eq!(unread(br#"[{"text":"cut \ud83d"},{"text":"b","read":true},{"text":"c"}]"#), 2);
    }
}
