//! Resolves the files that a tool call uses: their paths without links, the git working trees that
//! they are in, and the paths of git commands in Bash.

use std::path::{Path, PathBuf};

use crate::client::payload::{Kind, Payload};
use crate::config::Policy;
use crate::model::Tool;
use crate::policy::{Access, GitCall, GitCommand, GitCommands, PathArgument, Paths, Place};
use crate::sys::fs;

/// Maximum length of a path in bytes. Longer ones are not followed.
const MAX_PATH_BYTES: usize = 1_024;

/// The files that the tool call of an event uses. `None` if no gate of the policy needs it, or if it cannot be known.
pub fn access(policy: &Policy, kind: Kind, payload: &Payload) -> Option<Access> {
    let has_call = kind.is_before_tool()
        || matches!(kind, Kind::PostToolUse | Kind::PostToolUseFailure | Kind::PermissionDenied);
    let tool = payload.tool().filter(|_| has_call && policy.guards_files())?;
    let directory = || payload.text("cwd").map(Path::new).filter(|cwd| cwd.is_absolute());
    let place = || {
        let input = payload.tool_input();
        let path = ["file_path", "notebook_path"].into_iter().find_map(|key| input.get(key)?.as_str())?;
        place(directory(), path)
    };
    match tool {
        Tool::Read => place().map(Access::Reads),
        Tool::Edit => place().map(Access::Changes),
        Tool::Bash => {
            let line = payload.tool_input().get("command")?.as_str()?;
            let found = GitCommands::parse(line, directory()?);
            let calls = found.commands.iter().filter_map(git_call).collect();
            Some(Access::Git { calls, is_complete: found.is_complete })
        }
        _ => None,
    }
}

/// The command with its paths resolved; `None` outside of a working tree. A directory that does not exist yet can become
/// another one.
fn git_call(command: &GitCommand) -> Option<GitCall> {
    let directory = resolved(&command.directory).filter(|directory| directory.is_dir())?;
    let root = root(&directory)?;
    let resolve = |path: &PathArgument| match path {
        PathArgument::Top => root.to_str().map(str::to_owned),
        // A glob is kept: only the directories before it are resolved.
        PathArgument::Below(path) => resolved(&directory.join(path))?.into_os_string().into_string().ok(),
    };
    let paths = |all: &Vec<PathArgument>| Paths(all.iter().filter_map(resolve).collect());
    let effects = command.effects.iter().map(|effect| effect.with_paths(paths));
    Some(GitCall { root: root.to_str()?.to_owned(), name: command.name, effects: effects.collect() })
}

/// The place of a file, which need not exist.
fn place(directory: Option<&Path>, path: &str) -> Option<Place> {
    if path.is_empty() || path.len() > MAX_PATH_BYTES || path.contains('\0') {
        return None;
    }
    let path = Path::new(path);
    let path = if path.is_absolute() { path.to_owned() } else { directory?.join(path) };
    let path = resolved(&path)?;
    let is_new = path.symlink_metadata().is_err();
    let root_len = path.parent().and_then(root).map_or(0, |root| root.as_os_str().len());
    let path = path.into_os_string().into_string().ok().filter(|path| path.len() <= MAX_PATH_BYTES)?;
    Some(Place { path, root_len, is_new })
}

/// The path with all links resolved as far as it exists; the rest is only made plain.
fn resolved(path: &Path) -> Option<PathBuf> {
    let plain = fs::plain(path);
    let existing = plain.ancestors().find_map(|start| Some((start, start.canonicalize().ok()?)));
    let (start, resolved) = existing?;
    let rest = plain.strip_prefix(start).ok()?;
    // `join` would end an empty rest with a slash.
    Some(if rest.as_os_str().is_empty() { resolved } else { resolved.join(rest) })
}

/// The root of the git working tree around a directory. A worktree and a submodule have a file `.git`.
fn root(directory: &Path) -> Option<&Path> {
    directory.ancestors().find(|one| one.join(".git").symlink_metadata().is_ok())
}
