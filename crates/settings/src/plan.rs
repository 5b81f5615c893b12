//! The change of a settings file: the hooks that it needs, its new text, which is checked before anything is written,
//! and its description for the user.

use crate::document::{parse, text_of};
use crate::edit;
use crate::hook_command::{self, HookEntry, ours};
use crate::layer::{
    ONLY_MANAGED, SettingsLayer, managed_with_hooks, managed_with_switch, plugins, running, with_most_hooks,
};
use crate::needs::{EVENTS, Need, Needs};
use crate::program::{HookProgram, is_bare, typed_to_install};
use crate::version::{
    ClientVersion, FIRST_LENIENT, FIRST_WITH_ARGS, FIRST_WITH_TEAMS, Version, knows, since,
};
use serde_json::{Map, Value, json};
use similar::TextDiff;
use std::collections::BTreeSet;
use std::path::Path;
use teamkeep_model::payload::EventKind;
use teamkeep_model::unicode::escape;
use teamkeep_model::words::{and_more, count};
use teamkeep_system::command::{is_executable, quoted};
use teamkeep_system::env::Env;

/// Lines shown around a change.
const CONTEXT_LINES: usize = 3;

/// The entries that this version of Claude Code needs, each with this program; `there` are those that the file already has.
pub fn wanted(
    client: &ClientVersion,
    program: &HookProgram,
    there: &[HookEntry],
    needs: &Needs,
) -> Vec<HookEntry> {
    let before = |event: &str| there.iter().find(|entry| entry.event == event);
    let is_known = |event: &str| match client {
        // An older version may ignore the whole file because of an unknown event.
        ClientVersion::Known(version) => knows(*version, event).unwrap_or(*version >= FIRST_LENIENT),
        // An unknown version gets what every version with agent teams understands. Existing entries were made for a
        // known version and stay.
        ClientVersion::Unknown(_) => knows(FIRST_WITH_TEAMS, event) == Some(true) || before(event).is_some(),
    };
    let with_args = |event: &str| match client {
        ClientVersion::Known(version) => *version >= FIRST_WITH_ARGS,
        ClientVersion::Unknown(_) => match before(event) {
            Some(before) => has_args(before),
            None => !there.is_empty() && there.iter().all(has_args),
        },
    };
    let mut hooks: Vec<&Need> = needs.hooks().filter(|need| is_known(need.event.name())).collect();
    let place =
        |need: &Need| EVENTS.iter().position(|event| need.condition.is_none() && *event == need.event);
    hooks.sort_by_key(|need| place(need).unwrap_or(EVENTS.len()));
    hooks.into_iter().map(|need| entry(need, program, with_args(need.event.name()))).collect()
}

/// The hook for a need: with `args` in the form that needs no shell.
fn entry(need: &Need, program: &HookProgram, with_args: bool) -> HookEntry {
    let args = program.args(need.event.subcommand());
    let timeout = match need.event {
        // Its gate runs the commands of the user's completion check.
        EventKind::TaskCompleted => 600,
        EventKind::SessionEnd => 30,
        _ => 10,
    };
    let mut hook = json!({"type": "command", "command": program.as_str()});
    if with_args {
        hook["args"] = args.into();
    } else {
        let words = std::iter::once(program.as_str()).chain(args.iter().map(String::as_str));
        hook["command"] = words.map(quoted).collect::<Vec<_>>().join(" ").into();
    }
    hook["timeout"] = timeout.into();
    if let Some(condition) = need.condition {
        hook["if"] = condition.into();
    }
    let mut group = Map::new();
    group.extend(need.matcher().map(|matcher| ("matcher".to_owned(), matcher.into())));
    group.insert("hooks".to_owned(), json!([hook]));
    HookEntry { event: need.event.name().to_owned(), group: Value::Object(group) }
}

/// Whether an entry has the form that needs no shell.
fn has_args(entry: &HookEntry) -> bool {
    entry.hook().get("args").is_some()
}

/// The events of every install that this version does not have.
pub fn unknown_to(version: Version) -> Vec<String> {
    let late = |event: &&str| since(event).is_some_and(|since| version < since);
    EVENTS.iter().map(|event| event.name()).filter(late).map(str::to_owned).collect()
}

