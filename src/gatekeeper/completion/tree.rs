//! What state a work tree is in, as a key: the same key means that a check would see the same files.

use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use blake3::{Hash, Hasher};

use super::supervise::{Ended, Taken, supervise};
use crate::fs::{self, Stamp};

/// How long git may take for one answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// An untracked file up to this size counts by its content, a larger one by its stamp.
const LARGEST: u64 = 1 << 20;
/// With more untracked files than this no result is kept: looking at them would cost more than it saves.
const MOST: usize = 20_000;

/// Where a project's checks run: in the project, whatever directory somebody went to. Whoever is in another work tree
/// of the project's repository is checked there, for that is where their work is.
pub fn place(project: Option<&Path>, cwd: &Path) -> PathBuf {
    let Some(project) = project else { return cwd.to_owned() };
    other_tree(project, cwd).unwrap_or_else(|| project.to_owned())
}

/// The project's directory in the other work tree that `cwd` is in; `None` when it is in none.
fn other_tree(project: &Path, cwd: &Path) -> Option<PathBuf> {
    let ask = |dir: &Path, what: &str| {
        let said = line(dir, &["rev-parse", what])?;
        Some(PathBuf::from(std::ffi::OsString::from_vec(said)))
    };
    let top = |dir: &Path| ask(dir, "--show-toplevel");
    let repository = |dir: &Path| dir.join(ask(dir, "--git-common-dir")?).canonicalize().ok();
    let (theirs, ours) = (top(cwd.is_dir().then_some(cwd)?)?, top(project)?);
    if theirs == ours || repository(cwd)? != repository(project)? {
        return None;
    }
    // Without the slash that a prefix ends with.
    Some(theirs.join(ask(project, "--show-prefix")?).components().collect())
}

/// The state of the work tree around a directory: the committed tree, what differs from it, and the untracked files
/// that are not ignored. `None` outside a work tree, before its first commit, and where git cannot see every change: in
/// a changed submodule, in a repository that lies untracked inside.
pub fn key(cwd: &Path) -> Option<Hash> {
    let top = PathBuf::from(std::ffi::OsString::from_vec(line(cwd, &["rev-parse", "--show-toplevel"])?));
    // Asked before anything that would run a filter.
    if !sees_all(&top)? {
        return None;
    }
    let mut hasher = Hasher::new();
    field(&mut hasher, top.as_os_str().as_bytes());
    // Where in the tree the command is run.
    field(&mut hasher, &line(cwd, &["rev-parse", "--show-prefix"])?);
    field(&mut hasher, &line(&top, &["rev-parse", "--verify", "HEAD^{tree}"])?);
    field(&mut hasher, difference(&top)?.as_bytes());
    untracked(&top, &mut hasher)?;
    Some(hasher.finalize())
}

/// Attributes by which a file that changed may be the same to git: its line ends, its `$Id$`.
const CONVERTED: [&str; 9] = [
    ":(top,attr:text)",
    ":(top,attr:text=auto)",
    ":(top,attr:text=input)",
    ":(top,attr:crlf)",
    ":(top,attr:crlf=auto)",
    ":(top,attr:crlf=input)",
    ":(top,attr:eol=lf)",
    ":(top,attr:eol=crlf)",
    ":(top,attr:ident)",
];
/// Any file with an encoding of its own: an attribute whose values nobody can list.
const ENCODED: [&str; 3] =
    [":(top)", ":(top,exclude,attr:!working-tree-encoding)", ":(top,exclude,attr:-working-tree-encoding)"];

/// Whether git is told to take some files that changed for the same: by their mode, their line ends, their kind, or
/// without a look at all that the disk says of them. What is not read as a plain value counts as such.
fn is_lenient(key: &str, value: &str) -> bool {
    let value = value.to_lowercase();
    let (on, off) = (["true", "yes", "on", "1"], ["false", "no", "off", "0", ""]);
    match key {
        "core.filemode" | "core.symlinks" | "core.trustctime" => !on.contains(&value.as_str()),
        "core.autocrlf" => !off.contains(&value.as_str()),
        "core.checkstat" => value != "default",
        _ => false,
    }
}

