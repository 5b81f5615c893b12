//! What lies on disk of a team right now, by `stat` alone.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use crate::event::SafeName;
use crate::fs::Stamp;

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
}

/// What is kept of a task list beside its tasks: the highest number that was given, and, after `/clear`, whose list
/// the session goes on with.
const KEPT_BESIDE: [&str; 2] = [".highwatermark", ".session-list"];

/// Looks at `teams/<team>` and at these directories below `tasks/`.
pub fn scan(client: &Path, team: Option<&SafeName>, tasks: &[SafeName]) -> Scan {
    let mut scan = Scan::default();
    if let Some(team) = team {
        let root = format!("teams/{team}");
        scan.team_dir = scan.is_dir(client, &root);
        if scan.team_dir {
            scan.file(client, &format!("{root}/config.json"));
            let inboxes = format!("{root}/inboxes");
            if scan.is_dir(client, &inboxes) {
                scan.files(client, &inboxes, is_json);
            }
        }
    }
    for dir in tasks {
        let root = format!("tasks/{dir}");
        if scan.is_dir(client, &root) {
            scan.files(client, &root, |name| is_json(name) || KEPT_BESIDE.contains(&name));
        }
    }
    scan
}

/// `alice.json`, and `alice.json.tmp.5f5b76c0`, which the client writes before it renames it.
fn is_json(name: &str) -> bool {
    !name.starts_with('.') && (name.ends_with(".json") || name.contains(".json.tmp"))
}

impl Scan {
    /// Whether a directory is there. A link or a file in its place is noted, and not followed.
    fn is_dir(&mut self, client: &Path, path: &str) -> bool {
        match std::fs::symlink_metadata(client.join(path)) {
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

    fn file(&mut self, client: &Path, path: &str) {
        match std::fs::symlink_metadata(client.join(path)) {
            Ok(metadata) => self.add(path.to_owned(), &metadata),
            Err(error) => self.miss(path, &error),
        }
    }

    fn files(&mut self, client: &Path, dir: &str, wanted: impl Fn(&str) -> bool) {
        let listing = match std::fs::read_dir(client.join(dir)) {
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
