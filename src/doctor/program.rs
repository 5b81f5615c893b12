//! Checks the programs that the hooks name, and the one that the plugin's hooks run.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Facts;
use super::finding::{Diagnosis, bad, ok, unknown, warn};
use teamkeep_core::client::settings::command::{is_executable, is_same, on_search_path, own_path, quoted};
use teamkeep_core::client::settings::layer::{InstalledHook, Kind, MAX_BYTES};
use teamkeep_core::sys::env::Env;
use teamkeep_core::sys::fs::read_regular;

/// Maximum number of programs to check.
const MAX_PROGRAMS: usize = 64;

/// A program that hooks name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedProgram {
    /// As the settings name it, or the plugin that runs it.
    pub word: String,
    /// Its path, if it can be found without a shell.
    pub path: Option<PathBuf>,
    /// Whether it may be run here. A program named in a repository's file is not run.
    pub is_trusted: bool,
}

/// The programs that the hooks name, each once, even if two hooks spell its path differently.
pub fn named(facts: &Facts<'_>) -> Vec<NamedProgram> {
    let known = [std::env::current_exe().ok(), on_search_path(facts.env)];
    let mut all: Vec<NamedProgram> = Vec::new();
    for ours in facts.ours() {
        let Some(word) = ours.entry.words().into_iter().next() else { continue };
        let by_owner = matches!(ours.layer.kind, Kind::User | Kind::Managed);
        if let Some(other) = all.iter_mut().find(|other| other.word == word) {
            other.is_trusted |= by_owner;
        } else if all.len() < MAX_PROGRAMS {
            let path = resolve(&ours, &word, facts.env);
            let is_path = |other: &PathBuf| path.as_ref().is_some_and(|path| is_same(other, path));
            let is_trusted = by_owner || known.iter().flatten().any(is_path);
            match all.iter_mut().find(|other| other.path.as_ref().is_some_and(is_path)) {
                Some(other) => other.is_trusted |= is_trusted,
                None => all.push(NamedProgram { word, path, is_trusted }),
            }
        }
    }
    // A plugin's hooks do nothing beside hooks in the settings.
    if all.is_empty() {
        all.extend(named_by_plugin(facts));
    }
    all
}

/// The path for a word: on the search path, absolute, or relative to the home directory as a shell expands it.
fn resolve(ours: &InstalledHook<'_>, word: &str, env: &Env) -> Option<PathBuf> {
    if word == "teamkeep" {
        return on_search_path(env);
    }
    if Path::new(word).is_absolute() {
        return Some(PathBuf::from(word));
    }
    let by_shell = ours.entry.hook().get("args").and_then(Value::as_array).is_none_or(Vec::is_empty);
    let home = ["~/", "$HOME/", "${HOME}/"].iter().find_map(|home| word.strip_prefix(home));
    home.filter(|_| by_shell).and_then(|rest| Some(env.home.as_ref()?.join(rest)))
}

/// Checks that each program exists.
pub fn check(facts: &Facts<'_>) -> Vec<Diagnosis> {
    let (named, by_plugin) = (named(facts), is_by_plugin(facts));
    let check = |one: &NamedProgram| {
        let problem = match &one.path {
            None if by_plugin => {
                let what = format!(
                    "{} finds no teamkeep program and records nothing (searched: its bin directory, PATH, ~/.local/bin)",
                    one.word
                );
                return bad(what).with_fix(build_command(facts));
            }
            Some(path) if by_plugin => return ok(format!("{} runs {}", one.word, path.display())),
            None if one.word == "teamkeep" => bad("hooks fail: they run `teamkeep`, which is not in PATH"),
            None => unknown(format!("cannot resolve {} without a shell", one.word)),
            Some(path) if !path.exists() => bad(format!("hooks fail: {} does not exist", path.display())),
            Some(path) if !is_executable(path) => {
                bad(format!("hooks fail: {} is not executable", path.display()))
            }
            Some(path) => return ok(format!("the hooks run {}", path.display())),
        };
        problem.with_fix(facts.install())
    };
    if named.is_empty() { unknown("no hooks to check").into() } else { named.iter().map(check).collect() }
}

