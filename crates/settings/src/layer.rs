//! Claude Code's settings files, and teamkeep's hooks in each.

use crate::hook_command::{self, HookEntry};
use crate::program::is_same;
use serde_json::Value;
use std::io;
use std::path::{Path, PathBuf};
use teamkeep_system::env::Env;
use teamkeep_system::error::{Error, Result};
use teamkeep_system::fs;
use teamkeep_system::fs::MAX_SETTINGS_BYTES;
use teamkeep_system::os;
use teamkeep_system::paths::Paths;

/// Maximum number of hooks to check in one file.
const MAX_ENTRIES: usize = 500;

/// A settings file by the sessions that it applies to, in the terms of Claude Code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum SettingsScope {
    /// All your sessions: ~/.claude/settings.json
    #[default]
    User,
    /// All sessions in this project, for everyone: .claude/settings.json
    Project,
    /// Your sessions in this project: .claude/settings.local.json
    Local,
    /// All sessions of every user of this machine: Claude Code's managed settings. Only as root
    Managed,
}

impl SettingsScope {
    /// The option of `install` and `uninstall` that selects the file.
    pub fn option(self) -> &'static str {
        match self {
            SettingsScope::User => "",
            SettingsScope::Managed => " --scope managed",
            SettingsScope::Project => " --scope project",
            SettingsScope::Local => " --scope local",
        }
    }

    /// The absolute path of the file, whether it exists or not.
    ///
    /// # Errors
    /// Claude Code's directory or the current directory is unknown.
    pub fn path(self, env: &Env, paths: &Paths) -> Result<PathBuf> {
        let in_project = |name| {
            let project = env.project.as_deref().unwrap_or(Path::new("."));
            Ok(absolute(project)?.join(".claude").join(name))
        };
        match self {
            SettingsScope::Managed => Ok(base_file()),
            SettingsScope::User => match &paths.client {
                Some(client) => absolute(&client.join("settings.json")),
                None => Err(Error::new("cannot find Claude Code's settings: HOME is not set")
                    .hint("set the file: --settings PATH")),
            },
            SettingsScope::Project => in_project("settings.json"),
            SettingsScope::Local => in_project("settings.local.json"),
        }
    }
}

/// The absolute path.
///
/// # Errors
/// It is empty, or relative to a directory that no longer exists.
pub fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(|error| {
        Error::caused(format!("cannot resolve \"{}\" to an absolute path", path.display()), error)
    })
}

#[derive(Debug, Clone)]
pub struct SettingsLayer {
    pub kind: SettingsScope,
    pub path: PathBuf,
    pub state: State,
}

/// The state of a settings file.
#[derive(Debug, Clone)]
pub enum State {
    Missing,
    /// It cannot be read, for this reason.
    Unreadable(String),
    /// Claude Code ignores this content: it is not strict JSON, or `hooks` has the wrong structure.
    Invalid(Vec<u8>),
    Read(Value),
}

impl SettingsLayer {
    pub fn read(kind: SettingsScope, path: &Path) -> SettingsLayer {
        let content = resolve_links(path).and_then(|real| Ok(content(&real)?));
        let state = match content {
            Err(error) => State::Unreadable(error.to_string()),
            Ok(None) => State::Missing,
            Ok(Some(content)) => State::of(content),
        };
        SettingsLayer { kind, path: path.to_path_buf(), state }
    }

    /// The settings, if Claude Code can read them.
    pub fn value(&self) -> Option<&Value> {
        match &self.state {
            State::Read(value) => Some(value),
            State::Missing | State::Unreadable(_) | State::Invalid(_) => None,
        }
    }

    /// Whether it sets this key to true.
    pub fn has(&self, key: &str) -> bool {
        self.value().and_then(|value| value.get(key)) == Some(&Value::Bool(true))
    }

    /// Whether it exists, but Claude Code ignores it.
    pub fn is_lost(&self) -> bool {
        matches!(self.state, State::Unreadable(_) | State::Invalid(_))
    }

