//! Finds the hooks in settings that call teamkeep.

use serde_json::Value;

use crate::settings::document::lenient_data;
use crate::settings::entries::Entry;
use crate::settings::hook_command;

/// teamkeep's entries in a file, each with one command; none if it cannot be read.
pub fn found(content: &[u8]) -> Vec<Entry> {
    lenient_data(content).map_or_else(Vec::new, |settings| ours(&settings))
}

/// The number of teamkeep's entries in a file; 0 if it cannot be read.
pub fn count(content: &[u8]) -> usize {
    found(content).len()
}

/// teamkeep's commands in settings, each as its own entry.
pub fn ours(settings: &Value) -> Vec<Entry> {
    pick(settings, hook_command::is_ours)
}

/// Every command in settings that calls teamkeep, whoever wrote it, each as its own entry.
pub fn calls(settings: &Value) -> Vec<Entry> {
    pick(settings, |hook| hook_command::of(hook).is_some())
}

/// The commands that call teamkeep and that `install` did not write; none if the file cannot be read.
pub fn custom_calls(content: &[u8]) -> Vec<Entry> {
    let pick = |settings: Value| {
        pick(&settings, |hook| hook_command::of(hook).is_some() && !hook_command::is_ours(hook))
    };
    lenient_data(content).map_or_else(Vec::new, pick)
}

fn pick(settings: &Value, meant: impl Fn(&Value) -> bool) -> Vec<Entry> {
    let mut found = Vec::new();
    for (event, groups) in settings.get("hooks").and_then(Value::as_object).into_iter().flatten() {
        for group in groups.as_array().into_iter().flatten() {
            let hooks = group.get("hooks").and_then(Value::as_array).into_iter().flatten();
            for hook in hooks.filter(|hook| meant(hook)) {
                found.push(Entry { event: event.clone(), group: alone(group, hook) });
            }
        }
    }
    found
}

/// A matcher group with only this command.
fn alone(group: &Value, hook: &Value) -> Value {
    let part = |(key, value): (&String, &Value)| {
        let value = if key == "hooks" { Value::Array(vec![hook.clone()]) } else { value.clone() };
        (key.clone(), value)
    };
    Value::Object(group.as_object().into_iter().flatten().map(part).collect())
}
