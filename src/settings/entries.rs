//! The hooks that `install` writes: those of the embedded `hooks/settings.example.json` that the version of Claude Code
//! knows, with wider matchers where a rule needs them.

use serde_json::{Map, Value, json};

use crate::error::{Error, Result};
use crate::payload::KNOWN;
use crate::settings::client::ClientVersion;
use crate::settings::client_events::{knows, since};
use crate::settings::command::HookProgram;
use crate::settings::needs::Needs;
use crate::settings::version::{FIRST_LENIENT, FIRST_WITH_ARGS, FIRST_WITH_TEAMS, Version};

/// A settings file with all hooks. The plugin's are in several files, for versions that know only some.
const HOOKS: &str = include_str!("../../hooks/settings.example.json");
/// Timeout in seconds of a hook that only rules need.
const TIMEOUT: u64 = 10;

/// The entry of one event: a matcher group with only teamkeep's command.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The event's name.
    pub event: String,
    /// The matcher group.
    pub group: Value,
}

/// The entries that this version of Claude Code needs, each with this program; `there` are those that the file already
/// has.
///
/// # Errors
/// The embedded file is invalid, which a test rules out.
pub fn wanted(
    client: &ClientVersion,
    program: &HookProgram,
    there: &[Entry],
    needs: &Needs,
) -> Result<Vec<Entry>> {
    let mut entries = embedded()?;
    for (event, matcher) in needs.matchers() {
        let entry = entries.iter_mut().find(|entry| entry.event == event);
        match (entry, matcher) {
            (Some(entry), Some(matcher)) => entry.group["matcher"] = Value::String(matcher),
            (Some(_), None) => {}
            (None, matcher) => entries.extend(Entry::of(event, matcher)),
        }
    }
    let before = |event: &str| there.iter().find(|entry| entry.event == event);
    entries.retain(|entry| match client {
        // An older version may ignore the whole file because of an unknown event.
        ClientVersion::Known(version) => knows(*version, &entry.event).unwrap_or(*version >= FIRST_LENIENT),
        // An unknown version gets what every version with agent teams understands. Existing entries were made for a
        // known version and stay.
        ClientVersion::Unknown(_) => {
            knows(FIRST_WITH_TEAMS, &entry.event) == Some(true) || before(&entry.event).is_some()
        }
    });
    for entry in &mut entries {
        let with_args = match client {
            ClientVersion::Known(version) => *version >= FIRST_WITH_ARGS,
            ClientVersion::Unknown(_) => match before(&entry.event) {
                Some(before) => has_args(before),
                None => !there.is_empty() && there.iter().all(has_args),
            },
        };
        for hook in hooks_of(&mut entry.group) {
            program.put_into(hook, with_args);
        }
    }
    Ok(entries)
}

/// The events of the embedded file that this version does not have.
///
/// # Errors
/// As [`wanted`].
pub fn unknown_to(version: Version) -> Result<Vec<String>> {
    let late = |entry: &Entry| since(&entry.event).is_some_and(|since| version < since);
    Ok(embedded()?.into_iter().filter(late).map(|entry| entry.event).collect())
}

/// The timeout of teamkeep's hook for an event in seconds; `None` for an event without one.
pub fn timeout(event: &str) -> Option<f64> {
    let entry = embedded().ok()?.into_iter().find(|entry| entry.event == event)?;
    entry.group.pointer("/hooks/0/timeout").and_then(Value::as_f64)
}

impl Entry {
    /// The entry of an event that the embedded file does not have.
    fn of(event: &str, matcher: Option<String>) -> Option<Entry> {
        let subcommand = KNOWN.iter().find(|row| row.1 == event)?.2;
        let hook = json!({"type": "command", "command": "teamkeep", "args": ["hook", subcommand], "timeout": TIMEOUT});
        let group = match matcher {
            Some(matcher) => json!({"matcher": matcher, "hooks": [hook]}),
            None => json!({"hooks": [hook]}),
        };
        Some(Entry { event: event.to_owned(), group })
    }
}

/// The entries of the embedded file, in its order.
///
/// # Errors
/// It is not a table of hooks.
pub fn embedded() -> Result<Vec<Entry>> {
    let broken = || Error::new("the embedded hooks/settings.example.json is not a table of hooks");
    let value: Value = serde_json::from_str(HOOKS).map_err(|_| broken())?;
    let events = value.get("hooks").and_then(Value::as_object).ok_or_else(broken)?;
    let groups = events.iter().flat_map(|(event, groups)| {
        groups
            .as_array()
            .into_iter()
            .flatten()
            .map(|group| Entry { event: event.clone(), group: group.clone() })
    });
    Ok(groups.collect())
}

/// Whether an entry has the form that needs no shell.
fn has_args(entry: &Entry) -> bool {
    entry.group.pointer("/hooks/0/args").is_some()
}