/// The content with exactly these entries of teamkeep, each once; unchanged if that is already so.
///
/// # Errors
/// The reason why this file cannot be edited.
pub fn with_hooks(content: &[u8], wanted: &[HookEntry]) -> Result<Vec<u8>, String> {
    let (bom, text) = text_of(content)?;
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    let before = parse(text)?;
    before.first_extension().map_err(|error| error.cause())?;
    let before = before.data();
    if has_exactly(&ours(&before), wanted) {
        return Ok(content.to_vec());
    }
    let after = edit::insert(&parse(&strip(text)?)?, wanted);
    let now = parse(&after)?.data();
    if !has_exactly(&ours(&now), wanted) || others(now) != others(before) {
        return Err("the change would have altered other settings".to_owned());
    }
    Ok(format!("{bom}{after}").into_bytes())
}

/// The content without teamkeep's entries.
///
/// # Errors
/// The reason why this file cannot be edited.
pub fn without_hooks(content: &[u8]) -> Result<Vec<u8>, String> {
    let (bom, text) = text_of(content)?;
    if text.trim().is_empty() {
        return Ok(content.to_vec());
    }
    Ok(format!("{bom}{}", strip(text)?).into_bytes())
}

/// Removes teamkeep's entries, with the blanks around them if the settings stay intact.
fn strip(text: &str) -> Result<String, String> {
    let expected = others(parse(text)?.data());
    let is_right = |now: Value| ours(&now).is_empty() && others(now) == expected;
    let after = edit::cut(text, edit::remove, is_right);
    after.ok_or_else(|| "removing the hooks would alter other settings".to_owned())
}

fn has_exactly(found: &[HookEntry], wanted: &[HookEntry]) -> bool {
    found.len() == wanted.len() && wanted.iter().all(|entry| found.contains(entry))
}

/// The settings without teamkeep's commands and without empty containers among the hooks. Two states that are equal in
/// this differ only in teamkeep's hooks.
fn others(mut settings: Value) -> Value {
    let Some(events) = settings.get_mut("hooks").and_then(Value::as_object_mut) else {
        return settings;
    };
    for groups in events.values_mut().filter_map(Value::as_array_mut) {
        groups.retain_mut(|group| {
            let Some(hooks) = group.get_mut("hooks").and_then(Value::as_array_mut) else { return true };
            let before = hooks.len();
            hooks.retain(|hook| !hook_command::is_ours(hook));
            !hooks.is_empty() || before == 0
        });
    }
    events.retain(|_, groups| groups.as_array().is_none_or(|groups| !groups.is_empty()));
    if events.is_empty()
        && let Some(settings) = settings.as_object_mut()
    {
        settings.shift_remove("hooks");
    }
    settings
}

/// How the hooks changed, in one line: `replaced 12 hooks in settings.json, added 3: …`.
pub fn describe(before: &[HookEntry], after: &[HookEntry], path: &str) -> String {
    let mut removed: Vec<&HookEntry> = before.iter().collect();
    let mut take = |is_same: &dyn Fn(&HookEntry) -> bool| {
        let index = removed.iter().position(|entry| is_same(entry));
        index.map(|index| removed.remove(index)).is_some()
    };
    let new: Vec<&HookEntry> = after.iter().filter(|entry| !take(&|old| old == *entry)).collect();
    let added: Vec<&HookEntry> =
        new.iter().copied().filter(|entry| !take(&|old| old.event == entry.event)).collect();
    if before.is_empty() {
        return format!("installed {} in {path}", count(added.len(), "hook"));
    }
    let names =
        |entries: &[&HookEntry]| named(&entries.iter().map(|entry| entry.event.as_str()).collect::<Vec<_>>());
    let parts = [
        ("replaced", "in", new.len() - added.len(), String::new()),
        ("added", "to", added.len(), names(&added)),
        ("removed", "from", removed.len(), names(&removed)),
    ];
    let mut line = String::new();
    for (verb, preposition, number, names) in parts.into_iter().filter(|(_, _, number, _)| *number > 0) {
        line += &match line.as_str() {
            "" => format!("{verb} {} {preposition} {path}", count(number, "hook")),
            _ => format!(", {verb} {number}"),
        };
        if !names.is_empty() {
            line += &format!(": {names}");
        }
    }
    line
}

