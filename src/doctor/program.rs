//! The programs that the hooks name.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::code::Code;
use super::facts::Facts;
use super::finding::Finding;
use super::plugin;
use crate::env::Env;
use crate::settings::command::{is_executable, is_same, on_search_path, own_path, quoted};
use crate::settings::layer::{Kind, Ours};

/// So many programs are looked at: nobody has more of ours.
const MOST: usize = 64;

/// A program that hooks name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// As the settings name it, or which plugin runs it.
    pub word: String,
    /// Where that leads, if it can be told without a shell.
    pub path: Option<PathBuf>,
    /// Whether it may be run here: what a repository's file names is run by nobody who did not ask for it.
    pub is_trusted: bool,
}

/// The programs that the hooks name, each once.
pub fn named(facts: &Facts<'_>) -> Vec<Named> {
    let known = [std::env::current_exe().ok(), on_search_path(facts.env)];
    let mut all: Vec<Named> = Vec::new();
    for ours in facts.ours() {
        let Some(word) = ours.words().into_iter().next() else { continue };
        let by_owner = matches!(ours.layer.kind, Kind::User | Kind::Managed);
        if let Some(other) = all.iter_mut().find(|other| other.word == word) {
            other.is_trusted |= by_owner;
        } else if all.len() < MOST {
            let path = resolve(&ours, &word, facts.env);
            let is_known = |path: &PathBuf| known.iter().flatten().any(|known| is_same(known, path));
            let is_trusted = by_owner || path.as_ref().is_some_and(is_known);
            all.push(Named { word, path, is_trusted });
        }
    }
    // Beside hooks in the settings those of a plugin do nothing.
    if all.is_empty() {
        all.extend(plugin::named(facts));
    }
    all
}

/// Where a word leads: on the search path, from the root, or from the home that a shell would put in.
fn resolve(ours: &Ours<'_>, word: &str, env: &Env) -> Option<PathBuf> {
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

/// Looks whether each is there.
pub fn check(facts: &Facts<'_>, named: &[Named]) -> Vec<Finding> {
    let by_plugin = is_by_plugin(facts);
    let of = |one: &Named| match &one.path {
        None if by_plugin => {
            let what = format!(
                "{} finds no program, and records nothing: there is none in its bin, on the search path or in ~/.local/bin",
                one.word
            );
            Finding::bad(Code::HookCommand, what).mend(plugin::build(facts))
        }
        Some(path) if by_plugin => {
            Finding::ok(Code::HookCommand, format!("{} runs {}", one.word, path.display()))
        }
        _ if one.word == "teamkeep" && one.path.is_none() => {
            let what = "the hooks run `teamkeep`, which is not on the search path: they fail";
            Finding::bad(Code::HookCommand, what).mend(facts.install())
        }
        None => {
            let what = format!("where {} leads cannot be told without a shell", one.word);
            Finding::unknown(Code::HookCommand, what).mend(facts.install())
        }
        Some(path) if !path.exists() => {
            let what = format!("the hooks run {}, which is not there: they fail", path.display());
            Finding::bad(Code::HookCommand, what).mend(facts.install())
        }
        Some(path) if !is_executable(path) => {
            let what = format!("the hooks run {}, which cannot be run: they fail", path.display());
            Finding::bad(Code::HookCommand, what).mend(facts.install())
        }
        Some(path) => Finding::ok(Code::HookCommand, format!("the hooks run {}", path.display())),
    };
    if named.is_empty() {
        return vec![Finding::unknown(Code::HookCommand, "there are no hooks to look at")];
    }
    named.iter().map(of).collect()
}

/// Whether the hooks that run are a plugin's alone.
pub fn is_by_plugin(facts: &Facts<'_>) -> bool {
    facts.ours().is_empty() && !facts.plugins.is_empty()
}

/// Looks whether a person finds it.
pub fn search_path(facts: &Facts<'_>) -> Finding {
    match on_search_path(facts.env) {
        Some(path) => Finding::ok(Code::SearchPath, format!("`teamkeep` is {}", path.display())),
        None => {
            let mut finding = Finding::warn(Code::SearchPath, "there is no `teamkeep` on the search path");
            if let Some(dir) = own_path(facts.env).as_deref().and_then(Path::parent) {
                let dir = quoted(&dir.to_string_lossy());
                finding =
                    finding.mend(format!("export PATH={dir}:$PATH  # for good: in your shell's profile"));
            }
            finding
        }
    }
}
