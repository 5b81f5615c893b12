//! Checks that no event runs more than one hook of teamkeep.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::code::Code;
use super::facts::Facts;
use super::finding::Finding;
use crate::settings::command::quoted;
use crate::settings::layer::{InstalledHook, Kind};
use crate::settings::plugin_dedupe;

/// Maximum number of listed events.
const MAX_LISTED: usize = 5;

/// Finds events that run two different hooks. Claude Code runs the same one in several files once.
pub fn check(facts: &Facts<'_>) -> Finding {
    let ours = facts.ours();
    let mut handlers: BTreeMap<&str, BTreeSet<Vec<String>>> = BTreeMap::new();
    for ours in &ours {
        handlers.entry(&ours.entry.event).or_default().insert(handler(ours));
    }
    let twice: Vec<_> = handlers.iter().filter(|(_, handlers)| handlers.len() > 1).collect();
    if let Some((event, commands)) = twice.first() {
        let programs: Vec<&str> =
            commands.iter().filter_map(|words| words.first()).map(String::as_str).take(MAX_LISTED).collect();
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
            "teamkeep is called twice at {event}{others}: {} (in {})",
            programs.join(", "),
            files.join(", ")
        );
        let own = ours.iter().find(|ours| ours.entry.event == ***event && !ours.is_written());
        // An install replaces all of teamkeep's hooks in one file. Of several files one must be chosen. The user's own
        // command stays.
        let fix = match (own, files.len()) {
            (Some(own), _) => edit(own),
            (None, 1) => facts.install(),
            (None, _) => uninstall(facts),
        };
        return Finding::bad(Code::HooksTwice, what).with_fix(fix);
    }
    if let (Some(plugin), false) = (facts.plugins.first(), ours.is_empty()) {
        if let Some(other) = ours.iter().find(|ours| !is_left_to(facts, ours)) {
            let (event, path) = (&other.entry.event, other.layer.path.display());
            let why = match plugin_dedupe::saved_installs(&other.layer.path, facts.paths) {
                Some(_) => "the hook was changed since you installed it",
                None => "you did not install the hook",
            };
            let what = format!("the plugin {plugin} and the hook in {path} both record {event}; {why}");
            let fix = match other.is_written() {
                true => other.layer.install(&facts.installer).unwrap_or_default(),
                false => edit(other),
            };
            return Finding::warn(Code::HooksTwice, what).with_fix(fix);
        }
        let what = format!("the plugin {plugin} skips the events that the hooks in the settings record");
        return Finding::ok(Code::HooksTwice, what);
    }
    Finding::ok(Code::HooksTwice, "no event calls teamkeep twice")
}

/// Whether the plugin leaves its events to this hook: it is in the user's settings, or unchanged since this user
/// installed it.
fn is_left_to(facts: &Facts<'_>, ours: &InstalledHook<'_>) -> bool {
    let installed = || plugin_dedupe::installed(&ours.layer.path, facts.paths).is_some();
    ours.is_written() && (matches!(ours.layer.kind, Kind::User | Kind::Managed) || installed())
}

/// The identity of a hook: the words of teamkeep's call, or the whole command of the user.
fn handler(ours: &InstalledHook<'_>) -> Vec<String> {
    match ours.hook().get("command").and_then(Value::as_str).filter(|_| !ours.is_written()) {
        Some(line) => vec![format!("`{}`", line.chars().take(80).collect::<String>())],
        None => ours.words(),
    }
}

/// The instruction for a command of the user's.
fn edit(ours: &InstalledHook<'_>) -> String {
    let path = quoted(&ours.layer.path.to_string_lossy());
    format!("${{EDITOR:-vi}} {path}  # remove teamkeep from that command")
}

/// The command that removes the hooks from the file of lower precedence.
fn uninstall(facts: &Facts<'_>) -> String {
    let last = facts.layers.iter().rev().find(|layer| !layer.ours().is_empty());
    last.and_then(|layer| layer.command(&facts.call, "uninstall"))
        .unwrap_or_else(|| format!("{} uninstall", facts.call))
}
