//! The work in a git worktree that is nowhere else, as a bundle: its uncommitted changes, its untracked files, and the
//! commits of its branch.

use std::ffi::OsStr;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::sys::fs;
use crate::sys::git::Git;

/// The reference in a bundle.
pub const REFERENCE: &str = "refs/heads/worktree";
/// Maximum size of a bundle, in bytes.
pub const MAX_BYTES: usize = 64 << 20;

const NAMES: [&str; 2] = ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"];
const EMAILS: [&str; 2] = ["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"];
const DATES: [&str; 2] = ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"];

/// The directory of Claude Code's worktree that contains a path, `…/.claude/worktrees/NAME`, and its name.
pub fn containing(path: &Path) -> Option<(PathBuf, &str)> {
    let mut ancestors = path.ancestors().filter(|dir| dir.file_name().is_some());
    let top =
        ancestors.find(|dir| dir.parent().is_some_and(|parent| parent.ends_with(".claude/worktrees")))?;
    Some((top.to_owned(), top.file_name()?.to_str()?))
}

#[derive(Debug, PartialEq, Eq)]
pub enum Work {
    /// This is not a linked worktree, or everything in it is in commits of other branches.
    None,
    /// A git bundle.
    Bundle(Vec<u8>),
}

/// The work in the worktree at `top`. Files that git ignores are not part of it. Nothing is written to the repository:
/// new objects and the index are in `scratch`, an empty directory. `author` made the changes. `None` if git
/// fails, takes longer than `limit`, or needs more than [`MAX_BYTES`].
pub fn bundle(top: &Path, author: &str, scratch: &Path, limit: Duration) -> Option<Work> {
    // A linked worktree has a file there. Without it, git would find the repository around the directory.
    if !top.join(".git").symlink_metadata().is_ok_and(|found| found.is_file()) {
        return Some(Work::None);
    }
    let mut git = Git::new(top, limit);
    git.disable_filters()?;
    let places = git.line(&[
        "rev-parse",
        "--path-format=absolute",
        "--show-toplevel",
        "--git-dir",
        "--git-common-dir",
        "--symbolic-full-name",
        "HEAD",
    ])?;
    let places: Vec<&[u8]> = places.split(|byte| *byte == b'\n').collect();
    let [shown, own, common, branch] = places[..] else { return None };
    let [own, common] = [own, common].map(|path| Path::new(OsStr::from_bytes(path)));
    if own == common || Path::new(OsStr::from_bytes(shown)) != top.canonicalize().ok()? {
        return Some(Work::None);
    }
    let head = text(git.line(&["log", "-1", "--format=%H %T %ct"])?)?;
    let [head, tree, time] = head.split(' ').collect::<Vec<_>>()[..] else { return None };

    fs::private_dir(&scratch.join("objects")).ok()?;
    // A copy of the index knows which files are unchanged.
    std::fs::copy(own.join("index"), scratch.join("index")).ok()?;
    git.set("GIT_INDEX_FILE", scratch.join("index"));
    git.set("GIT_OBJECT_DIRECTORY", scratch.join("objects"));
    git.set("GIT_ALTERNATE_OBJECT_DIRECTORIES", quoted(&common.join("objects"))?);
    git.run(&["add", "--all", "--", "."], |_| ())?;
    let changed = text(git.line(&["write-tree"])?)?;
    let commit = match changed == tree {
        true => head.to_owned(),
        // The same work has the same commit.
        false => {
            let date = format!("{time} +0000");
            let identity = [NAMES, EMAILS, DATES].into_iter().zip([author, "teamkeep@localhost", &date]);
            for (variables, value) in identity {
                variables.iter().for_each(|name| git.set(name, value));
            }
            text(git.line(&["commit-tree", &changed, "-p", head, "-m", "Uncommitted work of a worktree"])?)?
        }
    };
    let branch = text(branch.to_vec())?;
    let exclude = branch.strip_prefix("refs/heads/").map(|name| format!("--exclude={}", literal(name)));
    let mut list = vec!["rev-list", "--boundary", &commit, "--not"];
    list.extend(exclude.as_deref());
    list.extend(["--branches", "--tags", "--remotes"]);
    let listed = text(git.output(&list)?)?;
    if !listed.lines().any(|line| !line.starts_with('-')) {
        return Some(Work::None);
    }
    let bases: Vec<&str> = listed.lines().filter_map(|line| line.strip_prefix('-')).collect();
    let input = scratch.join("revisions");
    let mut revisions = fs::create_private(&input).ok()?;
    let excluded: String = bases.iter().map(|base| format!("^{base}\n")).collect();
    write!(revisions, "{commit}\n{excluded}").ok()?;
    let pack = ["pack-objects", "--revs", "--stdout", "--thin", "--quiet"];
    let pack = git.output_of(std::fs::File::open(&input).ok()?, &pack, MAX_BYTES)?;
    let mut bundle = header(&commit, &bases).into_bytes();
    bundle.extend(pack);
    Some(Work::Bundle(bundle))
}

/// The lines before the pack: `gitformat-bundle(5)`.
fn header(commit: &str, bases: &[&str]) -> String {
    // The hash of a repository with SHA-256 has 64 digits.
    let version =
        if commit.len() == 64 { "# v3 git bundle\n@object-format=sha256\n" } else { "# v2 git bundle\n" };
    let bases: String = bases.iter().map(|base| format!("-{base} \n")).collect();
    format!("{version}{bases}{commit} {REFERENCE}\n\n")
}

/// The commits that a bundle names.
#[derive(Debug, PartialEq, Eq)]
pub struct Header {
    /// The commit of the work.
    pub commit: String,
    /// The commits that a repository must have before it can use the bundle.
    pub bases: Vec<String>,
}

impl Header {
    /// The header of a bundle that [`bundle`] made; `None` for other contents.
    pub fn parse(bundle: &[u8]) -> Option<Header> {
        let end = bundle.windows(2).position(|two| two == b"\n\n")?;
        let lines = std::str::from_utf8(&bundle[..end]).ok()?.lines();
        let (mut commit, mut bases) = (None, Vec::new());
        for line in lines.filter(|line| !line.starts_with(['#', '@'])) {
            match line.strip_prefix('-') {
                Some(base) => bases.push(hash(base.split(' ').next()?)?),
                None => commit = Some(hash(line.strip_suffix(REFERENCE)?.trim_end())?),
            }
        }
        Some(Header { commit: commit?, bases })
    }
}

fn hash(text: &str) -> Option<String> {
    let is_hash = matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then(|| text.to_owned())
}

fn text(bytes: Vec<u8>) -> Option<String> {
    String::from_utf8(bytes).ok()
}

/// A path in a list separated by colons, quoted like a string in C.
fn quoted(path: &Path) -> Option<String> {
    let path = path.to_str()?.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    Some(format!("\"{path}\""))
}

/// A branch's name as a pattern that matches only itself.
fn literal(name: &str) -> String {
    name.chars()
        .flat_map(|char| ['\\', char].into_iter().skip(usize::from(!"*?[\\".contains(char))))
        .collect()
}
