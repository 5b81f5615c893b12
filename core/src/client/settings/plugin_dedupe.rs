//! Decides whether the session's settings already run teamkeep's hook for an event. The plugin's copy of the hook then
//! leaves the event to it. Otherwise each event would be recorded and judged twice.
//!
//! The decision uses only the settings files. To coordinate by writing, both copies would have to wait for each other,
//! and users without the plugin would pay for it at each call.
//!
//! An event that is left to a hook that does not run is lost, which is worse than one that is recorded twice. So only
//! a hook that certainly runs counts. The user's settings and the administrator's are trusted. A project's come with
//! the repository, and their author could name a program that does nothing, or make Claude Code ignore the file: they
//! count only if this user installed into that file and it has not changed since, and only for the hook that `install`
//! writes.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::client::settings::command::{
    HOOK_NAME, NAME, find, is_executable, is_same, on_search_path, resolve_trusted,
};
use crate::client::settings::hook_command;
use crate::client::settings::install_record::{Record, Records};
use crate::client::settings::layer::MAX_BYTES;
use crate::client::settings::managed;
use crate::client::settings::matcher::{MAX_PATTERNS, Tools, matches};
use crate::client::settings::needs::timeout;
use crate::sys::env::Env;
use crate::sys::fs;
use crate::sys::paths::Paths;

/// Maximum size of a project's settings file in bytes, because reading it costs time in each hook call.
const MAX_PROJECT_BYTES: u64 = 1 << 20;
/// Longest timeout in seconds that every version of Claude Code accepts.
const MAX_TIMEOUT_SECONDS: f64 = 3600.0;

/// The facts of a hook call that a matcher can use, and the caller.
#[derive(Debug, Clone, Copy)]
pub struct HookEvent<'a> {
    pub event: &'a str,
    /// The tool, at a tool event.
    pub tool: Option<&'a str>,
    /// Whether Claude Code passes `args` to a hook. A version that does not runs only the program.
    pub knows_args: bool,
}

/// Whether a settings file of this session runs teamkeep's hook for this call.
pub fn settings_cover_event(call: HookEvent<'_>, env: &Env, paths: &Paths, project: Option<&Path>) -> bool {
    let user = paths.client.iter().map(|client| client.join("settings.json"));
    user.chain(managed::files())
        .any(|file| read_groups(&file, MAX_BYTES, call).is_some_and(|groups| owner_runs(&groups, call, env)))
        || ["settings.json", "settings.local.json"].into_iter().any(|name| {
            let Some(file) = project.map(|project| project.join(".claude").join(name)) else { return false };
            read_groups(&file, MAX_PROJECT_BYTES, call)
                .is_some_and(|groups| project_runs(&groups, call, env, || installed(&file, paths)))
        })
}

/// The matcher groups of this event in a file, if there may be a hook of teamkeep among them. A file that Claude Code
/// cannot read has none.
fn read_groups(file: &Path, max_bytes: u64, call: HookEvent<'_>) -> Option<Vec<Value>> {
    groups(&fs::read_linked(file, max_bytes).ok()?.0, call)
}

fn groups(content: &[u8], call: HookEvent<'_>) -> Option<Vec<Value>> {
    let content = content.strip_prefix("\u{feff}".as_bytes()).unwrap_or(content);
    // Most files need not be parsed.
    if !content.windows(NAME.len()).any(|part| part == NAME.as_bytes()) {
        return None;
    }
    let mut settings = serde_json::from_slice::<Value>(content).ok()?;
    match settings.get_mut("hooks")?.get_mut(call.event)?.take() {
        Value::Array(groups) => Some(groups),
        _ => None,
    }
}

/// The install record of this user into a file, if there was one.
pub fn saved_installs(file: &Path, paths: &Paths) -> Option<Record> {
    Records::at(paths.installs()).find(&file.canonicalize().ok()?)
}

/// The program that this user installed into a file, if the file has not changed since. A change may have made it
/// unreadable for Claude Code.
pub fn installed(file: &Path, paths: &Paths) -> Option<String> {
    let record = saved_installs(file, paths)?;
    let (content, _) = fs::read_linked(file, MAX_PROJECT_BYTES).ok()?;
    record.has_installed(&content).then_some(record.command)
}

/// Whether the user's or the administrator's settings run teamkeep's hook.
fn owner_runs(groups: &[Value], call: HookEvent<'_>, env: &Env) -> bool {
    let runs = |hook: &Value| {
        is_called(hook, call) && program(hook, env).is_some_and(|program| is_executable(&program))
    };
    let mut patterns = MAX_PATTERNS;
    groups
        .iter()
        .filter(|group| hooks(group).any(runs))
        .any(|group| matches(group.get("matcher"), call.tool, &mut patterns))
}