/// How installed hooks differ from those that would be written, in one line; `None` if they do not.
pub fn difference(installed: &[HookEntry], wanted: &[HookEntry]) -> Option<String> {
    let mut parts = [("missing:", Vec::new()), ("different:", Vec::new()), ("not needed:", Vec::new())];
    for HookEntry { event, .. } in wanted.iter().chain(installed) {
        let [there, needed] = [installed, wanted]
            .map(|all| all.iter().filter(|entry| entry.event == *event).collect::<Vec<&HookEntry>>());
        let part = match (there.is_empty(), needed.is_empty()) {
            (true, _) => 0,
            (_, true) => 2,
            _ if there.len() == needed.len() && needed.iter().all(|entry| there.contains(entry)) => continue,
            _ => 1,
        };
        if !parts[part].1.contains(&event.as_str()) {
            parts[part].1.push(event);
        }
    }
    let parts = parts.iter().filter(|(_, events)| !events.is_empty());
    let parts: Vec<String> = parts.map(|(what, events)| format!("{what} {}", named(events))).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// The names, limited in number.
pub fn named(events: &[&str]) -> String {
    let (listed, others) = events.split_at(events.len().min(EVENTS.len()));
    listed.join(", ") + &and_more(others.len())
}

/// The changed lines in the format of `diff -u`, without its two header lines.
pub fn diff(before: &str, after: &str) -> String {
    let diff = TextDiff::from_lines(before, after);
    let mut unified = diff.unified_diff();
    let unified = unified.context_radius(CONTEXT_LINES).missing_newline_hint(false).to_string();
    // A line of the file can end with a carriage return.
    let unified = unified.replace("\r\n", "\n").replace('\r', "\n");
    let safe = |line: &str| line.split('\t').map(escape).collect::<Vec<_>>().join("\t") + "\n";
    unified.lines().map(safe).collect()
}

// The installed hooks, compared with those that `install` would write.

/// The files without all hooks that `install` would write, each with the difference. Further tools do not count: other projects
/// or an administrator can need them.
pub fn differing<'a>(
    layers: impl Iterator<Item = &'a SettingsLayer>,
    client: &ClientVersion,
    needs: &Needs,
) -> Vec<(&'a SettingsLayer, String)> {
    let differs = |layer: &'a SettingsLayer| {
        let installed = layer.written();
        let program = HookProgram::named(installed.first()?.words().first()?).ok()?;
        let wanted = wanted(client, &program, &installed, &needs.beside(&installed));
        Some((layer, difference(&installed, &wanted)?))
    };
    layers.filter_map(differs).collect()
}

/// The command that repeats the installation: in managed settings if these have hooks, because a second installation would
/// run as well, else in the file with the most hooks, else in the user's.
pub fn install_command(env: &Env, layers: &[SettingsLayer]) -> String {
    let call = typed_to_install(env);
    let again = |layer: &SettingsLayer| layer.command(&call, "install") + &program_option(env, layer);
    match (managed_with_hooks(layers), with_most_hooks(layers)) {
        (Some(managed), _) => format!("{}  # with --all-tools for users' rules", again(managed)),
        (None, Some(layer)) => again(layer),
        (None, None) => format!("{call} install"),
    }
}

/// The option that keeps the program of a file's hooks, if it is not the running one.
fn program_option(env: &Env, layer: &SettingsLayer) -> String {
    let program = layer.written().first().and_then(|entry| entry.words().into_iter().next());
    let is_running = |named: &str| HookProgram::running(env).is_ok_and(|running| running.replaces(named));
    program
        .filter(|named| (is_bare(named) || is_executable(Path::new(named))) && !is_running(named))
        .map_or(String::new(), |named| format!(" --command {}", quoted(&named)))
}

/// The events that call teamkeep in a session with these settings, also through an enabled plugin.
pub fn events(layers: &[SettingsLayer]) -> BTreeSet<String> {
    let ours = running(layers).flat_map(SettingsLayer::ours).map(|entry| entry.event);
    let has_plugin = !plugins(layers).is_empty() && managed_with_switch(layers, ONLY_MANAGED).is_none();
    let of_plugin = EVENTS.iter().filter(|_| has_plugin).map(|event| event.name().to_owned());
    ours.chain(of_plugin).collect()
}

#[cfg(test)]
mod tests;
