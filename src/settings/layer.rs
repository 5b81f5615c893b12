//! Claude Code's settings files, and teamkeep's hooks in each.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::env::Env;
use crate::paths::Paths;
use crate::settings::command::is_same;
use crate::settings::entries::Entry;
use crate::settings::error::{SettingsError, read_strict};
use crate::settings::file::SettingsFile;
use crate::settings::hook_command;
use crate::settings::installed_hooks;
use crate::settings::scope::{Scope, settings_of};

/// The file with managed settings.
pub const MANAGED: &str = if cfg!(target_os = "macos") {
    "/Library/Application Support/ClaudeCode/managed-settings.json"
} else {
    "/etc/claude-code/managed-settings.json"
};

/// The kind of a settings file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Managed by an administrator.
    Managed,
    /// The user's in this project.
    Local,
    /// Shared in this project.
    Project,
    /// The user's.
    User,
}

/// A settings file.
#[derive(Debug, Clone)]
pub struct SettingsLayer {
    /// Its kind.
    pub kind: Kind,
    /// The file.
    pub path: PathBuf,
    /// Its content.
    pub state: State,
}

/// The state of a settings file.
#[derive(Debug, Clone)]
pub enum State {
    /// It does not exist.
    Missing,
    /// It cannot be read, for this reason.
    Unreadable(String),
    /// Claude Code ignores it, because of this flaw.
    Skipped(SettingsError),
    /// The settings.
    Read(Value),
}

/// Maximum number of hooks to check in one file.
const MAX_ENTRIES: usize = 500;

/// One hook that calls teamkeep.
#[derive(Debug, Clone)]
pub struct InstalledHook<'a> {
    /// Its file.
    pub layer: &'a SettingsLayer,
    /// The event and the matcher group with only this command.
    pub entry: Entry,
}

impl InstalledHook<'_> {
    /// The command.
    pub fn hook(&self) -> &Value {
        self.entry.group.pointer("/hooks/0").unwrap_or(&Value::Null)
    }

    /// The program and its arguments.
    pub fn words(&self) -> Vec<String> {
        hook_command::of(self.hook()).unwrap_or_default()
    }

    /// Whether it is as `install` writes it. Otherwise it is the user's own command.
    pub fn is_written(&self) -> bool {
        hook_command::is_ours(self.hook())
    }
}

impl SettingsLayer {
    /// Reads a file.
    pub fn read(kind: Kind, path: &Path) -> SettingsLayer {
        let state = match SettingsFile::read(path) {
            Err(error) => State::Unreadable(error.to_string()),
            Ok(SettingsFile { content: None, .. }) => State::Missing,
            Ok(file) => State::of(file.bytes()),
        };
        SettingsLayer { kind, path: path.to_path_buf(), state }
    }

    /// The settings, if Claude Code can read them.
    pub fn value(&self) -> Option<&Value> {
        match &self.state {
            State::Read(value) => Some(value),
            State::Missing | State::Unreadable(_) | State::Skipped(_) => None,
        }
    }

    /// Whether it sets this key to true.
    pub fn has(&self, key: &str) -> bool {
        self.value().and_then(|value| value.get(key)) == Some(&Value::Bool(true))
    }

    /// Whether it exists, but Claude Code ignores it.
    pub fn is_lost(&self) -> bool {
        matches!(self.state, State::Unreadable(_) | State::Skipped(_))
    }

    /// The hooks in it that call teamkeep in any way.
    pub fn ours(&self) -> Vec<InstalledHook<'_>> {
        let entries = self.value().map(installed_hooks::calls).unwrap_or_default();
        entries.into_iter().take(MAX_ENTRIES).map(|entry| InstalledHook { layer: self, entry }).collect()
    }

    /// The command line of `install` or `uninstall` for this file, if teamkeep may change it; `call` is how the user
    /// calls this program.
    pub fn command(&self, call: &str, verb: &str) -> Option<String> {
        match self.kind {
            Kind::Managed => None,
            Kind::User => Some(format!("{call} {verb}")),
            Kind::Project => Some(format!("{call} {verb} --scope project")),
            Kind::Local => Some(format!("{call} {verb} --scope local")),
        }
    }

    /// The command line that installs into this file, if teamkeep may change it; `call` is how the user calls this
    /// program to install.
    pub fn install(&self, call: &str) -> Option<String> {
        self.command(call, "install")
    }
}

impl State {
    /// The state for a content.
    pub fn of(content: &[u8]) -> State {
        match read_strict(content) {
            Ok(value) => State::Read(value),
            Err(error) => State::Skipped(error),
        }
    }
}

/// Every possible settings file, highest precedence first. A project in the home directory has no file of its own.
pub fn layers(env: &Env, paths: &Paths) -> Vec<SettingsLayer> {
    let mut layers = vec![SettingsLayer::read(Kind::Managed, Path::new(MANAGED))];
    let user = settings_of(Scope::User, env, paths).ok();
    let scopes = [(Kind::Local, Scope::Local), (Kind::Project, Scope::Project)];
    for (kind, scope) in scopes {
        if let Ok(path) = settings_of(scope, env, paths)
            && !user.as_ref().is_some_and(|user| *user == path || is_same(user, &path))
        {
            layers.push(SettingsLayer::read(kind, &path));
        }
    }
    layers.extend(user.map(|user| SettingsLayer::read(Kind::User, &user)));
    layers
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
