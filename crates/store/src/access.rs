//! Why the store cannot be used, and how to fix it. Nothing is written to find out.

use std::io;
use std::path::{Path, PathBuf};

use teamkeep_system::command::quoted;
use teamkeep_system::env::Env;
use teamkeep_system::error::Error;
use teamkeep_system::fs;
use teamkeep_system::os;
use teamkeep_system::paths::{PARTS, Paths};

/// The parts that hook calls write to.
const WRITTEN: [&str; 6] = ["runs", "teams", "sessions", "locks", "marks", "cache"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obstacle {
    pub what: String,
    /// A command, or what to set.
    pub fix: String,
}

impl From<Obstacle> for Error {
    fn from(obstacle: Obstacle) -> Error {
        Error::new(obstacle.what).hint(obstacle.fix)
    }
}

/// The first reason why nothing can be recorded in the store.
pub fn obstacle(paths: &Paths, env: &Env) -> Option<Obstacle> {
    let store = &paths.store;
    let near = store.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
    not_a_directory(paths, env).or_else(|| shut(near)).or_else(|| misplaced(store)).or_else(|| {
        let mut parts = WRITTEN.iter().map(|part| store.join(part)).filter(|part| part.exists());
        parts.find_map(|part| shut(&part))
    })
}

/// The store itself is not a directory, or a link to one that is gone.
pub fn not_a_directory(paths: &Paths, env: &Env) -> Option<Obstacle> {
    let store = &plain(&paths.store);
    if let Some(link) = store.ancestors().find(|path| fs::is_broken_link(path)) {
        let target = link.read_link().unwrap_or_default();
        let what = format!("{} is a link to {}, which does not exist", link.display(), target.display());
        return Some(Obstacle {
            what,
            fix: format!("mount or create {}, or remove the link", target.display()),
        });
    }
    let is_file = |path: &Path| path.metadata().is_ok_and(|metadata| !metadata.is_dir());
    let file = store.ancestors().find(|path| is_file(path))?;
    let what = match file == store {
        true => format!("the store {} is not a directory", store.display()),
        false => format!("the store {} cannot exist: {} is not a directory", store.display(), file.display()),
    };
    let fix = match is_chosen(paths, env) {
        true => format!("set TEAMKEEP_HOME, which names {}, to a directory, or unset it", store.display()),
        false => "move it away, or set TEAMKEEP_HOME".to_owned(),
    };
    Some(Obstacle { what, fix })
}

/// The store is not where the organization expects it.
pub fn unexpected(paths: &Paths, env: &Env, expected: &Path) -> Option<Obstacle> {
    let store = &paths.store;
    if fs::is_same_path(store, expected) {
        return None;
    }
    let what = format!(
        "teamkeep records to {}, and the organization expects {}",
        plain(store).display(),
        plain(expected).display()
    );
    let variable = if is_chosen(paths, env) { "TEAMKEEP_HOME" } else { "XDG_DATA_HOME" };
    Some(Obstacle { what, fix: format!("unset {variable}") })
}

/// Describes a store that does not exist.
pub fn missing(paths: &Paths, env: &Env) -> Option<String> {
    let is_missing = matches!(paths.store.metadata(), Err(error) if error.kind() == io::ErrorKind::NotFound);
    let by = if is_chosen(paths, env) { ", which TEAMKEEP_HOME names," } else { "" };
    is_missing.then(|| format!("the store {}{by} does not exist", plain(&paths.store).display()))
}

/// The usual store, if there is one beside the store that `TEAMKEEP_HOME` names.
pub fn usual_beside(paths: &Paths, env: &Env) -> Option<PathBuf> {
    let usual = Paths::find(&Env { store: None, ..env.clone() }).store;
    (is_chosen(paths, env) && usual.is_dir() && !fs::is_same_path(&usual, &paths.store)).then_some(usual)
}

/// The path without a slash at the end, with which a file cannot be opened.
fn plain(store: &Path) -> PathBuf {
    store.components().collect()
}

/// Whether the user chose the place of the store.
fn is_chosen(paths: &Paths, env: &Env) -> bool {
    env.store.as_ref() == Some(&paths.store)
}

/// A directory to which this user cannot write.
fn shut(dir: &Path) -> Option<Obstacle> {
    let error = os::access::check_usable(dir).err()?;
    let what = format!("cannot write in {}: {error}", dir.display());
    let is_own = dir.metadata().is_ok_and(|metadata| os::access::other_owner(&metadata).is_none());
    let fix = match is_own && error.kind() != io::ErrorKind::ReadOnlyFilesystem {
        true => format!("chmod u+rwx {}", quoted(&dir.to_string_lossy())),
        false => "set TEAMKEEP_HOME to a directory that you can write to".to_owned(),
    };
    Some(Obstacle { what, fix })
}

/// A directory of the store that is not a directory.
fn misplaced(store: &Path) -> Option<Obstacle> {
    let mut dirs = PARTS.iter().filter(|part| !part.contains('.')).map(|part| store.join(part));
    // A link to a directory is the user's choice. A dangling link is not a directory.
    let part: PathBuf = dirs.find(|dir| dir.symlink_metadata().is_ok() && !dir.is_dir())?;
    let shown = quoted(&part.to_string_lossy());
    let what = format!("{} is not a directory: nothing can be recorded in it", part.display());
    Some(Obstacle { what, fix: format!("mv -n {shown} {shown}.aside") })
}
