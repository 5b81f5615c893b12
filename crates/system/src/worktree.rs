//! The work in a git worktree that is nowhere else, as a bundle: its uncommitted changes, its untracked files, and the
//! commits of its branch.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::fs;
use crate::git::Git;
use crate::os;
use teamkeep_model::unicode::escape;
use teamkeep_model::words::{FEW, and_more};

/// The reference in a bundle.
pub(crate) const REFERENCE: &str = "refs/heads/worktree";
/// Maximum size of a bundle, in bytes.
pub const MAX_BYTES: usize = 64 << 20;

/// Packs in little time, whatever is configured: searching for similar parts of large files takes most of it.
const PACK: [&str; 11] = [
    "-c",
    "core.bigFileThreshold=1m",
    "-c",
    "pack.compression=1",
    "pack-objects",
    "--window=10",
    "--depth=50",
    "--revs",
    "--stdout",
    "--thin",
    "--quiet",
];

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
    /// A git bundle, and the files that are not in it: too large, unreadable, or in a repository of their own.
    Bundle { bytes: Vec<u8>, left_out: Option<String> },
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
    git.disable_programs()?;
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
    let [shown, own, common] =
        [shown, own, common].map(|path| PathBuf::from(os::files::os_string(path.to_vec())));
    if own == common || !fs::is_same_path(&shown, &fs::canonicalize(top).ok()?) {
        return Some(Work::None);
    }
    let head = text(git.line(&["log", "-1", "--format=%H %T %ct"])?)?;
    let [head, tree, time] = head.split(' ').collect::<Vec<_>>()[..] else { return None };

    fs::private_dir(&scratch.join("objects")).ok()?;
    git.set("GIT_INDEX_FILE", scratch.join("index"));
    git.set("GIT_OBJECT_DIRECTORY", scratch.join("objects"));
    git.set("GIT_ALTERNATE_OBJECT_DIRECTORIES", quoted(&common.join("objects"))?);
    let Changes { removed, stored, left_out } = Changes::of(top, &changed_files(&git, &own, scratch)?);
    for (how, paths) in [("--force-remove", removed), ("--add", stored)] {
        if !paths.is_empty() {
            let input = file_with(&scratch.join(how), &paths)?;
            let update = ["update-index", "--remove", "--replace", how, "-z", "--stdin"];
            git.output_of(input, &update, MAX_BYTES)?;
        }
    }
    let changed = text(git.line(&["write-tree"])?)?;
    let commit = match changed == tree {
        true => head.to_owned(),
        // The same work has the same commit.
        false => {
            let date = format!("@{} +0000", time.parse::<u32>().unwrap_or_default());
            let identity = [NAMES, EMAILS, DATES].into_iter().zip([author, "teamkeep@localhost", &date]);
            for (variables, value) in identity {
                variables.iter().for_each(|name| git.set(name, value));
            }
            let name = top.file_name().unwrap_or_default().to_string_lossy();
            let subject = format!("Uncommitted work of worktree {name}");
            let mut commit = vec!["commit-tree", &changed, "-p", head, "-m", &subject];
            left_out.iter().for_each(|left_out| commit.extend(["-m", left_out]));
            text(git.line(&commit)?)?
        }
    };
    let branch = text(branch.to_vec())?;
    let exclude = branch.strip_prefix("refs/heads/").map(|name| format!("--exclude={}", literal(name)));
    // A branch can be broken.
    let mut list = vec!["rev-list", "--ignore-missing", "--boundary", &commit, "--not"];
    list.extend(exclude.as_deref());
    list.extend(["--branches", "--tags", "--remotes"]);
    let listed = text(git.output(&list)?)?;
    if !listed.lines().any(|line| !line.starts_with('-')) {
        return Some(Work::None);
    }
    let bases: Vec<&str> = listed.lines().filter_map(|line| line.strip_prefix('-')).collect();
    let excluded: String = bases.iter().map(|base| format!("^{base}\n")).collect();
    let input = file_with(&scratch.join("revisions"), format!("{commit}\n{excluded}").as_bytes())?;
    let pack = git.output_of(input, &PACK, MAX_BYTES)?;
    let mut bytes = header(&commit, &bases).into_bytes();
    bytes.extend(pack);
    Some(Work::Bundle { bytes, left_out })
}

