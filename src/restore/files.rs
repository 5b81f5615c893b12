//! Plans which files of a run are written to a directory, and under which names.

use serde::Serialize;

use super::merged_history::merged_history;
use crate::archive::Archive;
use crate::event::SafeName;
use crate::timeline::RunData;

/// The plan.
#[derive(Debug, Serialize)]
pub struct FilePlan {
    /// Version of the format: 1.
    pub v: u8,
    /// The run.
    pub run: String,
    /// Its team.
    pub team: Option<String>,
    /// The moment; `None` for the last state of each file.
    pub at: Option<String>,
    /// The directory.
    pub directory: String,
    /// The files.
    pub files: Vec<Planned>,
    /// Files that are not written.
    pub left_out: Vec<SkippedFile>,
    /// Whether they were written.
    pub done: bool,
}

/// A file to write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Planned {
    /// Its path in the directory, as in Claude Code's.
    pub path: String,
    /// The hash of its content.
    pub object: String,
    /// Whether it is not complete JSON.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub torn: bool,
    /// Whether the content is merged from all snapshots, not the last one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub gathered: bool,
    /// The merged content.
    #[serde(skip)]
    pub text: Option<String>,
}

/// A file that is not written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkippedFile {
    /// Its path in Claude Code's directory.
    pub path: String,
    /// The reason.
    pub why: String,
}

/// Names in a task list that start with a dot and belong to Claude Code.
const DOTTED: [&str; 2] = [".highwatermark", ".session-list"];

impl FilePlan {
    /// Makes a plan. Without a moment (RFC 3339) it has the last state of each file.
    pub fn of(archive: &Archive, data: &RunData, at: Option<&str>, directory: &str) -> FilePlan {
        let (mut files, mut left_out) = (Vec::new(), Vec::new());
        let held = at.map_or_else(|| data.journal.last(), |at| data.journal.at(at));
        for (path, state) in held {
            let refused = |why: &str| SkippedFile { path: path.clone(), why: why.to_owned() };
            match state.object {
                _ if is_half_written(&path) => {}
                _ if !is_safe(&path) => left_out.push(refused("unsafe name")),
                None => left_out.push(refused("its content was not recorded")),
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
        let (at, directory) = (at.map(str::to_owned), directory.to_owned());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_places_in_the_client_s_own_directories_are_safe() {
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