/// Whether a project's settings run teamkeep's hook: exactly as `install` writes it, with this program or the
/// installed one.
fn project_runs(
    groups: &[Value],
    call: HookEvent<'_>,
    env: &Env,
    installed: impl FnOnce() -> Option<String>,
) -> bool {
    let is_written = |hook: &&Value| {
        is_called(hook, call)
            && has_only(hook, &["type", "command", "args", "timeout"])
            && has_time(hook, call.event)
    };
    let mut written = groups
        .iter()
        .filter(|group| {
            let matcher = group.get("matcher");
            // Only patterns that `install` writes: Claude Code may interpret others differently, and they may take long.
            let is_written = matcher.and_then(Value::as_str).and_then(Tools::of_matcher).is_some();
            has_only(group, &["matcher", "hooks"])
                && matches(matcher, call.tool, &mut usize::from(is_written))
        })
        .flat_map(|group| hooks(group).filter(is_written))
        .filter_map(|hook| program(hook, env))
        .take(MAX_PATTERNS)
        .peekable();
    if written.peek().is_none() {
        return false;
    }
    let Some(installed) = installed() else { return false };
    let known = [
        std::env::current_exe().ok(),
        on_search_path(env),
        find(HOOK_NAME, env),
        Some(PathBuf::from(installed)),
    ];
    written.any(|program| {
        is_executable(&program)
            && known.iter().flatten().any(|known| known.is_absolute() && is_same(known, &program))
    })
}

fn hooks(group: &Value) -> impl Iterator<Item = &Value> {
    group.get("hooks").and_then(Value::as_array).into_iter().flatten()
}

/// Whether Claude Code runs teamkeep with this. A call that itself leaves events to others does not count.
fn is_called(hook: &Value, call: HookEvent<'_>) -> bool {
    let yields = || hook_command::of(hook).is_some_and(|words| words.iter().any(|word| word == "--plugin"));
    hook.get("type").is_some_and(|kind| kind == "command")
        && hook_command::is_ours(hook)
        && !yields()
        && (call.knows_args || hook.get("args").is_none())
}

/// The certain path of a hook's program.
fn program(hook: &Value, env: &Env) -> Option<PathBuf> {
    resolve_trusted(hook_command::of(hook)?.first()?, env)
}

fn has_only(value: &Value, keys: &[&str]) -> bool {
    value.as_object().is_some_and(|map| map.keys().all(|key| keys.contains(&key.as_str())))
}

