//! What lies on disk of a team right now, by `stat` alone.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use crate::event::SafeName;
use crate::fs::Stamp;
use crate::team;

/// What was found under one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// A regular file.
    File(Stamp),
    /// Something that is not kept, and what it is.
    Other(Stamp, &'static str),
}

impl Found {
    /// Its stamp.
    pub fn stamp(&self) -> &Stamp {
        match self {
            Found::File(stamp) | Found::Other(stamp, _) => stamp,
        }
    }
}

/// The files of one team, by path below the client's directory, and what could not be looked at.
#[derive(Debug, Default)]
pub struct Scan {
    /// What was found.
    pub found: BTreeMap<String, Found>,
    /// What could not be looked at, and why.
    pub problems: Vec<String>,
    /// Whether the team's own directory is there.
    pub team_dir: bool,
    /// The directory that the team's files lie in, and its present path, where the client has renamed it to erase it.
    renamed: Option<(String, String)>,
}

/// What is kept of a task list beside its tasks: the highest number that was given, and, after `/clear`, whose list
/// the session goes on with.
const KEPT_BESIDE: [&str; 2] = [team::HIGHEST_NUMBER, ".session-list"];

/// The directories that a run's files lie in, by name.
#[derive(Debug)]
pub struct Directories<'a> {
    /// The team's, below `teams/`.
    pub team: Option<&'a SafeName>,
    /// Another one there, which its inboxes lie in.
    pub mail: Option<SafeName>,
    /// The task lists that sessions name: before 2.1.178 notices lie in inboxes below `teams/` under such a name.
    pub named: Vec<SafeName>,
    /// The task lists, below `tasks/`.
    pub tasks: Vec<SafeName>,
}

/// Looks at the files of a run.
pub fn scan(client: &Path, directories: &Directories<'_>) -> Scan {
    let mut scan = Scan::default();
    if let Some(team) = directories.team {
        scan.team(client, &format!("teams/{team}"));
    }
    scan.beside(client, directories);
    scan
}

/// Looks at the same where the client has renamed the team's directory to erase it (2.1.328), and has not done so yet.
pub fn scan_erasing(client: &Path, directories: &Directories<'_>) -> Option<Scan> {
    let team = directories.team?;
    let listing = std::fs::read_dir(client.join("teams")).ok()?;
    let mut names = listing.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let renamed = names.find(|name| team::erasing(name) == Some(team.as_str()))?;
    let root = format!("teams/{team}");
    let mut scan = Scan { renamed: Some((root.clone(), format!("teams/{renamed}"))), ..Scan::default() };
    scan.team(client, &root);
    scan.beside(client, directories);
    scan.team_dir.then_some(scan)
}

/// `alice.json`, and `alice.json.tmp.5f5b76c0`, which the client writes before it renames it.
fn is_json(name: &str) -> bool {
    !name.starts_with('.') && (name.ends_with(".json") || name.contains(".json.tmp"))
}

impl Scan {
    /// Where a file lies, below the client's directory.
    pub fn place<'a>(&self, path: &'a str) -> Cow<'a, str> {
        let renamed = self.renamed.as_ref().and_then(|(root, now)| Some((path.strip_prefix(root)?, now)));
        match renamed {
            Some((rest, now)) if rest.is_empty() || rest.starts_with('/') => format!("{now}{rest}").into(),
            _ => path.into(),
        }
    }

    fn team(&mut self, client: &Path, root: &str) {
        self.team_dir = self.is_dir(client, root);
        if !self.team_dir {
            return;
        }
        self.file(client, &format!("{root}/config.json"));
        self.inboxes(client, root);
    }

    fn beside(&mut self, client: &Path, directories: &Directories<'_>) {
        if let Some(mail) = &directories.mail {
            self.inboxes(client, &format!("teams/{mail}"));
        }
        for list in &directories.named {
            let root = format!("teams/{list}");
            // Those of a team with that name are its own.
            if client.join(&root).join("config.json").symlink_metadata().is_err() {
                self.inboxes(client, &root);
            }
        }
        for dir in &directories.tasks {
            let root = format!("tasks/{dir}");
            if self.is_dir(client, &root) {
                self.files(client, &root, |name| is_json(name) || KEPT_BESIDE.contains(&name));
            }
        }
    }

    /// Whether a directory is there. A link or a file in its place is noted, and not followed.
    fn is_dir(&mut self, client: &Path, path: &str) -> bool {
        match std::fs::symlink_metadata(client.join(&*self.place(path))) {
            Ok(metadata) if metadata.is_dir() => true,
            Ok(metadata) => {
                let what = if metadata.is_symlink() { "a symlink" } else { "no directory" };
                self.found.insert(path.to_owned(), Found::Other(Stamp::of(&metadata), what));
                false
            }
            Err(error) => {
                self.miss(path, &error);
                false
            }
        }
    }

    fn inboxes(&mut self, client: &Path, root: &str) {
        let inboxes = format!("{root}/inboxes");
        if self.is_dir(client, &inboxes) {
            self.files(client, &inboxes, is_json);
        }
    }

    fn file(&mut self, client: &Path, path: &str) {
        match std::fs::symlink_metadata(client.join(&*self.place(path))) {
            Ok(metadata) => self.add(path.to_owned(), &metadata),
            Err(error) => self.miss(path, &error),
        }
    }

    fn files(&mut self, client: &Path, dir: &str, wanted: impl Fn(&str) -> bool) {
        let listing = match std::fs::read_dir(client.join(&*self.place(dir))) {
            Ok(listing) => listing,
            Err(error) => return self.miss(dir, &error),
        };
        for entry in listing {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => return self.miss(dir, &error),
            };
            let name = entry.file_name();
            let shown = name.to_string_lossy();
            if !wanted(&shown) {
                continue;
            }
            let path = format!("{dir}/{shown}");
            match entry.metadata() {
                Ok(metadata) if name.to_str().is_none() => {
                    self.found.insert(path, Found::Other(Stamp::of(&metadata), "no UTF-8 by its name"));
                }
                Ok(metadata) => self.add(path, &metadata),
                Err(error) => self.miss(&path, &error),
            }
        }
    }

    fn add(&mut self, path: String, metadata: &std::fs::Metadata) {
        let stamp = Stamp::of(metadata);
        let found = match metadata.file_type() {
            kind if kind.is_file() => Found::File(stamp),
            kind if kind.is_symlink() => Found::Other(stamp, "a symlink"),
            kind if kind.is_dir() => Found::Other(stamp, "a directory"),
            _ => Found::Other(stamp, "no regular file"),
        };
        self.found.insert(path, found);
    }

    /// A file that is not there, or no longer, is no problem.
    fn miss(&mut self, path: &str, error: &io::Error) {
        if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) {
            self.problems.push(format!("cannot look at {path}: {error}"));
        }
    }
}
