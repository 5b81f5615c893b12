//! Checks teamkeep's hooks: where they are installed, whether they are those that `install` writes, and whether each is called
//! once. And the form of every hook in the settings files, also of those that do not call teamkeep: Claude Code can ignore a whole file
//! because of one of them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{CheckInput, Diagnosis, InstalledHook, bad, ok, unknown, warn};
use teamkeep_model::payload::EventKind;
use teamkeep_model::words::{FEW, and_more, count};
use teamkeep_settings::layer::{ONLY_MANAGED, SettingsLayer, SettingsScope, managed_with_switch, running};
use teamkeep_settings::needs::Needs;
use teamkeep_settings::plan::{differing, install_command};
use teamkeep_settings::version::{FIRST_SKIPPING_HOOKS, LAST_COMPARING_COMMANDS, Version};
use teamkeep_system::command::quoted;
use teamkeep_system::os;

/// Checks where they are installed.
pub fn installed(input: &CheckInput<'_>) -> Diagnosis {
    let in_file = |layer: &SettingsLayer| {
        let ours = layer.ours();
        // A command of the user's that calls teamkeep is not a hook that `install` counts.
        let written = ours.iter().filter(|entry| entry.is_written()).count();
        let counts = [(written, "hook"), (ours.len() - written, "custom hook")];
        let counts = counts.into_iter().filter(|(number, _)| *number > 0);
        let counts: Vec<String> = counts.map(|(number, thing)| count(number, thing)).collect();
        (!counts.is_empty()).then(|| format!("{} in {}", counts.join(" and "), layer.path.display()))
    };
    let is_ignored = |layer: &&SettingsLayer| is_ignored(layer, input.version());
    let counted = input.layers.iter().filter(|layer| !is_ignored(layer));
    let mut places: Vec<String> = counted.filter_map(in_file).collect();
    places.extend(input.plugins.iter().map(|plugin| format!("the plugin {plugin}")));
    if !places.is_empty() {
        return ok(places.join("; "));
    }
    // Hooks in a file that Claude Code cannot read or ignores do not run.
    if let Some(ignored) = input.layers.iter().find(|layer| is_ignored(layer) && in_file(layer).is_some()) {
        let path = ignored.path.display();
        return unknown(format!("hooks in {path} do not count: Claude Code ignores the file"));
    }
    match input.layers.iter().find(|layer| layer.kind == SettingsScope::User && layer.is_lost()) {
        Some(lost) => {
            let path = lost.path.display();
            unknown(format!("hooks in {path} do not count: Claude Code cannot read the file"))
        }
        None => bad("teamkeep's hooks are not installed").with_fix(input.install()),
    }
}

/// Compares the hooks with those that `install` would write.
pub fn complete(input: &CheckInput<'_>) -> Vec<Diagnosis> {
    let needs = Needs::of_user(&input.files).0;
    let read = || running(&input.layers).filter(|layer| !is_ignored(layer, input.version()));
    if read().all(|layer| layer.written().is_empty()) {
        return match input.plugins.first() {
            None => unknown("no hooks to check").into(),
            Some(_) if needs == Needs::builtin() => ok("the plugin has its own hooks").into(),
            Some(plugin) => warn(format!("the policy needs hooks that the plugin {plugin} does not have"))
                .with_fix(input.install())
                .into(),
        };
    }
    let differing = differing(read(), &input.probe.answer, &needs).into_iter();
    let found: Vec<Diagnosis> = differing
        .map(|(layer, difference)| {
            let path = layer.path.display();
            warn(format!("the hooks in {path} are not those that `install` writes ({difference})"))
                .with_fix(install_command(input.env, &input.layers))
        })
        .collect();
    if !found.is_empty() {
        return found;
    }
    let version = input.version().map_or(String::new(), |version| format!(" {version}"));
    ok(format!("the hooks are those that `install` writes for Claude Code{version} and the policy")).into()
}

