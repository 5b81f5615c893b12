//! Restores the files of a run: plans which and under which names, and writes them into a directory, never over another
//! file and never through a link.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use super::dir_handle::DirHandle;
use crate::timeline::RunData;
use teamkeep_core::client::json;
use teamkeep_core::client::team::TeamPath;
use teamkeep_core::error::{Error, Result};
use teamkeep_core::model::event::SafeName;
use teamkeep_core::store::archive::Archive;
use teamkeep_core::sys::clock::Timestamp;
use teamkeep_core::sys::fs;

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
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub gathered: bool,
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

impl FilePlan {
    /// Makes a plan. Without a moment it has the last state of each file.
    pub fn of(archive: &Archive, data: &RunData, at: Option<Timestamp>, directory: &str) -> FilePlan {
        let (mut files, mut left_out) = (Vec::new(), Vec::new());
        let held = at.map_or_else(|| data.journal.last(), |at| data.journal.at(at));
        for (path, state) in held {
            let skipped = |why: &str| SkippedFile { path: path.clone(), why: why.to_owned() };
            match state.object {
                _ if is_half_written(&path) => {}
                _ if !is_safe(&path) => left_out.push(skipped("unsafe name")),
                None => left_out.push(skipped("its content was not recorded")),
                Some(object) => {
                    let last = || archive.objects.get(&object).ok();
                    let text = match at {
                        None => last().and_then(|bytes| merged_history(data, &path, &bytes)),
                        Some(_) => None,
                    };
                    files.push(Planned { path, object, torn: state.torn, gathered: text.is_some(), text });
                }
            }
        }
        // Transcripts are stored when the run has ended.
        for (path, kept) in archive.kept(&data.run.run) {
            match below_projects(&path).filter(|place| is_safe(place)) {
                Some(place) => {
                    let object = kept.object;
                    files.push(Planned { path: place, object, torn: false, gathered: false, text: None });
                }
                None => left_out.push(SkippedFile { path, why: "unsafe name".to_owned() }),
            }
        }
        let (run, team) = (data.run.run.clone(), data.run.team.clone());
        let directory = directory.to_owned();
        FilePlan { v: 1, run, team, at, directory, files, left_out, done: false }
    }
}

/// Claude Code's temporary files: the file itself is recorded as well.
fn is_half_written(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.contains(".json.tmp"))
}

/// The path of a transcript below Claude Code's directory.
fn below_projects(path: &str) -> Option<String> {
    let parts: Vec<&str> = path.split('/').collect();
    let place = parts.iter().rposition(|part| *part == "projects")?;
    Some(parts[place..].join("/"))
}

/// Whether every part of a path is a safe name, and the first is one of Claude Code's directories.
fn is_safe(path: &str) -> bool {
    let mut parts = path.split('/');
    let first = parts.next().is_some_and(|first| matches!(first, "teams" | "tasks" | "projects"));
    let rest: Vec<&str> = parts.collect();
    let named = |part: &str| SafeName::new(part).is_some() || DOTTED.contains(&part);
    first && (2..=8).contains(&rest.len()) && rest.into_iter().all(named)
}

