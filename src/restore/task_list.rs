//! A task list of Claude Code: its name, its current content, the running session that uses it, and its lock.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::directory::Directory;
use teamkeep_model::event::SafeName;
use teamkeep_model::json;
use teamkeep_model::team::{Task, TeamConfig, is_uuid, mailbox};
use teamkeep_store::archive::{Archive, CaptureScope, RunRecord, hash};
use teamkeep_system::error::{Error, Result};
use teamkeep_system::fs::{self, FileId, MAX_SETTINGS_BYTES, OpenMode, read_regular};
use teamkeep_system::os;
use teamkeep_system::process::is_gone;

/// Claude Code's file with the highest task number ever assigned.
pub(super) const MARK: &str = ".highwatermark";
/// Maximum size of a task file and of the mark in bytes.
pub(super) const MAX_BYTES: u64 = 32 << 20;
/// The largest number that Claude Code can represent exactly.
pub(super) const MAX_TASK_ID: u64 = (1 << 53) - 1;

#[derive(Debug, Default)]
pub struct TaskList {
    /// The task files by name without `.json`; `None` for an invalid one.
    pub tasks: BTreeMap<String, Option<Task>>,
    /// The content of [`MARK`]; `None` if it does not exist.
    pub highwatermark: Option<Vec<u8>>,
}

impl TaskList {
    /// Reads a list; a missing one is empty.
    pub fn read(dir: Option<&Directory>) -> Result<TaskList> {
        let Some(dir) = dir else { return Ok(TaskList::default()) };
        let mut tasks = BTreeMap::new();
        for name in dir.names()? {
            let Some(stem) = name.strip_suffix(".json").filter(|stem| !stem.starts_with('.')) else {
                continue;
            };
            let bytes = dir.read(&name, MAX_BYTES).ok().flatten();
            tasks.insert(stem.to_owned(), bytes.and_then(|bytes| Task::parse(&name, &bytes)));
        }
        Ok(TaskList { tasks, highwatermark: dir.read(MARK, 4096)? })
    }

    /// The number in the mark, parsed as Claude Code does: an invalid number counts as none.
    pub fn mark(&self) -> u64 {
        self.highwatermark.as_deref().map_or(0, number)
    }

    pub fn highest_id(&self) -> u64 {
        self.tasks.keys().map(|stem| leading(stem)).fold(self.mark(), u64::max)
    }
}

pub(super) fn number(mark: &[u8]) -> u64 {
    leading(String::from_utf8_lossy(mark).trim())
}

/// The leading number of a text; 0 if there is none.
fn leading(text: &str) -> u64 {
    let digits = text.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    if digits.is_empty() { 0 } else { digits.parse().unwrap_or(u64::MAX) }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct List {
    pub name: String,
    pub session: Option<String>,
}

impl List {
    /// The list that a team or a session uses: the last one that `CLAUDE_CODE_TASK_LIST_ID` named for it, if there is
    /// one. `run` is the run whose tasks it gets.
    pub fn find(named: &str, client: &Path, archive: &Archive, run: &RunRecord) -> Result<List> {
        let mut list = List::of(named, client)?;
        let team = SafeName::new(&list.name).map(CaptureScope::Team);
        let index = team.and_then(|team| archive.locate(&team, client)?.1);
        if let Some(index) = &index
            && let Some(name) = index.list_of_lead()
        {
            list = List { name: name.to_owned(), session: index.lead_session.clone() };
        }
        // Before 2.1.178 a team's list is not found again by its session.
        if list.session.is_none() {
            list.session = run.lead_session.clone().filter(|lead| list.is_of(lead));
        }
        Ok(list)
    }

    /// The list of the session that continues a run. Its ID comes from the ID of the run, so that a second restore adds only
    /// missing tasks.
    pub fn of_new_session(run: &str) -> List {
        let mut hex = hash(run.as_bytes());
        // The version and the variant of a random UUID.
        hex.replace_range(12..13, "4");
        hex.replace_range(16..17, "8");
        let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..32]];
        let session = parts.join("-");
        List { name: team_of(&session), session: Some(session) }
    }

    /// The list of a team or a session. Claude Code keeps letters, digits, `-` and `_` of a name and replaces the rest
    /// by `-`; the team of a session is named by the first eight characters of its id, and a session without a team
    /// has a list under its whole id. Of a session's two lists the team's is used, unless only the other exists.
    fn of(named: &str, client: &Path) -> Result<List> {
        let Some(name) = SafeName::new(named) else {
            return Err(Error::usage(format!("{named:?} is not a valid team or session name"))
                .hint("a team's name, such as session-1a2b3c4d, or a session's id"));
        };
        let name = mailbox(name.as_str());
        if !is_uuid(&name) {
            return Ok(List { name, session: None });
        }
        let team = team_of(&name);
        let exists = |path: String| client.join(path).symlink_metadata().is_ok();
        let has_no_team = exists(format!("tasks/{name}"))
            && !exists(format!("tasks/{team}"))
            && !exists(format!("teams/{team}"));
        Ok(List { name: if has_no_team { name.clone() } else { team }, session: Some(name) })
    }

    /// Whether a session uses it without `CLAUDE_CODE_TASK_LIST_ID`.
    pub fn is_of(&self, session: &str) -> bool {
        self.name == session || self.name == team_of(session)
    }
}

