//! Checks that the store is private and writable, and that there is free space.

use std::fs::Metadata;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access, statvfs};

use super::code::Code;
use super::facts::Facts;
use super::finding::Finding;
use crate::paths::PARTS;
use crate::settings::command::quoted;

/// With less space the disk is full, in bytes.
const MIN_FREE_BYTES: u64 = 64 << 20;
/// With less space the disk is nearly full, in bytes.
const LOW_FREE_BYTES: u64 = 1 << 30;

/// From this size on, gigabytes are shown without decimals, in bytes.
const TENS: u64 = 10_000_000_000;

/// Something in the store that others can access.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenPath {
    /// The file or directory.
    pub path: PathBuf,
    /// Its mode.
    pub mode: u32,
}

/// Whether a directory is a store and contains nothing else. `TEAMKEEP_HOME` can name any directory, also the home
/// directory, where teamkeep must not change anything.
pub fn is_record(store: &Path) -> bool {
    let Ok(inside) = std::fs::read_dir(store) else { return false };
    inside.flatten().all(|entry| {
        let name = entry.file_name();
        let part =
            name.to_str().is_some_and(|name| PARTS.contains(&name) || name.starts_with(".trust.json."));
        part || entry.file_type().is_ok_and(|kind| kind.is_symlink())
    })
}

/// The store's directory and its direct entries that belong to this user and that others can access. Everything below
/// a private directory is private.
pub fn open_to_others(store: &Path) -> Vec<OpenPath> {
    let Ok(root) = store.canonicalize() else { return Vec::new() };
    let own = rustix::process::geteuid().as_raw();
    let parts = PARTS.iter().map(|part| root.join(part));
    std::iter::once(root.clone())
        .chain(parts)
        .filter_map(|path| {
            let metadata = path.symlink_metadata().ok()?;
            let mode = metadata.permissions().mode() & 0o777;
            let real = metadata.is_dir() || metadata.is_file();
            (real && metadata.uid() == own && mode & 0o077 != 0).then_some(OpenPath { path, mode })
        })
        .collect()
}

/// Checks who can access it.
pub fn private(facts: &Facts<'_>) -> Finding {
    let (code, store) = (Code::StorePrivate, &facts.paths.store);
    let shown = store.display();
    let metadata = match store.metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Finding::ok(code, format!("no store yet; {shown} will be private"));
        }
        Err(error) => return Finding::unknown(code, format!("cannot read {shown}: {error}")),
    };
    if let Some(finding) = foreign(store, &metadata) {
        return finding;
    }
    let open = open_to_others(store);
    let Some(first) = open.first() else {
        return Finding::ok(code, format!("{shown} is private"));
    };
    let mend = match is_record(store) {
        true => format!("{} doctor --fix", facts.call),
        false => "set TEAMKEEP_HOME to a directory that only teamkeep uses".to_owned(),
    };
    let only_names = open.len() == 1 && store.canonicalize().is_ok_and(|root| root == first.path);
    if only_names && first.mode & 0o022 == 0 {
        let what = format!("other users can list {shown} (mode {:o}), but read nothing in it", first.mode);
        return Finding::warn(code, what).with_fix(mend);
    }
    let paths: Vec<String> =
        open.iter().map(|open| format!("{} (mode {:o})", open.path.display(), open.mode)).collect();
    Finding::bad(code, format!("other users can access the store: {}", paths.join(", "))).with_fix(mend)
}

fn foreign(store: &Path, metadata: &Metadata) -> Option<Finding> {
    let own = rustix::process::geteuid().as_raw();
    let shown = store.display();
    if !metadata.is_dir() {
        let what = format!("{shown} is not a directory");
        return Some(Finding::bad(Code::StorePrivate, what).with_fix("move it away, or set TEAMKEEP_HOME"));
    }
    (metadata.uid() != own).then(|| {
        let what = format!("{shown} belongs to another user ({})", metadata.uid());
        let mend = format!("chown -R {own} {}  # as that user or root", quoted(&store.to_string_lossy()));
        Finding::bad(Code::StorePrivate, what).with_fix(mend)
    })
}

