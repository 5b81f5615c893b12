//! The files in a worktree that are not as in its index, and which of them can be stored.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use teamkeep_model::words::{FEW, and_more};

use super::MAX_BYTES;
use crate::fs;
use crate::git::Git;
use crate::os;
use teamkeep_model::unicode::escape;

/// The files whose content is not in the index, each with a zero byte after its name. A copy of the index knows which files
/// are unchanged. If it cannot be used, every file is compared with the commit.
pub(super) fn changed_files(git: &Git, own: &Path, scratch: &Path) -> Option<Vec<u8>> {
    let index = scratch.join("index");
    let list =
        || git.output(&["ls-files", "-z", "--others", "--modified", "--deleted", "--exclude-standard"]);
    if copy_index(&own.join("index"), &index).is_ok()
        && let Some(listed) = list()
    {
        return Some(listed);
    }
    fs::allow_missing(std::fs::remove_file(&index)).ok()?;
    git.run(&["read-tree", "HEAD"], |_| ())?;
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
pub(super) struct Changes {
    pub removed: Vec<u8>,
    pub stored: Vec<u8>,
    pub left_out: Option<String>,
}

impl Changes {
    /// With too many bytes, the largest files are left out.
    pub(super) fn of(top: &Path, listed: &[u8]) -> Changes {
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
