//! Checks that the store is private and writable, and that there is free space.

use std::fs::Metadata;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use teamkeep_model::words::size;
use teamkeep_store::access::{Obstacle, obstacle};
use teamkeep_system::command::quoted;
use teamkeep_system::fs;
use teamkeep_system::os::access::{FINDS_OTHERS, is_writable, open_mode, other_owner, user_id};
use teamkeep_system::os::files;
use teamkeep_system::paths::PARTS;

use super::{CheckInput, Diagnosis, bad, ok, unknown, warn};

/// With less space the disk is full, in bytes.
const MIN_FREE_BYTES: u64 = 64 << 20;
/// With less space the disk is nearly full, in bytes.
const LOW_FREE_BYTES: u64 = 1 << 30;

/// Something in the store that others can access.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenPath {
    pub path: PathBuf,
    pub mode: u32,
}

/// Whether a directory is a store and contains nothing else. `TEAMKEEP_HOME` can name any directory, also the home
/// directory, where teamkeep must not change anything.
pub fn is_store(dir: &Path) -> bool {
    let Ok(inside) = std::fs::read_dir(dir) else { return false };
    inside.flatten().all(|entry| {
        let name = entry.file_name();
        let is_part =
            name.to_str().is_some_and(|name| PARTS.contains(&name) || name.starts_with(".trust.json."));
        is_part || entry.file_type().is_ok_and(|kind| kind.is_symlink())
    })
}

/// The store's directory and its direct entries that belong to this user and that others can access. Everything below
/// a private directory is private.
pub fn open_to_others(store: &Path) -> Vec<OpenPath> {
    let Ok(root) = fs::canonicalize(store) else { return Vec::new() };
    let parts = PARTS.iter().map(|part| root.join(part));
    let open = |path: PathBuf| {
        let metadata = path.symlink_metadata().ok()?;
        let is_real = metadata.is_dir() || metadata.is_file();
        let mode = open_mode(&metadata).filter(|_| is_real && other_owner(&metadata).is_none())?;
        Some(OpenPath { path, mode })
    };
    std::iter::once(root.clone()).chain(parts).filter_map(open).collect()
}

/// Checks who can access it.
pub fn private(input: &CheckInput<'_>) -> Diagnosis {
    let store = &input.paths.store;
    let shown = store.display();
    let metadata = match store.metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return ok(format!("no store yet; {shown} will be private"));
        }
        Err(error) => return unknown(format!("cannot read {shown}: {error}")),
    };
    if let Some(problem) = unusable(store, &metadata) {
        return problem;
    }
    if !FINDS_OTHERS {
        return unknown(format!("the access of other users to {shown} is not checked on this system"));
    }
    let open = open_to_others(store);
    let Some(first) = open.first() else { return ok(format!("{shown} is private")) };
    let fix = match is_store(store) {
        true => format!("{} doctor --fix", input.call),
        false => "set TEAMKEEP_HOME to a directory that only teamkeep uses".to_owned(),
    };
    let only_names = open.len() == 1 && fs::canonicalize(store).is_ok_and(|root| root == first.path);
    if only_names && !is_writable(first.mode) {
        let what = format!("other users can list {shown} (mode {:o}), but read nothing in it", first.mode);
        return warn(what).with_fix(fix);
    }
    let paths = open.iter().map(|open| format!("{} (mode {:o})", open.path.display(), open.mode));
    let paths: Vec<String> = paths.collect();
    bad(format!("other users can access the store: {}", paths.join(", "))).with_fix(fix)
}

/// The problem of a store that is not a directory, or belongs to another user.
fn unusable(store: &Path, metadata: &Metadata) -> Option<Diagnosis> {
    let (own, shown) = (user_id(), store.display());
    if !metadata.is_dir() {
        return Some(
            bad(format!("{shown} is not a directory")).with_fix("move it away, or set TEAMKEEP_HOME"),
        );
    }
    other_owner(metadata).map(|owner| {
        let fix = format!("chown -R {own} {}  # as that user or root", quoted(&store.to_string_lossy()));
        bad(format!("{shown} belongs to another user ({owner})")).with_fix(fix)
    })
}

/// The directory, or the nearest existing one above it.
fn nearest(store: &Path) -> &Path {
    store.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"))
}

/// Checks that it is writable, without writing.
pub fn writable(input: &CheckInput<'_>) -> Diagnosis {
    let store = &input.paths.store;
    if store.metadata().is_ok_and(|metadata| unusable(store, &metadata).is_some()) {
        return unknown("not checked, because store-private failed");
    }
    if let Some(Obstacle { what, fix }) = obstacle(input.paths, input.env) {
        return bad(what).with_fix(fix);
    }
    let near = nearest(store);
    if input.paths.warning.is_some() {
        let what = format!("HOME is not set; data is stored in {}", store.display());
        return warn(what).with_fix("set HOME or TEAMKEEP_HOME");
    }
    ok(format!("{} {}", store.display(), if near == store { "is writable" } else { "can be created" }))
}

/// Checks the free space.
pub fn free_space(input: &CheckInput<'_>) -> Diagnosis {
    let near = nearest(&input.paths.store);
    match files::free_space(near) {
        Ok(free) => rate_space(free, near),
        Err(error) => unknown(format!("cannot determine the free space at {}: {error}", near.display())),
    }
}

fn rate_space(free: u64, near: &Path) -> Diagnosis {
    let what = format!("{} free at {}", size(free), near.display());
    match free {
        0..MIN_FREE_BYTES => bad(what).with_fix("free disk space: nothing can be recorded"),
        MIN_FREE_BYTES..LOW_FREE_BYTES => {
            warn(what).with_fix("free disk space, or set TEAMKEEP_HOME to a larger disk")
        }
        _ => ok(what),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::CheckVerdict;

    #[test]
    fn free_space_is_rated_by_its_size() {
        let verdict = |free| rate_space(free, Path::new("/")).verdict;
        assert_eq!(verdict(2 << 30), CheckVerdict::Ok);
        assert_eq!(verdict(LOW_FREE_BYTES - 1), CheckVerdict::Warn);
        assert_eq!(verdict(MIN_FREE_BYTES - 1), CheckVerdict::Bad);
    }
}
