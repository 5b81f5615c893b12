//! Checks teamkeep's hooks: where they are installed, whether they are those that `install` writes, and whether each is called
//! once.

use std::collections::{BTreeMap, BTreeSet};
use teamkeep_model::words::{FEW, and_more, count};

use serde_json::Value;

use super::{Diagnosis, Facts, InstalledHook, bad, hook_form, ok, unknown, warn};
use teamkeep_settings::layer::{ONLY_MANAGED, SettingsLayer, SettingsScope, managed_with_switch, running};
use teamkeep_settings::needs::Needs;
use teamkeep_settings::plan::{differing, install_command};
use teamkeep_settings::version::LAST_COMPARING_COMMANDS;
use teamkeep_system::command::quoted;

/// Checks where they are installed.
pub fn installed(facts: &Facts<'_>) -> Diagnosis {
    let in_file = |layer: &SettingsLayer| {
        let ours = layer.ours();
        // A command of the user's that calls teamkeep is not a hook that `install` counts.
        let written = ours.iter().filter(|entry| entry.is_written()).count();
        let counts = [(written, "hook"), (ours.len() - written, "custom hook")];
        let counts = counts.into_iter().filter(|(number, _)| *number > 0);
        let counts: Vec<String> = counts.map(|(number, thing)| count(number, thing)).collect();
        (!counts.is_empty()).then(|| format!("{} in {}", counts.join(" and "), layer.path.display()))
    };
    let is_ignored = |layer: &&SettingsLayer| hook_form::is_ignored(layer, facts.version());
    let counted = facts.layers.iter().filter(|layer| !is_ignored(layer));
    let mut places: Vec<String> = counted.filter_map(in_file).collect();
    places.extend(facts.plugins.iter().map(|plugin| format!("the plugin {plugin}")));
    if !places.is_empty() {
        return ok(places.join("; "));
    }
    // Hooks in a file that Claude Code cannot read or ignores do not run.
    if let Some(ignored) = facts.layers.iter().find(|layer| is_ignored(layer) && in_file(layer).is_some()) {
        let path = ignored.path.display();
        return unknown(format!("hooks in {path} do not count: Claude Code ignores the file"));
    }
    match facts.layers.iter().find(|layer| layer.kind == SettingsScope::User && layer.is_lost()) {
        Some(lost) => {
            let path = lost.path.display();
            unknown(format!("hooks in {path} do not count: Claude Code cannot read the file"))
        }
        None => bad("teamkeep's hooks are not installed").with_fix(facts.install()),
    }
}

/// Compares the hooks with those that `install` would write.
pub fn complete(facts: &Facts<'_>) -> Vec<Diagnosis> {
    let needs = Needs::of_user(&facts.files).0;
    let read = || running(&facts.layers).filter(|layer| !hook_form::is_ignored(layer, facts.version()));
    if read().all(|layer| layer.written().is_empty()) {
        return match facts.plugins.first() {
            None => unknown("no hooks to check").into(),
            Some(_) if needs == Needs::builtin() => ok("the plugin has its own hooks").into(),
            Some(plugin) => warn(format!("the policy needs hooks that the plugin {plugin} does not have"))
                .with_fix(facts.install())
                .into(),
        };
    }
    let differing = differing(read(), &facts.probe.answer, &needs).into_iter();
    let found: Vec<Diagnosis> = differing
        .map(|(layer, difference)| {
            let path = layer.path.display();
            warn(format!("the hooks in {path} are not those that `install` writes ({difference})"))
                .with_fix(install_command(facts.env, &facts.layers))
        })
        .collect();
    if !found.is_empty() {
        return found;
    }
    let version = facts.version().map_or(String::new(), |version| format!(" {version}"));
    ok(format!("the hooks are those that `install` writes for Claude Code{version} and the policy")).into()
}

/// Finds events that run two different hooks. Claude Code runs the same one in several files once; since some version after
/// 2.1.177, only if matcher and timeout are the same, too.
pub fn duplicates(facts: &Facts<'_>) -> Diagnosis {
    let ours = facts.ours();
    let mut handlers: BTreeMap<&str, BTreeSet<Vec<String>>> = BTreeMap::new();
    for ours in &ours {
        handlers.entry(&ours.entry.event).or_default().insert(handler(ours));
    }
    let mut twice = handlers.iter().filter(|(_, handlers)| handlers.len() > 1);
    if let Some((event, commands)) = twice.next() {
        let others = and_more(twice.count());
        let programs = commands.iter().filter_map(|words| words.first()).take(FEW);
        let programs = programs.cloned().collect::<Vec<_>>().join(", ");
        let at_event: Vec<_> = ours.iter().filter(|ours| ours.entry.event == *event).collect();
        let own = at_event.iter().find(|ours| !ours.entry.is_written());
        let mut files: Vec<String> =
            at_event.iter().map(|ours| ours.layer.path.display().to_string()).collect();
        files.dedup();
        // An install replaces all of teamkeep's hooks in one file. Of several files one must be chosen. The user's own
        // command stays.
        let fix = match (own, files.len()) {
            (Some(own), _) => edit(own),
            (None, 1) => facts.install(),
            (None, _) => uninstall(facts),
        };
        let files = files.join(", ");
        let what = format!("teamkeep is called twice at {event}{others}: {programs} (in {files})");
        return bad(what).with_fix(fix);
    }
    if let Some((event, files)) = differing_files(facts, &ours) {
        let what =
            format!("teamkeep is called twice at {event}: the hooks in {files} differ in matcher or timeout");
        return bad(what).with_fix(uninstall(facts));
    }
    let is_only_managed = managed_with_switch(&facts.layers, ONLY_MANAGED).is_some();
    let (Some(plugin), false) = (facts.plugins.first(), ours.is_empty() || is_only_managed) else {
        return ok("no event calls teamkeep twice");
    };
    ok(format!("the plugin {plugin} and the hooks in the settings both run, and record each event once"))
}

/// An event at which two files have different hooks with the same call, and both run.
fn differing_files<'a>(facts: &Facts<'_>, ours: &'a [InstalledHook<'_>]) -> Option<(&'a str, String)> {
    if facts.version().is_some_and(|version| version <= LAST_COMPARING_COMMANDS) {
        return None;
    }
    ours.iter().find_map(|one| {
        let is_other = |other: &&InstalledHook<'_>| {
            other.layer.path != one.layer.path && other.entry.event == one.entry.event
        };
        let mut others = ours.iter().filter(is_other).peekable();
        let other = others.peek()?.layer;
        let files = format!("{} and {}", one.layer.path.display(), other.path.display());
        let is_same = others.any(|other| other.entry.group == one.entry.group);
        if is_same { None } else { Some((one.entry.event.as_str(), files)) }
    })
}

/// The identity of a hook: the words of teamkeep's call, or the whole command of the user.
fn handler(ours: &InstalledHook<'_>) -> Vec<String> {
    match ours.entry.hook().get("command").and_then(Value::as_str).filter(|_| !ours.entry.is_written()) {
        Some(line) => vec![format!("`{}`", line.chars().take(80).collect::<String>())],
        None => ours.entry.words(),
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
    last.map_or_else(|| format!("{} uninstall", facts.call), |layer| layer.command(&facts.call, "uninstall"))
}