/// Whether a name is spelled as Claude Code spells the name of a list.
pub(super) fn is_list_name(name: &str) -> bool {
    SafeName::new(name).is_some() && mailbox(name) == name
}

/// Opens a list's directory; `None` if it does not exist.
pub(super) fn open(client: &Path, list: &str) -> Result<Option<Directory>> {
    let client = match std::fs::canonicalize(client) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        canonical => {
            canonical.map_err(|error| Error::caused(format!("cannot open {}", client.display()), error))?
        }
    };
    let tasks = Directory::at(&client).and_then(|client| client.subdirectory("tasks"));
    let opened = tasks.and_then(|tasks| tasks.map_or(Ok(None), |tasks| tasks.subdirectory(list)));
    opened.map_err(|error| Error::from(error).hint("nothing was changed; fix it, or choose another list"))
}

/// The team of a session without a named one (since 2.1.178).
fn team_of(session: &str) -> String {
    format!("session-{}", session.get(..8).unwrap_or(session))
}

/// The session that uses a list, from Claude Code's files: the lead that its team names, or a running session that
/// would use it. Claude Code does not note a list that came from `CLAUDE_CODE_TASK_LIST_ID`: [`recorded_user`] finds its
/// session.
pub fn holder(client: &Path, list: &str) -> Option<String> {
    let sessions = running(client);
    let uses = |(session, _): &&(String, u32)| {
        let team = team_of(session);
        let next = read_regular(&client.join("tasks").join(&team).join(".session-list"), 4096);
        let is_next = next.is_ok_and(|(next, _)| mailbox(String::from_utf8_lossy(&next).trim()) == list);
        session == list || team == list || is_next
    };
    if let Some((session, pid)) = sessions.iter().find(uses) {
        return Some(format!("session {session} is running (process {pid})"));
    }
    let config =
        read_regular(&client.join("teams").join(list).join("config.json"), MAX_SETTINGS_BYTES).ok()?.0;
    let Some(config) = TeamConfig::parse(&config) else {
        return Some("its team exists, but the configuration cannot be read".to_owned());
    };
    let lead = config.lead_session.unwrap_or_default();
    let pid = match config.lead_process {
        Some(lead) if is_gone(lead.pid, lead.space.as_deref(), lead.start.as_deref()) => return None,
        Some(lead) => Some(lead.pid),
        None => sessions.iter().find(|(session, _)| *session == lead).map(|(_, pid)| *pid),
    };
    // Before 2.1.328 Claude Code names no process in the team, but 2.1.177 notes each running session.
    let is_noted = client.join("sessions").is_dir() && is_uuid(&lead);
    match pid {
        Some(pid) => Some(format!("the lead of its team is running (process {pid})")),
        None if is_noted => None,
        None => Some("its team exists, and whether its Claude Code process runs is unknown".to_owned()),
    }
}

/// The session that uses a list in this configuration directory, from the recorded data.
pub(super) fn recorded_user(archive: &Archive, client: &Path, list: &str) -> Option<String> {
    archive.open_subjects().into_iter().find_map(|subject| {
        let index = archive.index(&subject).filter(|index| !index.ended && index.is_in(client))?;
        let session = index.lists.session_of(list)?;
        let (space, start) = (index.lead_space.as_deref(), index.lead_start.as_deref());
        match index.lead_pid {
            Some(pid) if is_gone(pid, space, start) => None,
            Some(pid) => Some(format!("session {session} uses it (process {pid})")),
            None => Some(format!("session {session} uses it, and whether its process runs is unknown")),
        }
    })
}