/// Whether git looks at all files as they are: it is not told to pass over some (`assume-unchanged`, `skip-worktree`) or
/// over a part of what they are, and none is converted, or goes through a filter, which would be run.
fn sees_all(top: &Path) -> Option<bool> {
    let (mut tagged, mut configured) = (Vec::new(), Vec::new());
    git(top, &["config", "--null", "--list"], |bytes| configured.extend_from_slice(bytes))?;
    let mut filters = Vec::new();
    for entry in configured.split(|byte| *byte == 0) {
        let entry = String::from_utf8_lossy(entry);
        let (key, value) = entry.split_once('\n').unwrap_or((&entry, "true"));
        if is_lenient(key, value) {
            return Some(false);
        }
        let name = key.strip_prefix("filter.").and_then(|rest| rest.rsplit_once('.'));
        filters.extend(name.map(|(name, _)| name.to_owned()));
    }
    filters.sort();
    filters.dedup();
    let filtered: Vec<String> =
        filters.into_iter().map(|filter| format!(":(top,attr:filter={filter})")).collect();
    let filtered: Vec<&str> = filtered.iter().map(String::as_str).collect();
    for files in [CONVERTED.as_slice(), &ENCODED, &filtered] {
        if !files.is_empty() && any(top, files)? {
            return Some(false);
        }
    }
    git(top, &["ls-files", "-v", "-z"], |bytes| tagged.extend_from_slice(bytes))?;
    let passed_over =
        |entry: &[u8]| entry.first().is_some_and(|tag| tag.is_ascii_lowercase() || *tag == b'S');
    Some(!tagged.split(|byte| *byte == 0).any(passed_over))
}

/// Whether git knows any of these files.
fn any(top: &Path, files: &[&str]) -> Option<bool> {
    let mut some = false;
    git(top, &[&["ls-files", "-z", "--"], files].concat(), |bytes| some |= !bytes.is_empty())?;
    Some(some)
}

/// What differs from the last commit.
fn difference(top: &Path) -> Option<Hash> {
    let args = [
        "diff",
        "--binary",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        "--no-relative",
        "--submodule=short",
        "--ignore-submodules=none",
        "HEAD",
        "--",
    ];
    let (mut hasher, mut dirty) = (Hasher::new(), Dirty::default());
    git(top, &args, |bytes| {
        hasher.update(bytes);
        dirty.take(bytes);
    })?;
    (!dirty.found).then(|| hasher.finalize())
}

/// Looks for a submodule that is changed inside: git says so and does not say how.
#[derive(Default)]
struct Dirty {
    line: Vec<u8>,
    found: bool,
}

impl Dirty {
    fn take(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.line.len() < 256 {
                self.line.extend_from_slice(&part[..part.len().min(256)]);
            }
            if part.ends_with(b"\n") {
                self.found |=
                    self.line.starts_with(b"+Subproject commit ") && self.line.ends_with(b"-dirty\n");
                self.line.clear();
            }
        }
    }
}

/// The files that git does not know and is not told to ignore.
fn untracked(top: &Path, hasher: &mut Hasher) -> Option<()> {
    let mut listed = Vec::new();
    git(top, &["ls-files", "--others", "--exclude-standard", "-z"], |bytes| listed.extend_from_slice(bytes))?;
    let names = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    if names.clone().count() > MOST || names.clone().any(|name| name.ends_with(b"/")) {
        return None;
    }
    for name in names {
        field(hasher, name);
        file(&top.join(std::ffi::OsStr::from_bytes(name)), hasher);
    }
    Some(())
}

/// One file: its content and mode, the target of a link, or its stamp.
fn file(path: &Path, hasher: &mut Hasher) {
    let Ok(metadata) = path.symlink_metadata() else { return field(hasher, b"gone") };
    hasher.update(&metadata.permissions().mode().to_le_bytes());
    if metadata.is_symlink() {
        let target = std::fs::read_link(path).unwrap_or_default();
        return field(hasher, target.as_os_str().as_bytes());
    }
    match fs::read_regular(path, LARGEST) {
        Ok((bytes, _)) => field(hasher, &bytes),
        Err(_) => field(hasher, format!("{:?}", Stamp::of(&metadata)).as_bytes()),
    }
}

/// Adds one part so that it cannot be taken for the end of another.
pub fn field(hasher: &mut Hasher, bytes: &[u8]) {
    hasher.update(&(bytes.len() as u64).to_le_bytes());
    hasher.update(bytes);
}

/// What git says on its one line.
fn line(dir: &Path, args: &[&str]) -> Option<Vec<u8>> {
    let mut said = Vec::new();
    git(dir, args, |bytes| said.extend_from_slice(bytes))?;
    said.strip_suffix(b"\n").map(<[u8]>::to_vec)
}

/// Asks git, which neither writes to the repository nor runs a program of its configuration for it; `None` when it
/// does not answer.
fn git(dir: &Path, args: &[&str], take: impl FnMut(&[u8])) -> Option<()> {
    let mut command = Command::new("git");
    command.args(["-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false"]);
    command.args(["-c", "core.quotePath=true"]).args(args).current_dir(dir);
    command.env("GIT_OPTIONAL_LOCKS", "0").env_remove("CLAUDE_CODE_MESSAGING_TOKEN");
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_EXTERNAL_DIFF"] {
        command.env_remove(name);
    }
    let ended = supervise(command, PATIENCE, Taken::Out, take).ok()?;
    (ended == Ended::Exit(0)).then_some(())
}