/// The directory, or the nearest existing one above it.
fn nearest(store: &Path) -> &Path {
    store.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"))
}

/// Checks that it is writable, without writing.
pub fn writable(facts: &Facts<'_>) -> Finding {
    let (code, store) = (Code::StoreWritable, &facts.paths.store);
    if store.metadata().is_ok_and(|metadata| foreign(store, &metadata).is_some()) {
        return Finding::unknown(code, "not checked, because store-private failed");
    }
    let near = nearest(store);
    if let Err(error) = access(near, Access::WRITE_OK | Access::EXEC_OK) {
        let what = format!("cannot write in {}: {}", near.display(), std::io::Error::from(error));
        let mend = format!("chmod u+rwx {}  # or set TEAMKEEP_HOME", quoted(&near.to_string_lossy()));
        return Finding::bad(code, what).with_fix(mend);
    }
    if let Some(part) = misplaced(store) {
        let shown = quoted(&part.to_string_lossy());
        let what = format!("{} is not a directory: nothing can be recorded in it", part.display());
        return Finding::bad(code, what).with_fix(format!("mv -n {shown} {shown}.aside"));
    }
    let parts = ["log", "archive", "sessions", "policy"].map(|part| store.join(part));
    let shut = parts.iter().filter(|part| part.exists()).find_map(|part| {
        let error = access(part, Access::WRITE_OK | Access::EXEC_OK).err()?;
        Some((part, std::io::Error::from(error)))
    });
    match shut {
        Some((part, error)) => {
            let what = format!("cannot write in {}: {error}", part.display());
            Finding::bad(code, what).with_fix(format!("chmod u+rwx {}", quoted(&part.to_string_lossy())))
        }
        None if facts.paths.warning.is_some() => {
            let what = format!("HOME is not set; data is stored in {}", store.display());
            Finding::warn(code, what).with_fix("set HOME or TEAMKEEP_HOME")
        }
        None if near == store => Finding::ok(code, format!("{} is writable", store.display())),
        None => Finding::ok(code, format!("{} can be created", store.display())),
    }
}

/// A directory of the store that is not a directory.
fn misplaced(store: &Path) -> Option<PathBuf> {
    let dirs = PARTS.iter().filter(|part| !part.contains('.')).map(|part| store.join(part));
    // A link to a directory is the user's choice, except for the policy: its counts must be in this store. A dangling link
    // is not a directory.
    let linked = |dir: &Path| dir.is_symlink() && dir.ends_with("policy");
    dirs.into_iter().find(|dir| dir.symlink_metadata().is_ok() && (!dir.is_dir() || linked(dir)))
}

/// Checks the free space.
pub fn free_space(facts: &Facts<'_>) -> Finding {
    let near = nearest(&facts.paths.store);
    match statvfs(near) {
        Ok(room) => weigh(room.f_bavail.saturating_mul(room.f_frsize), near),
        Err(error) => {
            let what = format!("cannot determine the free space at {}: {error}", near.display());
            Finding::unknown(Code::StoreRoom, what)
        }
    }
}

fn weigh(free: u64, near: &Path) -> Finding {
    let code = Code::StoreRoom;
    let decimals = usize::from(free < TENS);
    let what = format!("{:.decimals$} GB free at {}", free as f64 / 1e9, near.display());
    match free {
        0..MIN_FREE_BYTES => Finding::bad(code, what).with_fix("free disk space: nothing can be recorded"),
        MIN_FREE_BYTES..LOW_FREE_BYTES => {
            Finding::warn(code, what).with_fix("free disk space, or set TEAMKEEP_HOME to a larger disk")
        }
        _ => Finding::ok(code, what),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;

    #[test]
    fn room_is_enough_scarce_or_none() {
        let verdict = |free| weigh(free, Path::new("/")).verdict;
        assert_eq!(verdict(2 << 30), Verdict::Ok);
        assert_eq!(verdict(LOW_FREE_BYTES - 1), Verdict::Warn);
        assert_eq!(verdict(MIN_FREE_BYTES - 1), Verdict::Bad);
    }
}