/// Whether a hook has at least the timeout that `install` sets, and none that 2.1.47 ignores.
fn has_time(hook: &Value, event: &str) -> bool {
    hook.get("timeout")
        .and_then(Value::as_f64)
        .is_some_and(|time| timeout(event).is_some_and(|least| (least..=MAX_TIMEOUT_SECONDS).contains(&time)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::settings::needs::embedded;
    use serde_json::json;

    fn occasion<'a>(event: &'a str, tool: Option<&'a str>) -> HookEvent<'a> {
        HookEvent { event, tool, knows_args: true }
    }

    fn env() -> Env {
        Env { search: Some("/usr/bin:/bin".into()), ..Env::default() }
    }

    fn runs_in(content: &str, event: &str, tool: Option<&str>) -> bool {
        let occasion = occasion(event, tool);
        groups(content.as_bytes(), occasion).is_some_and(|groups| owner_runs(&groups, occasion, &env()))
    }

    /// An executable named `teamkeep`.
    fn a_program() -> (tempfile::TempDir, String) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("teamkeep");
        std::os::unix::fs::symlink("/bin/sh", &path).unwrap();
        let text = path.to_str().unwrap().to_owned();
        (dir, text)
    }

    #[test]
    fn only_a_hook_that_install_writes_covers_an_event() {
        let (_dir, program) = a_program();
        let stop = |hook: &str| format!(r#"{{"hooks": {{"Stop": [{{"hooks": [{{{hook}}}]}}]}}}}"#);
        let with_args = format!(r#""type": "command", "command": "{program}", "args": ["hook", "stop"]"#);
        let line = stop(&format!(r#""type": "command", "command": "{program} hook stop""#));
        let ours = stop(&with_args);
        assert!(runs_in(&ours, "Stop", None) && runs_in(&format!("\u{feff}{ours}"), "Stop", None));
        assert!(runs_in(&line, "Stop", None));
        assert!(!runs_in(&ours, "SessionStart", None));
        let old = HookEvent { knows_args: false, ..occasion("Stop", None) };
        let by_old = |content: &str| owner_runs(&groups(content.as_bytes(), old).unwrap(), old, &env());
        assert!(by_old(&line) && !by_old(&ours), "a client that knows no args runs the bare program");
        let not = [
            "",
            "{}",
            "[]",
            "teamkeep",
            &format!("{ours} // a comment"),
            &stop(r#""type": "command", "command": "/gone/teamkeep", "args": ["hook", "stop"]"#),
            &stop(r#""type": "command", "command": "teamkeep hook stop""#),
            &stop(r#""type": "command", "command": "~/bin/teamkeep hook stop""#),
            &stop(&format!(r#""type": "command", "command": "{program} hook stop && ./mine""#)),
            &stop(&format!(r#""type": "command", "command": "{program} status --line""#)),
            &stop(&format!(r#""type": "http", "command": "{program} hook stop""#)),
            &stop(&format!(r#""command": "{program} hook stop""#)),
            &stop(&format!(r#""type": "command", "command": "{program} hook stop --plugin""#)),
            r#"{"statusLine": {"command": "teamkeep status --line"}, "hooks": {"Stop": 7}}"#,
        ];
        for not in not {
            assert!(!runs_in(not, "Stop", None), "{not}");
        }
    }

    #[test]
    fn project_hook_counts_only_as_written_and_only_if_installed() {
        let exe = tempfile::tempdir().unwrap();
        let running = exe.path().join("teamkeep");
        std::os::unix::fs::symlink(std::env::current_exe().unwrap(), &running).unwrap();
        let running = running.to_str().unwrap();
        let (_dir, fake) = a_program();
        // As `install` writes it, for clients that know `args` and for older ones.
        let written = |program: &str, knows_args: bool| {
            let entries = embedded().into_iter();
            let mut group =
                entries.filter(|entry| entry.event == "PreToolUse").map(|entry| entry.group).next().unwrap();
            let hook = group["hooks"][0].as_object_mut().unwrap();
            hook.shift_remove("args");
            let command =
                if knows_args { program.to_owned() } else { format!("{program} hook pre-tool-use") };
            if knows_args {
                hook.insert("args".to_owned(), json!(["hook", "pre-tool-use"]));
            }
            hook.insert("command".to_owned(), json!(command));
            group
        };
        let at = occasion("PreToolUse", Some("Agent"));
        let installed = |program: &str| Some(program.to_owned());
        let runs = |group: &Value| {
            project_runs(std::slice::from_ref(group), at, &env(), || installed("/gone/teamkeep"))
        };
        for knows_args in [false, true] {
            let ours = written(running, knows_args);
            assert!(runs(&ours));
            assert!(
                !project_runs(std::slice::from_ref(&ours), at, &env(), || None),
                "nobody installed it here"
            );
            assert!(!runs(&written(&fake, knows_args)), "another program of our name");
            assert!(project_runs(&[written(&fake, knows_args)], at, &env(), || installed(&fake)));
            let with = |place: &str, value: Value| {
                let mut group = ours.clone();
                *group.pointer_mut(place).unwrap() = value;
                group
            };
            for (place, value) in [
                ("/hooks/0/type", json!("http")),
                ("/hooks/0/timeout", json!(0.001)),
                ("/hooks/0/timeout", json!(5_000_000)),
                ("/hooks/0/timeout", json!("10")),
                ("/matcher", json!("Task")),
                ("/matcher", json!("(?i)agent")),
                ("/matcher", json!(7)),
            ] {
                assert!(!runs(&with(place, value.clone())), "{place} {value}");
            }
            let mut more = ours.clone();
            more["hooks"][0]["if"] = json!("Bash(never *)");
            assert!(!runs(&more), "it may never run");
        }
    }

    #[test]
    fn costly_patterns_are_not_evaluated() {
        let (_dir, program) = a_program();
        let hook = json!([{"type": "command", "command": format!("{program} hook pre-tool-use")}]);
        let group = |matcher: &str| json!({"matcher": matcher, "hooks": hook});
        let at = occasion("PreToolUse", Some("Agent"));
        let owner = |groups: &[Value]| owner_runs(groups, at, &env());
        assert!(owner(&[group("^Agent$")]));
        assert!(!owner(&[group(&format!("Agent{}", "|x.".repeat(500)))]));
        assert!(!owner(&[group("(((a{0,99}){0,99}){0,99}|Agent)")]));
        let mut many = vec![group("^other$"); MAX_PATTERNS];
        many.push(group("^Agent$"));
        assert!(!owner(&many));
        many.push(group("Agent"));
        assert!(owner(&many), "names cost nothing");
    }
}