/// Finds events that run two different hooks. Claude Code runs the same one in several files once; since some version after
/// 2.1.177, only if matcher and timeout are the same, too.
pub fn duplicates(input: &CheckInput<'_>) -> Diagnosis {
    let ours = input.ours();
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
            (None, 1) => input.install(),
            (None, _) => uninstall(input),
        };
        let files = files.join(", ");
        let what = format!("teamkeep is called twice at {event}{others}: {programs} (in {files})");
        return bad(what).with_fix(fix);
    }
    if let Some((event, files)) = differing_files(input, &ours) {
        let what =
            format!("teamkeep is called twice at {event}: the hooks in {files} differ in matcher or timeout");
        return bad(what).with_fix(uninstall(input));
    }
    let is_only_managed = managed_with_switch(&input.layers, ONLY_MANAGED).is_some();
    let (Some(plugin), false) = (input.plugins.first(), ours.is_empty() || is_only_managed) else {
        return ok("no event calls teamkeep twice");
    };
    ok(format!("the plugin {plugin} and the hooks in the settings both run, and record each event once"))
}

/// An event at which two files have different hooks with the same call, and both run.
fn differing_files<'a>(input: &CheckInput<'_>, ours: &'a [InstalledHook<'_>]) -> Option<(&'a str, String)> {
    if input.version().is_some_and(|version| version <= LAST_COMPARING_COMMANDS) {
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
    format!("{}  # remove teamkeep from that command", os::shell::edit(&path, None))
}

/// The command that removes the hooks from the file of lower precedence.
fn uninstall(input: &CheckInput<'_>) -> String {
    let last = input.layers.iter().rev().find(|layer| !layer.ours().is_empty());
    last.map_or_else(|| format!("{} uninstall", input.call), |layer| layer.command(&input.call, "uninstall"))
}

/// The types of hooks, each with the key that it needs. The first three are known to all versions with agent teams.
const TYPES: &[(&str, &str)] =
    &[("command", "command"), ("prompt", "prompt"), ("agent", "prompt"), ("http", "url")];
/// Other keys of a hook whose value must be a string or a Boolean (seen 2.1.47).
const STRINGS: &[&str] = &["statusMessage"];
const BOOLEANS: &[&str] = &["async", "once"];

/// The events that can guard permissions: because of a malformed hook there, every version ignores the whole file (seen
/// 2.1.332).
const GUARDS: &[EventKind] =
    &[EventKind::PreToolUse, EventKind::PermissionRequest, EventKind::PreSkillShellCommand];

/// Checks every entry in every file.
pub fn form(input: &CheckInput<'_>) -> Vec<Diagnosis> {
    let found: Vec<Diagnosis> =
        input.layers.iter().filter_map(|layer| diagnose(layer, input.version())).collect();
    if found.is_empty() { ok("every hook in the settings has a valid form").into() } else { found }
}

fn diagnose(layer: &SettingsLayer, version: Option<Version>) -> Option<Diagnosis> {
    let found = problems(layer.value()?);
    let worst = found.iter().find(|problem| problem.skips_file(version));
    let first = worst.or(found.first())?;
    let path = layer.path.display();
    let more = match found.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    let why = format!("because {} {}{more}", first.at, first.what);
    let name = version.map_or("Claude Code".to_owned(), |version| format!("Claude Code {version}"));
    let diagnosis = match worst {
        Some(_) => bad(format!("{name} ignores the whole file {path} {why}")),
        None if version.is_some() => warn(format!("{name} ignores a hook in {path} {why}")),
        None => warn(format!(
            "{name} ignores a hook in {path} or, before {FIRST_SKIPPING_HOOKS}, the whole file {why}"
        )),
    };
    let places: Vec<&str> = found.iter().map(|problem| problem.at.as_str()).take(FEW).collect();
    Some(diagnosis.with_fix(format!("correct or remove {} in {path}", places.join(", "))))
}

/// Whether Claude Code is known to ignore the whole file because of a malformed hook.
pub fn is_ignored(layer: &SettingsLayer, version: Option<Version>) -> bool {
    let found = layer.value().map(problems).unwrap_or_default();
    found.iter().any(|problem| problem.skips_file(version))
}

/// A value with a form that Claude Code does not accept.
#[derive(Debug, PartialEq, Eq)]
struct Problem {
    event: EventKind,
    /// Its path: `hooks.PreToolUse[0].matcher`.
    at: String,
    /// The end of a sentence about it.
    what: String,
}

impl Problem {
    fn skips_file(&self, version: Option<Version>) -> bool {
        version.is_some_and(|version| version < FIRST_SKIPPING_HOOKS) || GUARDS.contains(&self.event)
    }
}

fn problems(settings: &Value) -> Vec<Problem> {
    let events = settings.get("hooks").and_then(Value::as_object).into_iter().flatten();
    let mut all = Vec::new();
    for (event, entries) in events {
        for (index, entry) in entries.as_array().into_iter().flatten().enumerate() {
            let mut found = Vec::new();
            entry_problems(entry, &format!("hooks.{event}[{index}]"), &mut found);
            let event = EventKind::named(event);
            all.extend(found.into_iter().map(|(at, what)| Problem { event, at, what }));
        }
    }
    all
}

fn entry_problems(entry: &Value, at: &str, found: &mut Vec<(String, String)>) {
    let Some(fields) = object(entry, at, found) else { return };
    need(fields, "matcher", "a string", Value::is_string, at, found);
    match fields.get("hooks") {
        Some(Value::Array(hooks)) => {
            for (index, hook) in hooks.iter().enumerate() {
                hook_problems(hook, &format!("{at}.hooks[{index}]"), found);
            }
        }
        None => found.push((at.to_owned(), "has no `hooks`".to_owned())),
        Some(other) => found.push(wrong(other, &format!("{at}.hooks"), "an array")),
    }
}

fn hook_problems(hook: &Value, at: &str, found: &mut Vec<(String, String)>) {
    let Some(fields) = object(hook, at, found) else { return };
    let missing = |key: &str| (at.to_owned(), format!("has no `{key}`"));
    match fields.get("type") {
        None => found.push(missing("type")),
        Some(Value::String(kind)) => {
            // A type that is not listed may be of a newer version.
            let text = TYPES.iter().find(|(known, _)| known == kind).map(|(_, text)| *text);
            match text.map(|text| (text, fields.get(text))) {
                Some((text, None)) => found.push(missing(text)),
                Some((text, Some(_))) => need(fields, text, "a string", Value::is_string, at, found),
                None => {}
            }
        }
        Some(other) => found.push(wrong(other, &format!("{at}.type"), "a string")),
    }
    let is_positive = |value: &Value| value.as_f64().is_some_and(|number| number > 0.0);
    need(fields, "timeout", "a positive number", is_positive, at, found);
    STRINGS.iter().for_each(|key| need(fields, key, "a string", Value::is_string, at, found));
    BOOLEANS.iter().for_each(|key| need(fields, key, "true or false", Value::is_boolean, at, found));
}

fn object<'a>(
    value: &'a Value,
    at: &str,
    found: &mut Vec<(String, String)>,
) -> Option<&'a Map<String, Value>> {
    if !value.is_object() {
        found.push(wrong(value, at, "an object"));
    }
    value.as_object()
}