    /// The hooks in it that call teamkeep in any way.
    pub fn ours(&self) -> Vec<HookEntry> {
        let mut entries = self.value().map(hook_command::calls).unwrap_or_default();
        entries.truncate(MAX_ENTRIES);
        entries
    }

    /// The hooks in it that `install` wrote.
    pub fn written(&self) -> Vec<HookEntry> {
        let mut entries = self.ours();
        entries.retain(HookEntry::is_written);
        entries
    }

    /// The command line of `install` or `uninstall` for this file; `call` is how the user calls this program. Only root
    /// can change managed settings.
    pub fn command(&self, call: &str, verb: &str) -> String {
        let sudo = if self.kind == SettingsScope::Managed { os::shell::SUDO } else { "" };
        format!("{sudo}{call} {verb}{}", self.kind.option())
    }
}

impl State {
    pub fn of(content: Vec<u8>) -> State {
        let text = content.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&content);
        // An empty file has no settings.
        let text = if text.trim_ascii().is_empty() { b"{}" } else { text };
        let value = serde_json::from_slice::<Value>(text).ok().filter(|settings| {
            let is_table =
                |hooks: &Value| hooks.as_object().is_some_and(|events| events.values().all(Value::is_array));
            settings.is_object() && settings.get("hooks").is_none_or(is_table)
        });
        value.map_or(State::Invalid(content), State::Read)
    }
}

/// Every possible settings file, highest precedence first. A project in the home directory has no file of its own.
pub fn layers(env: &Env, paths: &Paths) -> Vec<SettingsLayer> {
    let managed = managed_files().into_iter().rev();
    let mut layers: Vec<SettingsLayer> =
        managed.map(|path| SettingsLayer::read(SettingsScope::Managed, &path)).collect();
    let user = SettingsScope::User.path(env, paths).ok();
    for kind in [SettingsScope::Local, SettingsScope::Project] {
        if let Ok(path) = kind.path(env, paths)
            && !user.as_ref().is_some_and(|user| *user == path || is_same(user, &path))
        {
            layers.push(SettingsLayer::read(kind, &path));
        }
    }
    layers.extend(user.map(|user| SettingsLayer::read(SettingsScope::User, &user)));
    layers
}

/// The file with the most hooks, of those that the user may change.
pub fn with_most_hooks(layers: &[SettingsLayer]) -> Option<&SettingsLayer> {
    let own = layers.iter().filter(|layer| layer.kind != SettingsScope::Managed && !layer.ours().is_empty());
    own.max_by_key(|layer| layer.ours().len())
}

/// The enabled teamkeep plugins: `teamkeep@<marketplace>`.
pub fn plugins(layers: &[SettingsLayer]) -> Vec<String> {
    let mut seen: Vec<(String, bool)> = Vec::new();
    for layer in layers {
        let enabled = layer.value().and_then(|value| value.get("enabledPlugins")).and_then(Value::as_object);
        for (name, on) in enabled.into_iter().flatten() {
            let ours = name.split('@').next() == Some("teamkeep");
            // The file with the highest precedence decides.
            if ours && !seen.iter().any(|(known, _)| known == name) {
                seen.push((name.clone(), *on == Value::Bool(true)));
            }
        }
    }
    seen.into_iter().filter(|(_, on)| *on).map(|(name, _)| name).collect()
}

/// The managed file because of which a switch is on, of layers with the highest precedence first.
pub fn managed_with_switch<'a>(layers: &'a [SettingsLayer], switch: &str) -> Option<&'a SettingsLayer> {
    let sets = |layer: &&SettingsLayer| layer.value().is_some_and(|value| value.get(switch).is_some());
    managed(layers).find(sets).filter(|layer| layer.has(switch))
}

/// The files whose hooks run: the managed ones, and the others unless a switch excludes them.
pub fn running(layers: &[SettingsLayer]) -> impl Iterator<Item = &SettingsLayer> {
    let is_only = managed_with_switch(layers, ONLY_MANAGED).is_some();
    layers.iter().filter(move |layer| !is_only || layer.kind == SettingsScope::Managed)
}

