//! Restores the files of a run: plans which and under which names, and writes them into a directory, never over another
//! file and never through a link.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use super::directory::Directory;
use teamkeep_history::timeline::RunData;
use teamkeep_model::event::SafeName;
use teamkeep_model::json;
use teamkeep_model::paths;
use teamkeep_model::team::{Flaw, TeamPath};
use teamkeep_model::time::Timestamp;
use teamkeep_store::archive::Archive;
use teamkeep_system::error::{Error, Result};
use teamkeep_system::fs;

#[derive(Debug, Serialize)]
pub struct FilePlan {
    pub v: u8,
    pub run: String,
    pub team: Option<String>,
    /// The moment; `None` for the last state of each file.
    pub at: Option<Timestamp>,
    pub directory: String,
    pub files: Vec<Planned>,
    pub left_out: Vec<SkippedFile>,
    pub done: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Planned {
    pub path: String,
    pub object: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub torn: bool,
    /// Why Claude Code could not read it, unless an earlier content was complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flaw: Option<&'static str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub gathered: bool,
    /// The merged content, in place of the object's.
    #[serde(skip)]
    pub text: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkippedFile {
    pub path: String,
    pub why: String,
}

/// Names in a task list that start with a dot and belong to Claude Code.
const DOTTED: [&str; 2] = [".highwatermark", ".session-list"];

/// Whether a directory may have files already. They are never overwritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExistingFiles {
    Allow,
    Reject,
}

/// The paths that a restore created, in order, and whether each is a directory.
type Created = Vec<(PathBuf, bool)>;

impl FilePlan {
    /// Makes a plan. Without a moment it has the last state of each file.
    pub fn of(archive: &Archive, data: &RunData, at: Option<Timestamp>, directory: &str) -> FilePlan {
        let (mut files, mut left_out) = (Vec::new(), Vec::new());
        let mut skip = |path, why: &str| left_out.push(SkippedFile { path, why: why.to_owned() });
        let states = at.map_or_else(|| data.journal.last(), |at| data.journal.at(at));
        for (path, state) in states.into_iter().filter(|(path, _)| !is_half_written(path)) {
            match state.object {
                _ if !is_safe(&path) => skip(path, "unsafe name"),
                None => skip(path, "its content was not recorded"),
                Some(object) => {
                    let bytes = archive.content(&data.run.run, &object).ok();
                    let last = bytes.as_ref().filter(|_| at.is_none());
                    let text = last.and_then(|bytes| merged_history(data, &path, bytes));
                    let has_whole = state.torn && state.whole.is_some();
                    let flaw = bytes.filter(|_| !has_whole).and_then(|bytes| Flaw::of(&path, &bytes));
                    let (torn, flaw, gathered) = (state.torn, flaw.map(Flaw::text), text.is_some());
                    files.push(Planned { path, object, torn, flaw, gathered, text });
                }
            }
        }
        // Transcripts are stored when the run has ended.
        for (path, kept) in archive.kept(&data.run.run) {
            match below_projects(&path).filter(|path| is_safe(path)) {
                Some(path) => {
                    let object = kept.object;
                    files.push(Planned {
                        path,
                        object,
                        torn: false,
                        flaw: None,
                        gathered: false,
                        text: None,
                    });
                }
                None => skip(path, "unsafe name"),
            }
        }
        let (run, team) = (data.run.run.clone(), data.run.team.clone());
        let directory = directory.to_owned();
        FilePlan { v: 1, run, team, at, directory, files, left_out, done: false }
    }

    /// Writes the files into the directory, which may be missing, and returns what could not be read from the archive.
    ///
    /// # Errors
    /// The directory is a link, or is not empty without `force`; a file already exists; writing fails. Written files are
    /// then removed.
    pub fn write(&mut self, archive: &Archive, existing: ExistingFiles) -> Result<Vec<String>> {
        let mut created = Created::new();
        let unread = self.write_files(archive, existing, &mut created).inspect_err(|_| {
            for (path, is_dir) in created.iter().rev() {
                let _ = if *is_dir { std::fs::remove_dir(path) } else { std::fs::remove_file(path) };
            }
        })?;
        self.done = true;
        Ok(unread)
    }