/// A new file to read.
fn file_with(path: &Path, bytes: &[u8]) -> Option<File> {
    fs::create_private(path).ok()?.write_all(bytes).ok()?;
    File::open(path).ok()
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

// The files in a worktree that are not as in its index, and which of them can be stored.

/// The files whose content is not in the index, each with a zero byte after its name. A copy of the index knows which files
/// are unchanged. If it cannot be used, every file is compared with the commit.
fn changed_files(git: &Git, own: &Path, scratch: &Path) -> Option<Vec<u8>> {
    let index = scratch.join("index");
    let list =
        || git.output(&["ls-files", "-z", "--others", "--modified", "--deleted", "--exclude-standard"]);
    if copy_index(&own.join("index"), &index).is_ok()
        && let Some(listed) = list()
    {
        return Some(listed);
    }
    fs::allow_missing(std::fs::remove_file(&index)).ok()?;
    git.output(&["read-tree", "HEAD"])?;
    list()
}

fn copy_index(from: &Path, to: &Path) -> io::Result<()> {
    let mut from = fs::open_regular(from)?;
    // git compares the content of a file that is as new as its index: it can have changed in the same moment.
    let written = from.metadata()?.modified()?;
    let mut copy = fs::create_private(to)?;
    io::copy(&mut from, &mut copy)?;
    copy.set_modified(written)
}

/// The changed files. Each path has a zero byte after it.
struct Changes {
    pub removed: Vec<u8>,
    pub stored: Vec<u8>,
    pub left_out: Option<String>,
}

impl Changes {
    /// With too many bytes, the largest files are left out.
    fn of(top: &Path, listed: &[u8]) -> Changes {
        let (mut removed, mut stored, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
        let mut files = Vec::new();
        // A conflict has a file several times.
        let names: BTreeSet<&[u8]> =
            listed.split(|byte| *byte == 0).filter(|name| !name.is_empty()).collect();
        for name in names {
            let path = top.join(os::files::os_string(name.to_vec()));
            match path.symlink_metadata() {
                _ if is_behind_link(top, &path) => removed.push(name),
                Err(_) => removed.push(name),
                Ok(found) if found.is_file() => match fs::open_regular(&path) {
                    Ok(_) => files.push((found.len(), name)),
                    Err(_) => left_out.push((name, "unreadable")),
                },
                Ok(found) if found.is_dir() && name.ends_with(b"/") => {
                    left_out.push((name, "another repository"));
                }
                Ok(_) => stored.push(name),
            }
        }
        files.sort_unstable();
        // git must compress all of them in time, and the pack has more than they.
        let mut room = MAX_BYTES as u64 / 2;
        for (size, name) in files {
            match room.checked_sub(size) {
                Some(left) => {
                    room = left;
                    stored.push(name);
                }
                None => left_out.push((name, "too large")),
            }
        }
        let [removed, stored] = [removed, stored]
            .map(|paths| paths.iter().flat_map(|path| [*path, b"\0"]).flatten().copied().collect());
        Changes { removed, stored, left_out: described(&left_out) }
    }
}

/// Whether a directory of the path is a symlink now: git does not follow it.
fn is_behind_link(top: &Path, path: &Path) -> bool {
    let inside = path.ancestors().skip(1).take_while(|dir| *dir != top);
    inside.into_iter().any(Path::is_symlink)
}

/// A sentence about the files that are left out.
fn described(files: &[(&[u8], &str)]) -> Option<String> {
    let shown = files.iter().take(FEW);
    let shown = shown.map(|(name, why)| format!("{} ({why})", escape(&String::from_utf8_lossy(name))));
    let shown: Vec<String> = shown.collect();
    let more = and_more(files.len().saturating_sub(FEW));
    (!shown.is_empty()).then(|| format!("Left out: {}{more}", shown.join(", ")))
}