/// The managed file with teamkeep's hooks as `install` writes them, if any.
pub fn managed_with_hooks(layers: &[SettingsLayer]) -> Option<&SettingsLayer> {
    managed(layers).find(|layer| layer.ours().iter().any(|entry| entry.is_written()))
}

fn managed(layers: &[SettingsLayer]) -> impl Iterator<Item = &SettingsLayer> {
    layers.iter().filter(|layer| layer.kind == SettingsScope::Managed)
}

/// The content of a settings file; `None` if it does not exist.
pub fn content(real: &Path) -> io::Result<Option<Vec<u8>>> {
    Ok(fs::if_exists(fs::read_regular(real, MAX_SETTINGS_BYTES))?.map(|(bytes, _)| bytes))
}

/// The file of a path, with the links of its directory resolved as well, so that each file has one name.
pub fn resolve_links(path: &Path) -> Result<PathBuf> {
    if path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink()) {
        return fs::canonicalize(path).map_err(|error| {
            let what = format!("cannot follow the link {}", path.display());
            Error::caused(what, error).hint("nothing was changed; fix or remove the link")
        });
    }
    let directory = path.parent().and_then(|directory| fs::canonicalize(directory).ok());
    Ok(match (directory, path.file_name()) {
        (Some(directory), Some(name)) => directory.join(name),
        _ => path.to_path_buf(),
    })
}

// Claude Code's managed settings: the file and the drop-in files that an administrator writes for every user.
//
// Claude Code merges them into one: lists are joined, and of a value the last file decides. Seen with 2.1.83, 2.1.177 and
// 2.1.330.

/// The directory with managed settings. No environment variable names another one, here or in Claude Code.
const DIRECTORY: &str = os::MANAGED_SETTINGS;
/// teamkeep's own drop-in file.
const DROP_IN: &str = "50-teamkeep.json";
/// No other hooks run than those of managed settings.
pub const ONLY_MANAGED: &str = "allowManagedHooksOnly";
/// In managed settings, no hook runs; elsewhere, only those of managed settings run.
pub const DISABLED: &str = "disableAllHooks";

/// The file that every version of Claude Code reads.
pub fn base_file() -> PathBuf {
    Path::new(DIRECTORY).join("managed-settings.json")
}

/// The directory with the drop-in files.
pub fn drop_in_directory() -> PathBuf {
    Path::new(DIRECTORY).join("managed-settings.d")
}

/// teamkeep's own drop-in file.
pub fn drop_in_file() -> PathBuf {
    drop_in_directory().join(DROP_IN)
}

/// All files in the order in which they are merged. The first one need not exist.
pub fn managed_files() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(drop_in_directory())
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| is_drop_in(path))
        .collect();
    files.sort();
    files.insert(0, base_file());
    files
}

/// Whether Claude Code reads a file in the directory.
fn is_drop_in(path: &Path) -> bool {
    let is_hidden = path.file_name().is_none_or(|name| name.as_encoded_bytes().starts_with(b"."));
    !is_hidden && path.extension().is_some_and(|extension| extension == "json")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn layer(kind: SettingsScope, value: Value) -> SettingsLayer {
        SettingsLayer { kind, path: "/x.json".into(), state: State::Read(value) }
    }

    #[test]
    fn the_last_managed_file_with_a_switch_decides() {
        let only = |on: bool| layer(SettingsScope::Managed, json!({ONLY_MANAGED: on}));
        let user = || layer(SettingsScope::User, json!({ONLY_MANAGED: true}));
        let other = || layer(SettingsScope::Managed, json!({}));
        for (layers, running) in [
            (vec![other(), only(true), only(false), user()], 3),
            (vec![other(), only(false), only(true), user()], 4),
            (vec![other(), user()], 2),
        ] {
            assert_eq!(super::running(&layers).count(), running, "{layers:?}");
        }
    }

    #[test]
    fn hidden_files_and_other_endings_are_ignored() {
        for (name, is_read) in
            [("50-x.json", true), (".50-x.json", false), ("50-x.json.bak", false), ("x", false)]
        {
            assert_eq!(is_drop_in(&Path::new("/d").join(name)), is_read, "{name}");
        }
    }
}
