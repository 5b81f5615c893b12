//! The files that a tool call changed and the commits that it printed, by `toolUseResult` of its line in a transcript.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use teamkeep_model::team::text;
use teamkeep_model::time::{self, Timestamp};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileChanges {
    /// When the call ended, by Claude Code's clock.
    pub at: Option<Timestamp>,
    pub edits: Vec<FileEdit>,
    pub commits: Vec<Commit>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEdit {
    /// Absolute if the line of the transcript names its directory.
    pub path: PathBuf,
    /// From the top to the bottom; empty if the tool does not report them (NotebookEdit).
    pub lines: Arc<[LineChange]>,
}

/// A changed line. Numbers start at 1, and count the lines of a file whose part above this line has changed already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineChange {
    /// The first change of a new file: an earlier file with this name is gone.
    Created,
    Added {
        number: u32,
        text: String,
    },
    Removed {
        number: u32,
    },
}

/// A commit, as git prints it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Its abbreviated hash.
    pub id: String,
    pub branch: String,
    pub subject: String,
}

impl FileChanges {
    /// Reads a line of a transcript. The form of the result is internal to Claude Code, so unknown content is ignored.
    pub fn read(line: &Value) -> FileChanges {
        let Some(result) = line.get("toolUseResult") else { return FileChanges::default() };
        let directory = line.get("cwd").and_then(Value::as_str).map(Path::new);
        let edited = text(result, &["filePath"]).and_then(|path| Some((path, edited(result)?)));
        let notebook = text(result, &["notebook_path"]).map(|path| (path, Vec::new()));
        // The changes by a command of Bash (2.1.330).
        let files = result.pointer("/bashEditDiff/files").and_then(Value::as_array).into_iter().flatten();
        let by_command = files.filter_map(|file| {
            let created = file.get("created") == Some(&Value::Bool(true));
            let lines = changed(file.get("hunks")?.as_array()?);
            Some((
                text(file, &["filePath"])?,
                created.then_some(LineChange::Created).into_iter().chain(lines).collect(),
            ))
        });
        let edits = edited.into_iter().chain(notebook).chain(by_command).map(|(path, lines)| FileEdit {
            path: directory.map_or_else(|| PathBuf::from(&path), |directory| directory.join(&path)),
            lines: lines.into(),
        });
        let printed = result.get("stdout").and_then(Value::as_str).unwrap_or_default();
        let at = text(line, &["timestamp"]).and_then(|at| time::parse(&at));
        FileChanges {
            at,
            edits: edits.collect(),
            commits: printed.lines().filter_map(Commit::read).collect(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.edits.is_empty() && self.commits.is_empty()
    }
}

/// The result of Edit, MultiEdit and Write. Read names a file in the same way, but it has no patch.
fn edited(result: &Value) -> Option<Vec<LineChange>> {
    let patch = result.get("structuredPatch")?.as_array()?;
    if result.get("type").and_then(Value::as_str) != Some("create") {
        return Some(changed(patch));
    }
    let content = result.get("content").and_then(Value::as_str).unwrap_or_default();
    let lines = (1..).zip(content.lines());
    let lines = lines.map(|(number, text)| LineChange::Added { number, text: text.to_owned() });
    Some([LineChange::Created].into_iter().chain(lines).collect())
}

/// The changed lines of a patch.
fn changed(hunks: &[Value]) -> Vec<LineChange> {
    let mut changed = Vec::new();
    for hunk in hunks {
        let start = hunk.get("newStart").and_then(Value::as_u64).unwrap_or(1);
        let mut number = u32::try_from(start).unwrap_or(u32::MAX);
        for line in hunk.get("lines").and_then(Value::as_array).into_iter().flatten() {
            let line = line.as_str().unwrap_or_default();
            match line.split_at_checked(1) {
                Some(("-", _)) => changed.push(LineChange::Removed { number }),
                // "\ No newline at end of file"
                Some(("\\", _)) => {}
                added_or_same => {
                    if let Some(("+", text)) = added_or_same {
                        let text = text.strip_suffix('\r').unwrap_or(text);
                        changed.push(LineChange::Added { number, text: text.to_owned() });
                    }
                    number = number.saturating_add(1);
                }
            }
        }
    }
    changed
}

impl Commit {
    /// Reads `[main 1a2b3c4] Subject` or `[main (root-commit) 1a2b3c4] Subject`.
    fn read(line: &str) -> Option<Commit> {
        let (place, subject) = line.strip_prefix('[')?.split_once("] ")?;
        let (branch, id) = place.rsplit_once(' ')?;
        let is_hash = (4..=64).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        let branch = branch.strip_suffix(" (root-commit)").unwrap_or(branch);
        let names_branch = branch == "detached HEAD" || !(branch.is_empty() || branch.contains(' '));
        (is_hash && names_branch).then(|| Commit {
            id: id.to_owned(),
            branch: branch.to_owned(),
            subject: subject.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lines(edit: &FileEdit) -> Vec<(u32, Option<&str>)> {
        let lines = edit.lines.iter().map(|line| match line {
            LineChange::Added { number, text } => (*number, Some(text.as_str())),
            LineChange::Removed { number } => (*number, None),
            LineChange::Created => (0, None),
        });
        lines.collect()
    }

    #[test]
    fn an_edit_has_the_numbers_of_its_changed_lines() {
        let line = json!({"cwd": "/work", "toolUseResult": {"filePath": "notes.txt", "structuredPatch": [
            {"newStart": 3, "lines": [" same", "-old", "+new\r", " same", "+more", "\\ No newline at end of file"]},
            {"newStart": 20, "lines": ["-gone"]},
        ]}});
        let changes = FileChanges::read(&line);
        assert_eq!(changes.edits.len(), 1);
        assert_eq!(changes.edits[0].path, Path::new("/work/notes.txt"));
        assert_eq!(lines(&changes.edits[0]), [(4, None), (4, Some("new")), (6, Some("more")), (20, None)]);
    }

    #[test]
    fn a_new_file_has_all_its_lines() {
        let created = json!({"toolUseResult": {"type": "create", "filePath": "/a", "content": "x\ny\n", "structuredPatch": []}});
        assert_eq!(lines(&FileChanges::read(&created).edits[0]), [(0, None), (1, Some("x")), (2, Some("y"))]);
        let by_command = json!({"toolUseResult": {"stdout": "", "bashEditDiff": {"files": [
            {"filePath": "/b", "created": true, "hunks": [{"newStart": 1, "lines": ["+one"]}]},
        ]}}});
        assert_eq!(lines(&FileChanges::read(&by_command).edits[0]), [(0, None), (1, Some("one"))]);
    }

    #[test]
    fn a_read_file_and_an_unknown_result_are_no_change() {
        for result in
            [json!({"type": "text", "filePath": "/a"}), json!("text"), json!({"structuredPatch": 3})]
        {
            assert!(FileChanges::read(&json!({"toolUseResult": result})).is_empty());
        }
    }

    #[test]
    fn printed_commits_are_found() {
        let stdout = "[main (root-commit) 1a2b3c4] Add it\n 1 file changed\n[detached HEAD 0123456789] Next\n[INFO] ok\n[x y z] no\n";
        let line = json!({"toolUseResult": {"stdout": stdout}});
        let found = FileChanges::read(&line).commits;
        let found: Vec<_> = found.iter().map(|one| (&*one.branch, &*one.id, &*one.subject)).collect();
        assert_eq!(found, [("main", "1a2b3c4", "Add it"), ("detached HEAD", "0123456789", "Next")]);
    }
}
