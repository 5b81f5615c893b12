//! The program that the plugin's hooks run.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::facts::Facts;
use super::program::NamedProgram;
use crate::fs::read_regular;
use crate::settings::command::{is_executable, is_same, on_search_path, quoted};

/// Maximum size of Claude Code's plugin files in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// The program that the enabled plugin runs. It is searched as `bin/teamkeep-hook` does: beside that script, on the
/// search path, and where `install.sh` puts it.
pub fn named(facts: &Facts<'_>) -> Option<NamedProgram> {
    let plugin = facts.plugins.first()?;
    let beside = || places(facts, plugin).into_iter().map(|place| place.join("bin/teamkeep"));
    let local = facts.env.home.as_ref().map(|home| home.join(".local/bin/teamkeep"));
    let path = beside()
        .find(|path| is_executable(path))
        .or_else(|| on_search_path(facts.env))
        .or_else(|| local.clone().filter(|path| is_executable(path)));
    // A plugin may be read from a repository that the user only looks at.
    let running = std::env::current_exe().ok();
    let known = [running, on_search_path(facts.env), local];
    let cache = facts.paths.client.as_ref().map(|client| client.join("plugins/cache"));
    let is_trusted = path.as_ref().is_some_and(|path| {
        cache.is_some_and(|cache| path.starts_with(cache))
            || known.iter().flatten().any(|known| is_same(known, path))
    });
    Some(NamedProgram { word: format!("the plugin {plugin}"), path, is_trusted })
}

/// The command that builds the program and puts it where the plugin finds it.
pub fn build(facts: &Facts<'_>) -> String {
    let places = facts.plugins.first().map(|plugin| places(facts, plugin)).unwrap_or_default();
    let script = places.iter().map(|place| place.join("install.sh")).find(|script| script.is_file());
    match script {
        Some(script) => format!("{} --no-hooks", quoted(&script.to_string_lossy())),
        None => "./install.sh --no-hooks  # in a clone of the plugin's repository".to_owned(),
    }
}

/// The directories from which Claude Code may read a plugin (`name@marketplace`): its copy, or the marketplace.
fn places(facts: &Facts<'_>, plugin: &str) -> Vec<PathBuf> {
    let Some(notes) = facts.paths.client.as_ref().map(|client| client.join("plugins")) else {
        return Vec::new();
    };
    let installed = note(&notes.join("installed_plugins.json"));
    let copies = installed.pointer("/plugins").and_then(|plugins| plugins.get(plugin));
    let copies = copies.and_then(Value::as_array).into_iter().flatten();
    let mut places: Vec<PathBuf> = copies.filter_map(|copy| path(copy, "installPath")).collect();
    let marketplace = plugin.split_once('@').map_or("", |(_, marketplace)| marketplace);
    if let Some(lies) = note(&notes.join("known_marketplaces.json"))
        .get(marketplace)
        .and_then(|marketplace| path(marketplace, "installLocation"))
    {
        places.extend([lies.join("plugin"), lies]);
    }
    places
}

fn path(note: &Value, key: &str) -> Option<PathBuf> {
    note.get(key).and_then(Value::as_str).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// The content of one of Claude Code's files; null if it cannot be read.
fn note(path: &Path) -> Value {
    let bytes = read_regular(path, MAX_BYTES).map(|(bytes, _)| bytes).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}
