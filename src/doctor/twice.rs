//! Whether an event runs more than one hook of ours.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::code::Code;
use super::facts::Facts;
use super::finding::Finding;
use crate::settings::beside;
use crate::settings::command::quoted;
use crate::settings::layer::{Kind, Ours};

/// So many of them are named.
const TOLD: usize = 5;

/// Looks for events that run two different hooks. The same one in several files the client runs once.
pub fn check(facts: &Facts<'_>) -> Finding {
    let ours = facts.ours();
    let mut handlers: BTreeMap<&str, BTreeSet<Vec<String>>> = BTreeMap::new();
    for ours in &ours {
        handlers.entry(&ours.entry.event).or_default().insert(handler(ours));
    }
    let twice: Vec<_> = handlers.iter().filter(|(_, handlers)| handlers.len() > 1).collect();
    if let Some((event, commands)) = twice.first() {
        let programs: Vec<&str> =
            commands.iter().filter_map(|words| words.first()).map(String::as_str).take(TOLD).collect();
        let others = match twice.len() {
            1 => String::new(),
            more => format!(" and {} more", more - 1),
        };
        let files: Vec<String> = facts
            .layers
            .iter()
            .filter(|layer| layer.ours().iter().any(|ours| ours.entry.event == ***event))
            .map(|layer| layer.path.display().to_string())
            .collect();
        let what = format!(
            "{event}{others} runs different hooks of ours: {} (in {})",
            programs.join(", "),
            files.join(", ")
        );
        let own = ours.iter().find(|ours| ours.entry.event == ***event && !ours.is_written());
        // In one file an install replaces all of ours; of several files one must do. A line of the user's own is his.
        let mend = match (own, files.len()) {
            (Some(own), _) => edit(own),
            (None, 1) => facts.install(),
            (None, _) => uninstall(facts),
        };
        return Finding::bad(Code::HooksTwice, what).mend(mend);
    }
    if let (Some(plugin), false) = (facts.plugins.first(), ours.is_empty()) {
        if let Some(other) = ours.iter().find(|ours| !is_left_to(facts, ours)) {
            let (event, path) = (&other.entry.event, other.layer.path.display());
            let why = match beside::remembered(&other.layer.path, facts.paths) {
                Some(_) => "changed since this user installed it",
                None => "this user did not install",
            };
            let what = format!("the plugin {plugin} records {event} beside the hook in {path}, which {why}");
            let mend = match other.is_written() {
                true => other.layer.install(&facts.installer).unwrap_or_default(),
                false => edit(other),
            };
            return Finding::warn(Code::HooksTwice, what).mend(mend);
        }
        let what = format!("the plugin {plugin} leaves to the settings' hooks what they record");
        return Finding::ok(Code::HooksTwice, what);
    }
    Finding::ok(Code::HooksTwice, "no event runs two hooks of ours")
}

/// Whether the plugin leaves its events to this hook: one of the user's own settings, or one that he
/// installed, as it was left then.
fn is_left_to(facts: &Facts<'_>, ours: &Ours<'_>) -> bool {
    let installed = || beside::installed(&ours.layer.path, facts.paths).is_some();
    ours.is_written() && (matches!(ours.layer.kind, Kind::User | Kind::Managed) || installed())
}

/// What tells a hook from another: the words of our call, or the whole of a line of the user's own.
fn handler(ours: &Ours<'_>) -> Vec<String> {
    match ours.hook().get("command").and_then(Value::as_str).filter(|_| !ours.is_written()) {
        Some(line) => vec![format!("`{}`", line.chars().take(80).collect::<String>())],
        None => ours.words(),
    }
}

/// What a person does about a line of the user's own.
fn edit(ours: &Ours<'_>) -> String {
    let path = quoted(&ours.layer.path.to_string_lossy());
    format!("${{EDITOR:-vi}} {path}  # take our call out of that line of yours")
}

/// The command that takes ours out of the weaker file.
fn uninstall(facts: &Facts<'_>) -> String {
    let last = facts.layers.iter().rev().find(|layer| !layer.ours().is_empty());
    last.and_then(|layer| layer.command(&facts.call, "uninstall"))
        .unwrap_or_else(|| format!("{} uninstall", facts.call))
}