/// The running sessions with their processes, from Claude Code's files `sessions/<pid>.json`.
fn running(client: &Path) -> Vec<(String, u32)> {
    let notes = fs::entries(&client.join("sessions")).map(|entry| entry.path());
    let notes = notes.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    let running = notes.filter_map(|path| {
        let note = json::parse_lossy(&read_regular(&path, MAX_SETTINGS_BYTES).ok()?.0)?;
        let text = |key: &str| note.get(key).and_then(Value::as_str);
        let session = text("sessionId").filter(|id| is_uuid(id))?.to_owned();
        let pid = u32::try_from(note.get("pid")?.as_u64()?).ok()?;
        // `linux:<machine>:pid:[4026531836]`: the part that identifies the namespace.
        let space =
            text("pidDomain").and_then(|domain| Some(format!("#{}", &domain[domain.find("pid:[")?..])));
        (!is_gone(pid, space.as_deref(), text("procStart"))).then_some((session, pid))
    });
    let mut running: Vec<(String, u32)> = running.collect();
    running.sort_by_key(|(_, pid)| *pid);
    running
}

pub(super) fn task_file_name(id: &str) -> String {
    format!("{id}.json")
}

pub(super) const LOCK_FILE: &str = ".lock";
const LOCK: &str = ".lock.lock";
/// The age at which a lock belongs to a killed process.
const MAX_LOCK_AGE: Duration = Duration::from_secs(10);
/// How long to wait for Claude Code: longer than it keeps any lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(15);
const LOCK_RENEWAL: Duration = Duration::from_secs(2);

/// Claude Code's lock on a task list, taken as Claude Code does (seen 2.1.177, 2.1.328).
///
/// The process that creates the directory `.lock.lock` beside the empty file `.lock` has the lock. It renews the
/// directory's time; a lock older than ten seconds belongs to a killed process and is taken over.
#[derive(Debug)]
pub struct ClientLock<'a> {
    pub dir: &'a Directory,
    name: String,
    id: FileId,
    /// Keeps the directory open, so that no other one gets its number.
    _open: std::fs::File,
    renewed: Instant,
}

impl<'a> ClientLock<'a> {
    pub fn list(dir: &'a Directory) -> Result<ClientLock<'a>> {
        dir.create_empty(LOCK_FILE)?;
        if !dir.metadata(LOCK_FILE)?.as_ref().is_some_and(|found| found.is_file()) {
            let what = format!("cannot lock the list {}", dir.path.display());
            return Err(Error::caused(what, format!("its {LOCK_FILE} is not a regular file")));
        }
        ClientLock::acquire(dir, LOCK)
    }

    pub fn task(dir: &'a Directory, file: &str) -> Result<ClientLock<'a>> {
        ClientLock::acquire(dir, &format!("{file}.lock"))
    }

    fn acquire(dir: &'a Directory, name: &str) -> Result<ClientLock<'a>> {
        let start = Instant::now();
        let mut pause = Duration::from_millis(5);
        while let Err(error) = dir.create_dir(name) {
            let modified = dir.path.join(name).symlink_metadata().and_then(|metadata| metadata.modified());
            if error.kind() != ErrorKind::AlreadyExists {
                return Err(error.into());
            } else if modified.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > MAX_LOCK_AGE)) {
                // It may have been released meanwhile, or may not be empty: the next attempt shows it.
                let _ = dir.remove_dir(name);
            } else if start.elapsed() > LOCK_TIMEOUT {
                let what = format!("cannot lock {}", dir.path.join(name).display());
                return Err(Error::caused(what, "another process holds Claude Code's lock")
                    .hint("nothing was changed; try again later"));
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(100));
        }
        let path = dir.path.join(name);
        let id = os::files::id(&path, &dir.metadata(name)?.ok_or_else(|| lost(dir, name))?);
        let (name, open, now) = (name.to_owned(), os::files::open(&path, OpenMode::Read)?, Instant::now());
        Ok(ClientLock { dir, name, id, _open: open, renewed: now })
    }

    /// Checks that the lock is still held, and renews it if due.
    ///
    /// # Errors
    /// Another process took it over, because this one was stopped for too long.
    pub fn renew(&mut self) -> Result<()> {
        if !self.is_ours() {
            return Err(lost(self.dir, &self.name));
        }
        if self.renewed.elapsed() > LOCK_RENEWAL {
            self.dir.renew(&self.name)?;
            self.renewed = Instant::now();
        }
        Ok(())
    }

    fn is_ours(&self) -> bool {
        let path = self.dir.path.join(&self.name);
        matches!(self.dir.metadata(&self.name), Ok(Some(found)) if os::files::id(&path, &found) == self.id)
    }
}

impl Drop for ClientLock<'_> {
    fn drop(&mut self) {
        if self.is_ours() {
            let _ = self.dir.remove_dir(&self.name);
        }
    }
}

