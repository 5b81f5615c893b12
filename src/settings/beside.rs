//! Whether the settings of a session run our hook of an event already. The plugin's copy of the hook runs beside it then,
//! at the same time, and leaves the event to it: of two that record, each event would be on record and judged twice.
//!
//! It is told by the settings files alone. Both copies would have to write, and wait for each other, to tell it by what
//! they do; and who has no plugin would pay for it at each call.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::env::Env;
use crate::fs;
use crate::paths::Paths;
use crate::settings::command::{can_run, runs_us};

/// No settings file that the client reads is larger.
const MOST: u64 = 16 << 20;

/// What an administrator has set, wherever the client looks for it.
const MANAGED: [&str; 2] = [
    "/etc/claude-code/managed-settings.json",
    "/Library/Application Support/ClaudeCode/managed-settings.json",
];

/// What a hook call is about, as far as a matcher can ask.
#[derive(Debug, Clone, Copy)]
pub struct Occasion<'a> {
    /// The event, as the client spells it.
    pub event: &'a str,
    /// The tool, at a tool's event.
    pub tool: Option<&'a str>,
}

/// Whether a settings file that this session has runs our hook at this.
pub fn runs_beside(occasion: Occasion<'_>, env: &Env, paths: &Paths, project: Option<&Path>) -> bool {
    let user = paths.client.iter().map(|client| client.join("settings.json"));
    let of_project = |name: &str| project.map(|project| project.join(".claude").join(name));
    let project = ["settings.json", "settings.local.json"].into_iter().filter_map(of_project);
    let files = user.chain(project).chain(MANAGED.iter().map(PathBuf::from));
    files.into_iter().any(|file| {
        let content = fs::read_linked(&file, MOST);
        content.is_ok_and(|(content, _)| runs_in(&content, occasion, env))
    })
}

/// Whether a settings file of this content runs our hook. One that the client cannot read runs none.
fn runs_in(content: &[u8], Occasion { event, tool }: Occasion<'_>, env: &Env) -> bool {
    let content = content.strip_prefix("\u{feff}".as_bytes()).unwrap_or(content);
    // Most files are not worth to be read whole.
    if !content.windows(8).any(|part| part == b"teamkeep") {
        return false;
    }
    let Ok(settings) = serde_json::from_slice::<Value>(content) else { return false };
    let groups = settings.get("hooks").and_then(|hooks| hooks.get(event)).and_then(Value::as_array);
    groups.into_iter().flatten().any(|group| {
        let hooks = group.get("hooks").and_then(Value::as_array);
        matches(group.get("matcher").and_then(Value::as_str), tool)
            && hooks.into_iter().flatten().any(|hook| runs_us(hook) && can_run(hook, env))
    })
}

/// Whether a group's matcher means this tool, as the client reads it: nothing and `*` mean all, names stand between
/// bars, and anything else is a pattern.
fn matches(matcher: Option<&str>, tool: Option<&str>) -> bool {
    let (Some(matcher), Some(tool)) =
        (matcher.filter(|matcher| !matcher.is_empty() && *matcher != "*"), tool)
    else {
        return true;
    };
    if matcher.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '|') {
        return matcher.split('|').any(|name| name == tool);
    }
    regex_lite::Regex::new(matcher).is_ok_and(|pattern| pattern.is_match(tool))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(content: &str, event: &str, tool: Option<&str>) -> bool {
        let env = Env { search: Some("/usr/bin:/bin".into()), ..Env::default() };
        runs_in(content.as_bytes(), Occasion { event, tool }, &env)
    }

    /// A program of our name that can be run.
    fn program() -> (tempfile::TempDir, String) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("teamkeep");
        std::os::unix::fs::symlink("/bin/sh", &path).unwrap();
        let text = path.to_str().unwrap().to_owned();
        (dir, text)
    }

    #[test]
    fn a_hook_of_ours_at_the_event_runs_and_nothing_else_does() {
        let (_dir, program) = program();
        let stop = |command: &str| format!(r#"{{"hooks": {{"Stop": [{{"hooks": [{command}]}}]}}}}"#);
        let ours =
            stop(&format!(r#"{{"type": "command", "command": "{program}", "args": ["hook", "stop"]}}"#));
        assert!(runs(&ours, "Stop", None) && runs(&format!("\u{feff}{ours}"), "Stop", None));
        assert!(runs(&stop(&format!(r#"{{"command": "{program} hook stop"}}"#)), "Stop", None));
        assert!(
            runs(&stop(r#"{"command": "~/bin/teamkeep hook"}"#), "Stop", None),
            "a shell knows where that is"
        );
        assert!(!runs(&ours, "SessionStart", None));
        let not = [
            "",
            "{}",
            "[]",
            "teamkeep",
            &format!("{ours} // a comment"),
            &stop(r#"{"command": "/gone/teamkeep", "args": ["hook", "stop"]}"#),
            &stop(r#"{"command": "teamkeep hook stop"}"#),
            &stop(&format!(r#"{{"command": "{program} status --line"}}"#)),
            r#"{"statusLine": {"command": "teamkeep status --line"}, "hooks": {"Stop": 7}}"#,
        ];
        for not in not {
            assert!(!runs(not, "Stop", None), "{not}");
        }
    }

    #[test]
    fn a_matcher_means_the_tools_that_the_client_takes_it_for() {
        for all in [None, Some(""), Some("*"), Some(".*"), Some("Task|Agent"), Some("^Ag")] {
            assert!(matches(all, Some("Agent")), "{all:?}");
        }
        for other in ["Task", "Agents|Task", "agent", "^gent", "("] {
            assert!(!matches(Some(other), Some("Agent")), "{other}");
        }
        assert!(matches(Some("startup"), None), "an event without a tool");
    }
}