/// Reports a value that is not of the needed form.
fn need(
    fields: &Map<String, Value>,
    key: &str,
    needed: &str,
    is_valid: impl Fn(&Value) -> bool,
    at: &str,
    found: &mut Vec<(String, String)>,
) {
    if let Some(value) = fields.get(key).filter(|value| !is_valid(value)) {
        found.push(wrong(value, &format!("{at}.{key}"), needed));
    }
}

fn wrong(value: &Value, at: &str, needed: &str) -> (String, String) {
    let is = match value {
        Value::Null => "null",
        Value::Bool(_) => "a Boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    // A number that is too small.
    let is = if needed.ends_with("number") && value.is_number() { "zero or less" } else { is };
    (at.to_owned(), format!("is {is}, not {needed}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::input;
    use super::super::{CheckVerdict, Diagnosis};
    use super::*;
    use teamkeep_settings::layer::SettingsScope as Layer;

    fn found(version: Version, kind: Layer, entry: &Value) -> Diagnosis {
        form(&input(version, &[(kind, json!({"hooks": {"PostToolUse": [entry]}}))])).remove(0)
    }

    fn with(hook: Value) -> Value {
        json!({"matcher": "Bash", "hooks": [hook]})
    }

    const OLD: Version = Version(2, 1, 327);

    #[test]
    fn one_malformed_hook_is_an_error_before_2_1_328_and_a_warning_later() {
        let run = json!({"type": "command", "command": "x", "timeout": 5});
        for (entry, problem) in [
            (run.clone(), "hooks.PostToolUse[0] has no `hooks`"),
            (json!("x.sh"), "hooks.PostToolUse[0] is a string, not an object"),
            (json!(null), "hooks.PostToolUse[0] is null, not an object"),
            (json!({"hooks": null}), "hooks.PostToolUse[0].hooks is null, not an array"),
            (json!({"hooks": run}), "hooks.PostToolUse[0].hooks is an object, not an array"),
            (json!({"matcher": 1, "hooks": []}), "hooks.PostToolUse[0].matcher is a number, not a string"),
            (
                json!({"matcher": ["Bash"], "hooks": []}),
                "hooks.PostToolUse[0].matcher is an array, not a string",
            ),
            (with(json!("x.sh")), "hooks.PostToolUse[0].hooks[0] is a string, not an object"),
            (with(json!({"type": "command"})), "hooks.PostToolUse[0].hooks[0] has no `command`"),
            (with(json!({"command": "x"})), "hooks.PostToolUse[0].hooks[0] has no `type`"),
            (
                with(json!({"type": "command", "command": 3})),
                "hooks.PostToolUse[0].hooks[0].command is a number, not a string",
            ),
            (with(json!({"type": "prompt"})), "hooks.PostToolUse[0].hooks[0] has no `prompt`"),
            (
                with(json!({"type": "command", "command": "x", "timeout": "5"})),
                "hooks.PostToolUse[0].hooks[0].timeout is a string, not a positive number",
            ),
            (
                with(json!({"type": "command", "command": "x", "timeout": 0})),
                "hooks.PostToolUse[0].hooks[0].timeout is zero or less, not a positive number",
            ),
            (
                with(json!({"type": "command", "command": "x", "async": "yes"})),
                "hooks.PostToolUse[0].hooks[0].async is a string, not true or false",
            ),
        ] {
            let old = found(OLD, Layer::User, &entry);
            let what = format!("Claude Code 2.1.327 ignores the whole file /User.json because {problem}");
            assert_eq!((old.verdict, old.what), (CheckVerdict::Bad, what));
            let new = found(Version(2, 1, 328), Layer::Project, &entry);
            let what = format!("Claude Code 2.1.328 ignores a hook in /Project.json because {problem}");
            assert_eq!((new.verdict, new.what), (CheckVerdict::Warn, what));
        }
    }

    #[test]
    fn hooks_of_every_valid_form_are_accepted() {
        for hook in [
            json!({"type": "command", "command": "x"}),
            json!({"type": "command", "command": "x", "args": ["a"], "timeout": 0.5, "async": true, "own": 1}),
            json!({"type": "prompt", "prompt": "x"}),
            json!({"type": "of-a-newer-version"}),
        ] {
            assert_eq!(found(OLD, Layer::User, &with(hook.clone())).verdict, CheckVerdict::Ok, "{hook}");
        }
        assert_eq!(found(OLD, Layer::User, &json!({"hooks": []})).verdict, CheckVerdict::Ok);
    }

    #[test]
    fn every_file_and_every_place_is_named() {
        let two = json!({"hooks": {"Stop": [{"hooks": []}, {}], "PreToolUse": [with(json!("x")), "x"]}});
        let settings = [(Layer::Managed, two.clone()), (Layer::Local, json!({})), (Layer::Project, two)];
        let all = form(&input(OLD, &settings));
        let fixes: Vec<&str> = all.iter().filter_map(|one| one.fix.as_deref()).collect();
        let places = "hooks.Stop[1], hooks.PreToolUse[0].hooks[0], hooks.PreToolUse[1]";
        let fix = |path: &str| format!("correct or remove {places} in {path}");
        assert_eq!(fixes, [fix("/Managed.json"), fix("/Project.json")]);
        assert!(all[0].what.ends_with("hooks.Stop[1] has no `hooks` (and 2 more)"), "{}", all[0].what);
    }

    #[test]
    fn a_malformed_hook_that_can_guard_permissions_is_an_error_in_every_version() {
        for (event, verdict) in [
            ("PreToolUse", CheckVerdict::Bad),
            ("PermissionRequest", CheckVerdict::Bad),
            ("PreSkillShellCommand", CheckVerdict::Bad),
            ("Stop", CheckVerdict::Warn),
            ("OfANewerVersion", CheckVerdict::Warn),
        ] {
            let settings = json!({"hooks": {"SessionStart": [{}], event: [{"hooks": ["x"]}]}});
            let found = form(&input(Version(2, 1, 332), &[(Layer::User, settings)])).remove(0);
            assert_eq!(found.verdict, verdict, "{event}: {}", found.what);
            assert_eq!(
                found.what.contains("ignores the whole file"),
                verdict == CheckVerdict::Bad,
                "{}",
                found.what
            );
        }
    }
}
