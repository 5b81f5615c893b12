//! Checks the programs that the hooks name.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::code::Code;
use super::facts::Facts;
use super::finding::Finding;
use super::plugin;
use crate::env::Env;
use crate::settings::command::{is_executable, is_same, on_search_path, own_path, quoted};
use crate::settings::layer::{InstalledHook, Kind};

/// Maximum number of programs to check.
const MAX_ARGUMENTS: usize = 64;

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
        let Some(word) = ours.words().into_iter().next() else { continue };
        let by_owner = matches!(ours.layer.kind, Kind::User | Kind::Managed);
        if let Some(other) = all.iter_mut().find(|other| other.word == word) {
            other.is_trusted |= by_owner;
        } else if all.len() < MAX_ARGUMENTS {
            let path = resolve(&ours, &word, facts.env);
            let is_known = |path: &PathBuf| known.iter().flatten().any(|known| is_same(known, path));
            let is_trusted = by_owner || path.as_ref().is_some_and(is_known);
            let is_path = |other: &&mut NamedProgram| match (&other.path, &path) {
                (Some(other), Some(path)) => is_same(other, path),
                _ => false,
            };
            match all.iter_mut().find(is_path) {
                Some(other) => other.is_trusted |= is_trusted,
                None => all.push(NamedProgram { word, path, is_trusted }),
            }
        }
    }
    // A plugin's hooks do nothing beside hooks in the settings.
    if all.is_empty() {
        all.extend(plugin::named(facts));
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
    let by_shell = ours.hook().get("args").and_then(Value::as_array).is_none_or(Vec::is_empty);
    let home = ["~/", "$HOME/", "${HOME}/"].iter().find_map(|home| word.strip_prefix(home));
    home.filter(|_| by_shell).and_then(|rest| Some(env.home.as_ref()?.join(rest)))
}

/// Checks that each program exists.
pub fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let (named, by_plugin) = (named(facts), is_by_plugin(facts));
    let of = |one: &NamedProgram| match &one.path {
        None if by_plugin => {
            let what = format!(
                "{} finds no teamkeep program and records nothing (searched: its bin directory, PATH, ~/.local/bin)",
                one.word
            );
            Finding::bad(Code::HookCommand, what).with_fix(plugin::build(facts))
        }
        Some(path) if by_plugin => {
            Finding::ok(Code::HookCommand, format!("{} runs {}", one.word, path.display()))
        }
        _ if one.word == "teamkeep" && one.path.is_none() => {
            let what = "hooks fail: they run `teamkeep`, which is not in PATH";
            Finding::bad(Code::HookCommand, what).with_fix(facts.install())
        }
        None => {
            let what = format!("cannot resolve {} without a shell", one.word);
            Finding::unknown(Code::HookCommand, what).with_fix(facts.install())
        }
        Some(path) if !path.exists() => {
            let what = format!("hooks fail: {} does not exist", path.display());
            Finding::bad(Code::HookCommand, what).with_fix(facts.install())
        }
        Some(path) if !is_executable(path) => {
            let what = format!("hooks fail: {} is not executable", path.display());
            Finding::bad(Code::HookCommand, what).with_fix(facts.install())
        }
        Some(path) => Finding::ok(Code::HookCommand, format!("the hooks run {}", path.display())),
    };
    if named.is_empty() {
        return vec![Finding::unknown(Code::HookCommand, "no hooks to check")];
    }
    named.iter().map(of).collect()
}

/// Whether only a plugin's hooks run.
pub fn is_by_plugin(facts: &Facts<'_>) -> bool {
    facts.ours().is_empty() && !facts.plugins.is_empty()
}

/// Checks that the program is on the search path.
pub fn search_path(facts: &Facts<'_>) -> Finding {
    match on_search_path(facts.env) {
        Some(path) => Finding::ok(Code::SearchPath, format!("`teamkeep` is {}", path.display())),
        None => {
            let mut finding = Finding::warn(Code::SearchPath, "`teamkeep` is not in PATH");
            if let Some(dir) = own_path(facts.env).as_deref().and_then(Path::parent) {
                let dir = quoted(&dir.to_string_lossy());
                finding = finding.with_fix(format!(
                    "export PATH={dir}:$PATH  # to keep it, add this line to your shell profile"
                ));
            }
            finding
        }
    }
}