fn hooks_of(group: &mut Value) -> impl Iterator<Item = &mut Map<String, Value>> {
    group
        .get_mut("hooks")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn builtin() -> Needs {
        Needs::builtin().unwrap()
    }

    fn events(client: ClientVersion) -> Vec<String> {
        let program = HookProgram::named("/bin/teamkeep").unwrap();
        wanted(&client, &program, &[], &builtin()).unwrap().into_iter().map(|entry| entry.event).collect()
    }

    fn known(version: Version) -> Vec<String> {
        events(ClientVersion::Known(version))
    }

    #[test]
    fn the_embedded_file_has_every_event_once_with_its_own_name_in_kebab_case() {
        let all = embedded().unwrap();
        assert_eq!(all.len(), 15);
        for entry in all {
            let mut kebab = String::new();
            for c in entry.event.chars() {
                if c.is_uppercase() && !kebab.is_empty() {
                    kebab.push('-');
                }
                kebab.push(c.to_ascii_lowercase());
            }
            let budget = match entry.event.as_str() {
                "SessionEnd" => 30,
                "TaskCompleted" => 600,
                _ => 10,
            };
            let hook = serde_json::json!({"type": "command", "command": "teamkeep", "args": ["hook", kebab], "timeout": budget});
            assert_eq!(entry.group["hooks"], serde_json::json!([hook]));
            let tools = matches!(entry.event.as_str(), "PreToolUse" | "PostToolUse");
            assert_eq!(entry.group.get("matcher").is_some(), tools, "{}", entry.event);
        }
    }

    #[test]
    fn every_event_that_came_late_is_one_that_we_install() {
        let all = embedded().unwrap();
        for (event, _) in crate::settings::client_events::SINCE {
            assert!(all.iter().any(|entry| entry.event == *event), "{event}");
        }
    }

    #[test]
    fn a_client_gets_the_events_that_it_knows_and_no_other() {
        assert_eq!(known(Version(2, 1, 328)).len(), 15);
        assert_eq!(known(Version(2, 1, 84)).len(), 15);
        assert!(!known(Version(2, 1, 83)).contains(&"TaskCreated".to_owned()));
        assert!(known(Version(2, 1, 83)).contains(&"FileChanged".to_owned()));
        assert!(!known(Version(2, 1, 82)).contains(&"FileChanged".to_owned()));
        assert!(!known(Version(2, 1, 77)).contains(&"StopFailure".to_owned()));
        assert!(known(Version(2, 1, 33)).contains(&"TeammateIdle".to_owned()));
        assert_eq!(known(Version(2, 1, 32)).len(), 10);
        assert!(!known(Version(2, 0, 42)).contains(&"SubagentStart".to_owned()));
        assert_eq!(unknown_to(Version(2, 1, 83)).unwrap(), ["TaskCreated"]);
    }

    #[test]
    fn a_client_that_says_nothing_gets_what_all_with_teams_know_in_the_old_form() {
        let unknown = ClientVersion::Unknown("it is asleep".to_owned());
        assert_eq!(events(unknown.clone()), known(FIRST_WITH_TEAMS));
        let program = HookProgram::named("/bin/teamkeep").unwrap();
        let entries = wanted(&unknown, &program, &[], &builtin()).unwrap();
        assert_eq!(entries[0].group["hooks"][0]["command"], "/bin/teamkeep hook session-start");
        assert_eq!(entries[0].group["hooks"][0].get("args"), None);
    }

    #[test]
    fn a_client_that_says_nothing_keeps_what_it_has_and_its_form() {
        let unknown = ClientVersion::Unknown("it is asleep".to_owned());
        let (old, new) =
            (HookProgram::named("/old/teamkeep").unwrap(), HookProgram::named("/new/teamkeep").unwrap());
        for version in [Version(2, 1, 328), Version(2, 1, 100), Version(2, 1, 47)] {
            let there = wanted(&ClientVersion::Known(version), &old, &[], &builtin()).unwrap();
            assert_eq!(wanted(&unknown, &old, &there, &builtin()).unwrap(), there);
            let moved = wanted(&ClientVersion::Known(version), &new, &[], &builtin()).unwrap();
            assert_eq!(wanted(&unknown, &new, &there, &builtin()).unwrap(), moved);
        }
        let few = &wanted(&ClientVersion::Known(Version(2, 1, 328)), &old, &[], &builtin()).unwrap()[13..];
        let now = wanted(&unknown, &old, few, &builtin()).unwrap();
        assert_eq!(now.len(), 13, "what every client knows comes to the two that were there");
        assert!(now.iter().all(has_args), "in the form of the two");
    }

    #[test]
    fn the_exec_form_begins_with_2_1_139() {
        let program = HookProgram::named("/bin/teamkeep").unwrap();
        let of = |version| {
            wanted(&ClientVersion::Known(version), &program, &[], &builtin()).unwrap()[1].group["hooks"][0]
                .clone()
        };
        let exec = of(Version(2, 1, 139));
        assert_eq!(exec["command"], "/bin/teamkeep");
        assert_eq!(exec["args"], serde_json::json!(["hook", "session-end"]));
        assert_eq!(of(Version(2, 1, 138))["command"], "/bin/teamkeep hook session-end");
    }
}
