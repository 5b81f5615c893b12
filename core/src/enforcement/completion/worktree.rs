//! The state of a worktree as a key: with the same key a check sees the same files.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use blake3::{Hash, Hasher};

use crate::sys::fs::{self, Stamp};
use crate::sys::git::{Git, filters};

const TIMEOUT: Duration = Duration::from_secs(30);
/// A larger untracked file is identified by its size and time, a smaller one by its content.
const MAX_BYTES: u64 = 1 << 20;
/// With more untracked files than this no result is stored: hashing them would cost more than it saves.
const MAX_ENTRIES: usize = 20_000;

/// A project's checks run in the project, and those of an agent in another worktree of its repository in that one.
pub fn directory(project: Option<&Path>, cwd: &Path) -> PathBuf {
    let Some(project) = project else { return cwd.to_owned() };
    other_tree(project, cwd).unwrap_or_else(|| project.to_owned())
}

/// The project's directory in the other worktree that contains `cwd`; `None` if there is none.
fn other_tree(project: &Path, cwd: &Path) -> Option<PathBuf> {
    let ask =
        |dir: &Path, what: &str| Some(PathBuf::from(OsString::from_vec(line(dir, &["rev-parse", what])?)));
    let top = |dir: &Path| ask(dir, "--show-toplevel");
    let repository = |dir: &Path| dir.join(ask(dir, "--git-common-dir")?).canonicalize().ok();
    let (theirs, ours) = (top(cwd.is_dir().then_some(cwd)?)?, top(project)?);
    if theirs == ours || repository(cwd)? != repository(project)? {
        return None;
    }
    // A prefix ends with a slash.
    Some(theirs.join(ask(project, "--show-prefix")?).components().collect())
}

/// The state of the worktree around a directory: the commit, the changes to it, and the untracked files that are not
/// ignored. `None` outside a worktree, before the first commit, and where git cannot see every change: in a changed
/// submodule or in an untracked repository inside.
pub fn key(cwd: &Path) -> Option<Hash> {
    let top = PathBuf::from(OsString::from_vec(line(cwd, &["rev-parse", "--show-toplevel"])?));
    // Before any command that would run a filter.
    if !sees_all(&top)? {
        return None;
    }
    let mut hasher = Hasher::new();
    field(&mut hasher, top.as_os_str().as_bytes());
    // The directory of the command within the worktree.
    field(&mut hasher, &line(cwd, &["rev-parse", "--show-prefix"])?);
    field(&mut hasher, &line(&top, &["rev-parse", "--verify", "HEAD^{tree}"])?);
    field(&mut hasher, difference(&top)?.as_bytes());
    untracked(&top, &mut hasher)?;
    Some(hasher.finalize())
}

/// Attributes that can make git treat a changed file as unchanged: line endings, `$Id$`.
const CONVERTED: &str = "text text=auto text=input crlf crlf=auto crlf=input eol=lf eol=crlf ident";
/// Any file with an encoding of its own.
const ENCODED: [&str; 3] =
    [":(top)", ":(top,exclude,attr:!working-tree-encoding)", ":(top,exclude,attr:-working-tree-encoding)"];

/// Whether a setting makes git ignore some changes: of mode, line endings, kind or stat data.
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

/// Whether git sees every file unchanged: no `assume-unchanged`, no `skip-worktree`, no conversion, and no filter.
fn sees_all(top: &Path) -> Option<bool> {
    let configuration = Git::new(top, TIMEOUT).configuration()?;
    if configuration.iter().any(|(key, value)| is_lenient(key, value)) {
        return Some(false);
    }
    let filters = filters(&configuration);
    let converted = CONVERTED.split(' ').map(str::to_owned);
    let attributes = converted.chain(filters.iter().map(|filter| format!("filter={filter}")));
    let changed: Vec<String> = attributes.map(|attribute| format!(":(top,attr:{attribute})")).collect();
    let changed: Vec<&str> = changed.iter().map(String::as_str).collect();
    if any(top, &changed)? || any(top, &ENCODED)? {
        return Some(false);
    }
    let is_skipped = |entry: &[u8]| entry.first().is_some_and(|tag| tag.is_ascii_lowercase() || *tag == b'S');
    Some(!output(top, &["ls-files", "-v", "-z"])?.split(|byte| *byte == 0).any(is_skipped))
}

fn any(top: &Path, files: &[&str]) -> Option<bool> {
    Some(!output(top, &[&["ls-files", "-z", "--"], files].concat())?.is_empty())
}

/// The changes to the commit; `None` if a submodule is changed inside, of which git shows no changes.
fn difference(top: &Path) -> Option<Hash> {
    let none = "--ignore-submodules=none";
    let status = output(top, &["status", "--porcelain=2", "--untracked-files=no", none])?;
    let is_dirty_submodule = |line: &[u8]| {
        let state = line.split(|byte| *byte == b' ').nth(2).unwrap_or_default();
        state.starts_with(b"S") && state.iter().any(|flag| matches!(flag, b'M' | b'U'))
    };
    if status.split(|byte| *byte == b'\n').any(is_dirty_submodule) {
        return None;
    }
    let args = "diff --binary --no-color --no-ext-diff --no-textconv --no-relative --submodule=short HEAD";
    let args: Vec<&str> = args.split(' ').chain([none, "--"]).collect();
    let mut hasher = Hasher::new();
    Git::new(top, TIMEOUT).run(&args, |bytes| {
        hasher.update(bytes);
    })?;
    Some(hasher.finalize())
}

fn untracked(top: &Path, hasher: &mut Hasher) -> Option<()> {
    let listed = output(top, &["ls-files", "--others", "--exclude-standard", "-z"])?;
    let names = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    if names.clone().count() > MAX_ENTRIES || names.clone().any(|name| name.ends_with(b"/")) {
        return None;
    }
    for name in names {
        field(hasher, name);
        file(&top.join(OsStr::from_bytes(name)), hasher);
    }
    Some(())
}

/// One file: its content and mode, the target of a link, or its size and time.
fn file(path: &Path, hasher: &mut Hasher) {
    let Ok(metadata) = path.symlink_metadata() else { return field(hasher, b"gone") };
    hasher.update(&metadata.permissions().mode().to_le_bytes());
    if metadata.is_symlink() {
        let target = std::fs::read_link(path).unwrap_or_default();
        return field(hasher, target.as_os_str().as_bytes());
    }
    match fs::read_regular(path, MAX_BYTES) {
        Ok((bytes, _)) => field(hasher, &bytes),
        Err(_) => field(hasher, format!("{:?}", Stamp::of(&metadata)).as_bytes()),
    }
}

/// Adds one part with its length, so that parts cannot run together.
pub fn field(hasher: &mut Hasher, bytes: &[u8]) {
    hasher.update(&(bytes.len() as u64).to_le_bytes());
    hasher.update(bytes);
}

fn line(dir: &Path, args: &[&str]) -> Option<Vec<u8>> {
    Git::new(dir, TIMEOUT).line(args)
}

fn output(dir: &Path, args: &[&str]) -> Option<Vec<u8>> {
    Git::new(dir, TIMEOUT).output(args)
}