fn lost(dir: &Directory, name: &str) -> Error {
    let what = format!("cannot keep the lock {}", dir.path.join(name).display());
    Error::caused(what, "another process took it over")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn numbers_are_parsed_as_the_client_parses_them() {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in [("3.json", "{}"), ("12abc.json", "torn{"), (".7.json", "{}"), (MARK, "5\n")] {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        std::os::unix::fs::symlink("nowhere", dir.path().join("4.json")).unwrap();
        let list_now = TaskList::read(Some(&Directory::at(dir.path()).unwrap())).unwrap();
        assert_eq!((list_now.mark(), list_now.highest_id()), (5, 12));
        assert!(list_now.tasks.contains_key("4") && !list_now.tasks.contains_key("7"));
        assert!(list_now.tasks["3"].is_some() && list_now.tasks["4"].is_none());
        assert_eq!((leading("abc"), leading(""), leading(&"9".repeat(30))), (0, 0, u64::MAX));
    }

    const SESSION: &str = "abcdef01-2345-4678-9abc-def012345678";

    #[test]
    fn list_has_the_name_that_the_client_gives_it() {
        let dir = tempfile::tempdir().unwrap();
        let name = |named: &str| List::of(named, dir.path()).map(|list| list.name);
        assert_eq!(name("parser-team").unwrap(), "parser-team");
        assert_eq!(name("über 💥.x").unwrap(), "-ber----x");
        assert_eq!(name(SESSION).unwrap(), "session-abcdef01");
        for bad in ["", ".", "..", "../x", "a/b", "a\0b", "a\nb", ".lock", "a\\b"] {
            assert_eq!(name(bad).unwrap_err().exit_code(), 64, "{bad:?}");
        }
    }

    #[test]
    fn session_without_a_team_uses_its_own_list() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("tasks").join(SESSION)).unwrap();
        assert_eq!(List::of(SESSION, dir.path()).unwrap().name, SESSION);
        std::fs::create_dir_all(dir.path().join("teams/session-abcdef01")).unwrap();
        assert_eq!(List::of(SESSION, dir.path()).unwrap().name, "session-abcdef01");
    }

    #[test]
    fn lock_excludes_others_until_it_is_released() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Directory::at(temp.path()).unwrap();
        let mut lock = ClientLock::list(&dir).unwrap();
        lock.renew().unwrap();
        assert_eq!(dir.create_dir(LOCK).unwrap_err().kind(), ErrorKind::AlreadyExists);
        drop(lock);
        assert_eq!(dir.names().unwrap(), [LOCK_FILE]);
    }

    #[cfg_attr(windows, ignore = "sets the time of a directory as Unix does")]
    #[test]
    fn stale_lock_is_taken_over_and_a_lost_lock_is_not_removed() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Directory::at(temp.path()).unwrap();
        dir.create_dir(LOCK).unwrap();
        let old = std::time::UNIX_EPOCH + Duration::from_secs(1);
        std::fs::File::open(temp.path().join(LOCK)).unwrap().set_modified(old).unwrap();
        let mut lock = ClientLock::list(&dir).unwrap();
        std::fs::rename(temp.path().join(LOCK), temp.path().join("other")).unwrap();
        dir.create_dir(LOCK).unwrap();
        assert!(lock.renew().unwrap_err().to_string().ends_with("another process took it over"));
        drop(lock);
        assert!(temp.path().join(LOCK).exists());
    }
}