    fn write_files(
        &self,
        archive: &Archive,
        existing: ExistingFiles,
        created: &mut Created,
    ) -> Result<Vec<String>> {
        let directory = Path::new(&self.directory);
        let failed = |why: &str| Error::caused(format!("cannot restore to {}", self.directory), why);
        if directory.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound) {
            fs::private_dir(directory)?;
            created.push((directory.to_path_buf(), true));
        }
        let root = Directory::at(directory)?;
        if existing == ExistingFiles::Reject && !root.names()?.is_empty() {
            return Err(failed("it is not empty")
                .hint("choose another directory; --force adds to this one and overwrites nothing"));
        }
        let mut unread = Vec::new();
        for Planned { path, object, text, .. } in &self.files {
            let bytes = match text {
                Some(text) => Ok(text.clone().into_bytes()),
                None => archive.content(&self.run, object),
            };
            match bytes.map(|bytes| write_file(&root, path, &bytes, created)) {
                Ok(Err(error)) if error.kind() == ErrorKind::AlreadyExists => {
                    return Err(failed(&format!("{path} already exists"))
                        .hint("nothing was written; choose another directory"));
                }
                Ok(written) => written?,
                Err(error) => unread.push(format!("{path} is skipped: {error}")),
            }
        }
        Ok(unread)
    }
}

fn write_file(root: &Directory, path: &str, bytes: &[u8], created: &mut Created) -> io::Result<()> {
    let (dirs, name) = path.rsplit_once('/').unwrap_or(("", path));
    let mut dir: Option<Directory> = None;
    for part in dirs.split('/').filter(|part| !part.is_empty()) {
        let (child, is_created) = dir.as_ref().unwrap_or(root).subdirectory_or_new(part)?;
        created.extend(is_created.then(|| (child.path.clone(), true)));
        dir = Some(child);
    }
    let dir = dir.as_ref().unwrap_or(root);
    dir.create(name, bytes)?;
    created.push((dir.path.join(name), false));
    Ok(())
}

/// Claude Code's temporary files: the file itself is recorded as well.
fn is_half_written(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.contains(".json.tmp"))
}

/// The path of a transcript below Claude Code's directory.
fn below_projects(path: &str) -> Option<String> {
    let parts: Vec<&str> = paths::parts(path).collect();
    let place = parts.iter().rposition(|part| *part == "projects")?;
    Some(parts[place..].join("/"))
}

/// Whether every part of a path is a safe name, and the first is a directory of the archive.
fn is_safe(path: &str) -> bool {
    let mut parts = path.split('/');
    let first =
        parts.next().is_some_and(|first| matches!(first, "teams" | "tasks" | "projects" | "worktrees"));
    let rest: Vec<&str> = parts.collect();
    let named = |part: &str| SafeName::new(part).is_some() || DOTTED.contains(&part);
    first && (2..=8).contains(&rest.len()) && rest.into_iter().all(named)
}

/// The merged content of an inbox or a roster in Claude Code's format; `None` for any other file, and if the last
/// state, `bytes`, has everything.
fn merged_history(data: &RunData, path: &str, bytes: &[u8]) -> Option<String> {
    let last = json::parse_lossy(bytes);
    let whole = match TeamPath::of(path) {
        TeamPath::Inbox(name) => {
            let owner = name.strip_suffix(".json")?;
            let copies = data.snapshots.copies.iter().filter(|copy| copy.inbox == owner);
            Value::Array(copies.map(|copy| copy.entry.raw.clone()).collect())
        }
        TeamPath::Config => {
            let mut config = last.clone().filter(Value::is_object)?;
            let members = data.snapshots.members();
            let order = data.members.iter().filter_map(|name| members.get(name.as_str()));
            config["members"] = order.map(|member| member.raw.clone()).collect();
            config
        }
        _ => return None,
    };
    if last.as_ref() == Some(&whole) {
        return None;
    }
    serde_json::to_string_pretty(&whole).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_in_the_client_directories_are_safe() {
        for good in ["teams/t/config.json", "tasks/t/.highwatermark", "projects/-home-x/s/subagents/a.jsonl"]
        {
            assert!(is_safe(good), "{good}");
        }
        let bad = [
            "teams/../x",
            "/etc/passwd",
            "teams//x",
            "settings.json",
            "teams/t/.ssh",
            "teams",
            "tasks/../../x",
            "hooks/a/b",
            "",
        ];
        for bad in bad {
            assert!(!is_safe(bad), "{bad}");
        }
        assert_eq!(below_projects("/h/projects/.claude/projects/p/s.jsonl").unwrap(), "projects/p/s.jsonl");
        let of_windows = r"C:\Users\a\.claude\projects\C--p\s\subagents\agent-b.jsonl";
        assert_eq!(below_projects(of_windows).unwrap(), "projects/C--p/s/subagents/agent-b.jsonl");
        assert_eq!(below_projects("/h/other/s.jsonl"), None);
        assert!(is_half_written("teams/t/inboxes/a.json.tmp.1f") && !is_half_written("tasks/t/1.json"));
    }
}
