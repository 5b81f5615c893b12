//! The facts about a tool call that the gates for shared files need: the state of the file that it uses, or the losses of a
//! command line as git shows them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde_json::Value;

use super::git_access;
use teamkeep_config::Policy;
use teamkeep_model::Tool;
use teamkeep_model::payload::{Kind, Payload};
use teamkeep_policy::{Access, Edit, FileHistory, FileState, GitAccess, GitCommands, Judged, MAX_LISTED};
use teamkeep_system::fs;

/// Maximum size of a file whose content is compared. Larger ones are compared by size and time.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// The facts about the tool call of an event. `None` if no gate of the policy needs it, or if it cannot be known. The history of files
/// is read only then.
pub fn access(policy: &Policy, event: &Judged<'_>, files: impl Fn() -> FileHistory) -> Option<Access> {
    let tool = event.payload.tool().filter(|_| policy.guards_files())?;
    let directory = event.payload.text("cwd").map(Path::new).filter(|cwd| cwd.is_absolute());
    let before = event.kind.is_before_tool();
    match (tool, event.kind) {
        (Tool::Edit, Kind::PreToolUse) => edit(event, directory).map(Access::Edit),
        (Tool::Edit | Tool::Read, Kind::PostToolUse) => {
            let path = path(event.payload, directory)?;
            let state = state(&path).map(|(state, _)| state);
            Some(Access::Used { path: text(path)?, state, is_change: tool == Tool::Edit })
        }
        (Tool::Bash, kind) if before || matches!(kind, Kind::PostToolUse | Kind::PostToolUseFailure) => {
            let line = event.payload.tool_input().get("command")?.as_str()?;
            let line = GitCommands::parse(line, directory?);
            if line.commands.is_empty() {
                return Some(Access::Git(GitAccess {
                    is_complete: line.is_complete,
                    ..GitAccess::default()
                }));
            }
            let git = if before { git_access::before } else { git_access::after };
            Some(Access::Git(git(event, &line, &files())))
        }
        _ => None,
    }
}

fn edit(event: &Judged<'_>, directory: Option<&Path>) -> Option<Edit> {
    let path = path(event.payload, directory)?;
    let (present, content) =
        state(&path).map_or((None, Vec::new()), |(state, content)| (Some(state), content));
    let path = text(path)?;
    let input = event.payload.tool_input();
    let content = String::from_utf8_lossy(&content);
    let new = input.get("content").and_then(Value::as_str);
    let is_whole = input.get("old_string").is_none() && input.get("edits").is_none();
    let lost = new.map(|new| lost_lines(&content, new)).unwrap_or_default();
    Some(Edit { path, present, is_whole, lost })
}

/// The first lines of a content that another one does not have.
fn lost_lines(content: &str, new: &str) -> Vec<String> {
    let kept: HashSet<&str> = new.lines().map(str::trim).collect();
    let lost = content.lines().map(str::trim).filter(|line| !line.is_empty() && !kept.contains(line));
    lost.take(MAX_LISTED).map(str::to_owned).collect()
}

/// The state and the content of a regular file.
fn state(path: &Path) -> Option<(FileState, Vec<u8>)> {
    let metadata = path.symlink_metadata().ok().filter(|metadata| metadata.is_file())?;
    let time = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_nanos();
    let (size, time) = (metadata.len(), i64::try_from(time).unwrap_or_default());
    let content = fs::read_regular(path, MAX_FILE_BYTES).ok().map(|(content, _)| content);
    let hash = content.as_ref().map(|content| blake3::hash(content).to_hex()[..32].to_owned());
    Some((FileState { size, time, hash: hash.unwrap_or_default() }, content.unwrap_or_default()))
}

/// The file that a call uses, which need not exist, with all links resolved.
fn path(payload: &Payload, directory: Option<&Path>) -> Option<PathBuf> {
    let input = payload.tool_input();
    let path = ["file_path", "notebook_path"].into_iter().find_map(|key| input.get(key)?.as_str())?;
    if path.is_empty() || path.contains('\0') {
        return None;
    }
    let path = Path::new(path);
    fs::resolved(&if path.is_absolute() { path.to_owned() } else { directory?.join(path) })
}

fn text(path: PathBuf) -> Option<String> {
    path.into_os_string().into_string().ok()
}