/// Whether only a plugin's hooks run.
pub fn is_by_plugin(facts: &Facts<'_>) -> bool {
    facts.ours().is_empty() && !facts.plugins.is_empty()
}

/// Checks that the program is on the search path.
pub fn search_path(facts: &Facts<'_>) -> Diagnosis {
    if let Some(path) = on_search_path(facts.env) {
        return ok(format!("`teamkeep` is {}", path.display()));
    }
    let diagnosis = warn("`teamkeep` is not in PATH");
    let Some(own) = own_path(facts.env) else { return diagnosis };
    let Some(dir) = own.parent().map(|dir| quoted(&dir.to_string_lossy())) else { return diagnosis };
    diagnosis.with_fix(format!("export PATH={dir}:$PATH  # to keep it, add this line to your shell profile"))
}

/// The program that the enabled plugin runs. It is searched as `bin/teamkeep-hook` does: beside that script, on the
/// search path, and where `install.sh` puts it.
fn named_by_plugin(facts: &Facts<'_>) -> Option<NamedProgram> {
    let plugin = facts.plugins.first()?;
    let local = facts.env.home.as_ref().map(|home| home.join(".local/bin/teamkeep"));
    let path = plugin_dirs(facts, plugin)
        .into_iter()
        .map(|dir| dir.join("bin/teamkeep"))
        .find(|path| is_executable(path))
        .or_else(|| on_search_path(facts.env))
        .or_else(|| local.clone().filter(|path| is_executable(path)));
    // A plugin may be read from a repository that the user only looks at.
    let known = [std::env::current_exe().ok(), on_search_path(facts.env), local];
    let cache = facts.paths.client.as_ref().map(|client| client.join("plugins/cache"));
    let is_trusted = path.as_ref().is_some_and(|path| {
        cache.is_some_and(|cache| path.starts_with(cache))
            || known.iter().flatten().any(|known| is_same(known, path))
    });
    Some(NamedProgram { word: format!("the plugin {plugin}"), path, is_trusted })
}

/// The command that builds the program and puts it where the plugin finds it.
pub fn build_command(facts: &Facts<'_>) -> String {
    let dirs = facts.plugins.first().map(|plugin| plugin_dirs(facts, plugin)).unwrap_or_default();
    let script = dirs.iter().map(|dir| dir.join("install.sh")).find(|script| script.is_file());
    match script {
        Some(script) => format!("{} --no-hooks", quoted(&script.to_string_lossy())),
        None => "./install.sh --no-hooks  # in a clone of the plugin's repository".to_owned(),
    }
}

/// The directories from which Claude Code may read a plugin (`name@marketplace`): its copy, or the marketplace.
fn plugin_dirs(facts: &Facts<'_>, plugin: &str) -> Vec<PathBuf> {
    let Some(client) = &facts.paths.client else { return Vec::new() };
    let read = |name: &str| -> Value {
        let read = read_regular(&client.join("plugins").join(name), MAX_BYTES);
        serde_json::from_slice(&read.map(|(bytes, _)| bytes).unwrap_or_default()).unwrap_or_default()
    };
    let path = |value: &Value, key: &str| {
        value.get(key).and_then(Value::as_str).map(PathBuf::from).filter(|path| path.is_absolute())
    };
    let installed = read("installed_plugins.json");
    let copies = installed.pointer("/plugins").and_then(|plugins| plugins.get(plugin));
    let copies = copies.and_then(Value::as_array).into_iter().flatten();
    let mut dirs: Vec<PathBuf> = copies.filter_map(|copy| path(copy, "installPath")).collect();
    let marketplace = plugin.split_once('@').map_or("", |(_, marketplace)| marketplace);
    let location = read("known_marketplaces.json")
        .get(marketplace)
        .and_then(|marketplace| path(marketplace, "installLocation"));
    dirs.extend(location.into_iter().flat_map(|location| [location.join("plugin"), location]));
    dirs
}
