//! Checks the form of every hook in the settings files, also of those that do not call teamkeep: Claude Code can ignore a
//! whole file because of one of them.

use serde_json::{Map, Value};
use teamkeep_model::words::FEW;

use super::{Diagnosis, Facts, bad, ok, warn};
use teamkeep_model::payload::EventKind;
use teamkeep_settings::layer::SettingsLayer;
use teamkeep_settings::version::{FIRST_SKIPPING_HOOKS, Version};

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
pub fn check(facts: &Facts<'_>) -> Vec<Diagnosis> {
    let found: Vec<Diagnosis> =
        facts.layers.iter().filter_map(|layer| diagnose(layer, facts.version())).collect();
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

    use super::super::tests::facts;
    use super::super::{CheckVerdict, Diagnosis};
    use super::*;
    use teamkeep_settings::layer::SettingsScope as Layer;

    fn found(version: Version, kind: Layer, entry: &Value) -> Diagnosis {
        check(&facts(version, &[(kind, json!({"hooks": {"PostToolUse": [entry]}}))])).remove(0)
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
        let all = check(&facts(OLD, &settings));
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
            let found = check(&facts(Version(2, 1, 332), &[(Layer::User, settings)])).remove(0);
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
