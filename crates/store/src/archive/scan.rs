//! Scans a team's directories, using only `stat`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io;
use std::path::Path;

use teamkeep_model::event::SafeName;
use teamkeep_model::{Note, team};
use teamkeep_system::fs::{self, Named, Stamp};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ScannedEntry {
    /// A regular file.
    File(Stamp),
    /// Something that is not stored, and its type.
    Other(Stamp, &'static str),
}

impl ScannedEntry {
    pub(super) fn stamp(&self) -> &Stamp {
        match self {
            ScannedEntry::File(stamp) | ScannedEntry::Other(stamp, _) => stamp,
        }
    }
}

/// The files of one team.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// The entries by path below Claude Code's directory.
    pub found: BTreeMap<String, ScannedEntry>,
    /// The entries that could not be read, and why.
    pub problems: Vec<Note>,
    /// Whether the team's directory exists.
    pub team_dir: bool,
    /// The directory of the team's files, and its current path, if Claude Code has renamed it to delete it.
    renamed: Option<(String, String)>,
}

/// Files of a task list that are stored besides its tasks: the highest assigned number, and, after `/clear`, the
/// session whose list is continued.
const NOT_TASKS: [&str; 2] = [team::HIGHEST_NUMBER, ".session-list"];

/// The names of the directories with a run's files.
#[derive(Debug)]
pub(super) struct Directories<'a> {
    /// The team's directory below `teams/`.
    pub team: Option<&'a SafeName>,
    /// Another directory there that has its inboxes.
    pub mail: Option<SafeName>,
    /// The task lists that sessions name: before 2.1.178, notices are in inboxes below `teams/` under such a name.
    pub named: Vec<SafeName>,
    /// The task lists, below `tasks/`.
    pub tasks: Vec<SafeName>,
}

/// Scans the files of a run.
pub(super) fn scan(client: &Path, directories: &Directories<'_>) -> Scan {
    let mut scan = Scan::default();
    scan.add_all(client, directories);
    scan
}

/// Scans a team's directory that Claude Code (2.1.328) has renamed but not deleted yet.
pub(super) fn scan_erasing(client: &Path, directories: &Directories<'_>) -> Option<Scan> {
    let team = directories.team?;
    let listing = std::fs::read_dir(client.join("teams")).ok()?;
    let mut names = listing.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let renamed = names.find(|name| team::erasing(name) == Some(team.as_str()))?;
    let renamed = Some((format!("teams/{team}"), format!("teams/{renamed}")));
    let mut scan = Scan { renamed, ..Scan::default() };
    scan.add_all(client, directories);
    scan.team_dir.then_some(scan)
}

/// Matches `alice.json`, and `alice.json.tmp.5f5b76c0`, which Claude Code writes before it renames it.
fn is_json(name: &str) -> bool {
    !name.starts_with('.') && (name.ends_with(".json") || name.contains(".json.tmp"))
}

impl Scan {
    /// The current path of a file, below Claude Code's directory.
    pub(crate) fn current_path<'a>(&self, path: &'a str) -> Cow<'a, str> {
        let renamed = self.renamed.as_ref().and_then(|(root, now)| Some((path.strip_prefix(root)?, now)));
        match renamed {
            Some((rest, now)) if rest.is_empty() || rest.starts_with('/') => format!("{now}{rest}").into(),
            _ => path.into(),
        }
    }

    fn add_all(&mut self, client: &Path, directories: &Directories<'_>) {
        if let Some(team) = directories.team {
            let root = format!("teams/{team}");
            self.team_dir = self.is_dir(client, &root);
            if self.team_dir {
                let config = format!("{root}/config.json");
                match std::fs::symlink_metadata(client.join(&*self.current_path(&config))) {
                    Ok(metadata) => self.add(config, &metadata),
                    Err(error) => self.add_problem(&config, &error),
                }
                self.add_inboxes(client, &root);
            }
        }
        if let Some(mail) = &directories.mail {
            self.add_inboxes(client, &format!("teams/{mail}"));
        }
        for list in &directories.named {
            let root = format!("teams/{list}");
            // The files of a team with that name belong to that team.
            if client.join(&root).join("config.json").symlink_metadata().is_err() {
                self.add_inboxes(client, &root);
            }
        }
        for dir in &directories.tasks {
            let is_kept = |name: &str| is_json(name) || NOT_TASKS.contains(&name);
            self.add_files(client, &format!("tasks/{dir}"), is_kept);
        }
    }

    /// Whether a directory exists. A link or a file of this name is recorded and not followed.
    fn is_dir(&mut self, client: &Path, path: &str) -> bool {
        match std::fs::symlink_metadata(client.join(&*self.current_path(path))) {
            Ok(metadata) if metadata.is_dir() => return true,
            Ok(metadata) => {
                let what = if metadata.is_symlink() { "a symlink" } else { "not a directory" };
                self.found.insert(path.to_owned(), ScannedEntry::Other(Stamp::of(&metadata), what));
            }
            Err(error) => self.add_problem(path, &error),
        }
        false
    }

    fn add_inboxes(&mut self, client: &Path, root: &str) {
        self.add_files(client, &format!("{root}/inboxes"), is_json);
    }

    fn add_files(&mut self, client: &Path, dir: &str, is_kept: impl Fn(&str) -> bool) {
        if !self.is_dir(client, dir) {
            return;
        }
        let root = client.join(&*self.current_path(dir));
        let listing = match fs::names(&root) {
            Ok(listing) => listing,
            Err(error) => return self.add_problem(dir, &error),
        };
        for Named { name, .. } in listing {
            let shown = name.to_string_lossy();
            if !is_kept(&shown) {
                continue;
            }
            let path = format!("{dir}/{shown}");
            match root.join(&name).symlink_metadata() {
                Ok(metadata) if name.to_str().is_none() => {
                    let other = ScannedEntry::Other(Stamp::of(&metadata), "not UTF-8 in its name");
                    self.found.insert(path, other);
                }
                Ok(metadata) => self.add(path, &metadata),
                Err(error) => self.add_problem(&path, &error),
            }
        }
    }

    fn add(&mut self, path: String, metadata: &Metadata) {
        let stamp = Stamp::of(metadata);
        let found = match metadata.file_type() {
            kind if kind.is_file() => ScannedEntry::File(stamp),
            kind if kind.is_symlink() => ScannedEntry::Other(stamp, "a symlink"),
            kind if kind.is_dir() => ScannedEntry::Other(stamp, "a directory"),
            _ => ScannedEntry::Other(stamp, "not a regular file"),
        };
        self.found.insert(path, found);
    }

    /// A missing file is not a problem.
    fn add_problem(&mut self, path: &str, error: &io::Error) {
        if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) {
            self.problems.push(Note::store_failure(format!("cannot read {path}: {error}")));
        }
    }
}