/// The merged content of an inbox or a roster in Claude Code's format; `None` for any other file, and if the last
/// state, `bytes`, has everything.
pub fn merged_history(data: &RunData, path: &str, bytes: &[u8]) -> Option<String> {
    let last = json::parse_lossy(bytes);
    let whole = match TeamPath::of(path) {
        TeamPath::Inbox(name) => {
            let owner = name.strip_suffix(".json")?;
            let copies = data.history.copies.iter().filter(|copy| copy.inbox == owner);
            Value::Array(copies.map(|copy| copy.entry.raw.clone()).collect())
        }
        TeamPath::Config => {
            let mut config = last.clone().filter(Value::is_object)?;
            let members = data.history.members();
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

/// Whether a directory may have files already. They are never overwritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExistingFiles {
    Allow,
    Reject,
}

/// Writes the plan, and returns what could not be read from the archive. A missing directory is created.
///
/// # Errors
/// The directory is a link, or is not empty without `force`; a file already exists; writing fails. Written files are
/// then removed.
pub fn write(
    archive: &Archive,
    plan: &FilePlan,
    directory: &Path,
    existing: ExistingFiles,
) -> Result<Vec<String>> {
    let mut tree = Tree::open(directory)?;
    let written = tree.check(plan, existing).and_then(|()| tree.write_files(archive, plan));
    if written.is_err() {
        tree.remove_created();
    }
    written
}

struct Tree {
    root: DirHandle,
    created_root: Option<PathBuf>,
    created: Vec<(String, bool)>,
}

impl Tree {
    fn open(directory: &Path) -> Result<Tree> {
        let created_root = match directory.symlink_metadata() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                fs::private_dir(directory)?;
                Some(directory.to_path_buf())
            }
            _ => None,
        };
        Ok(Tree { root: DirHandle::open(directory)?, created_root, created: Vec::new() })
    }

    fn check(&self, plan: &FilePlan, existing: ExistingFiles) -> Result<()> {
        let what = || format!("cannot restore to {}", self.root.path.display());
        if existing == ExistingFiles::Reject && !self.root.names()?.is_empty() {
            return Err(Error::caused(what(), "it is not empty")
                .hint("choose another directory; --force adds to this one and overwrites nothing"));
        }
        let places: BTreeSet<&str> = plan.files.iter().map(|file| file.path.as_str()).collect();
        for place in places {
            if self.is_taken(place)? {
                return Err(Error::caused(what(), format!("{place} already exists"))
                    .hint("nothing was written; choose another directory"));
            }
        }
        Ok(())
    }

    fn is_taken(&self, path: &str) -> Result<bool> {
        let (dirs, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut dir: Option<DirHandle> = None;
        for part in dirs.split('/').filter(|part| !part.is_empty()) {
            dir = dir.as_ref().unwrap_or(&self.root).open_dir(part)?;
            if dir.is_none() {
                return Ok(false);
            }
        }
        Ok(dir.as_ref().unwrap_or(&self.root).metadata(name)?.is_some())
    }

    fn write_files(&mut self, archive: &Archive, plan: &FilePlan) -> Result<Vec<String>> {
        let mut lost = Vec::new();
        for file in &plan.files {
            if let Some(text) = &file.text {
                self.write_file(&file.path, text.as_bytes())?;
                continue;
            }
            match archive.objects.get(&file.object) {
                Ok(bytes) => self.write_file(&file.path, &bytes)?,
                Err(error) => lost.push(format!("{} is skipped: {error}", file.path)),
            }
        }
        Ok(lost)
    }

    fn write_file(&mut self, place: &str, bytes: &[u8]) -> Result<()> {
        let (dirs, name) = place.rsplit_once('/').unwrap_or(("", place));
        let (mut folder, mut way): (Option<DirHandle>, String) = (None, String::new());
        for dir in dirs.split('/').filter(|dir| !dir.is_empty()) {
            way = if way.is_empty() { dir.to_owned() } else { format!("{way}/{dir}") };
            let (child, made) = folder.as_ref().unwrap_or(&self.root).open_or_create_dir(dir)?;
            if made {
                self.created.push((way.clone(), true));
            }
            folder = Some(child);
        }
        folder.as_ref().unwrap_or(&self.root).create(name, bytes)?;
        self.created.push((place.to_owned(), false));
        Ok(())
    }

    /// Removes the created files, last first. Files of others stay.
    fn remove_created(&self) {
        for (place, is_dir) in self.created.iter().rev() {
            let path = self.root.path.join(place);
            let _ = if *is_dir { std::fs::remove_dir(path) } else { std::fs::remove_file(path) };
        }
        if let Some(root) = &self.created_root {
            let _ = std::fs::remove_dir(root);
        }
    }
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
        assert_eq!(below_projects("/h/other/s.jsonl"), None);
        assert!(is_half_written("teams/t/inboxes/a.json.tmp.1f") && !is_half_written("tasks/t/1.json"));
    }
}
