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

use serde_json::{Map, Value};

use crate::env::Env;
use crate::fs;
use crate::paths::Paths;
use crate::settings::command::{NAME, is_executable, is_same, on_search_path, resolve_trusted};
use crate::settings::entries;
use crate::settings::hook_command;
use crate::settings::hook_matcher::{PATTERNS, matches};
use crate::settings::install_record::{Record, Records};
use crate::settings::layer::MANAGED;
use crate::settings::tools::Tools;

/// Maximum size of a settings file in bytes.
const MAX_BYTES: u64 = 16 << 20;
/// Maximum size of a project's settings file in bytes, because reading it costs time in each hook call.
const MOST_OF_PROJECT: u64 = 1 << 20;
/// Longest timeout in seconds that every version of Claude Code accepts.
const MAX_TIMEOUT_SECONDS: f64 = 3600.0;

/// The facts of a hook call that a matcher can use, and the caller.
#[derive(Debug, Clone, Copy)]
pub struct HookEvent<'a> {
    /// The event's name.
    pub event: &'a str,
    /// The tool, at a tool event.
    pub tool: Option<&'a str>,
    /// Whether Claude Code passes `args` to a hook. A version that does not runs only the program.
    pub knows_args: bool,
}

/// Whether a settings file of this session runs teamkeep's hook for this call.
pub fn settings_cover_event(
    occasion: HookEvent<'_>,
    env: &Env,
    paths: &Paths,
    project: Option<&Path>,
) -> bool {
    let user = paths.client.iter().map(|client| client.join("settings.json"));
    let mut own = user.chain([PathBuf::from(MANAGED)]);
    let of_project = |name: &str| Some(project?.join(".claude").join(name));
    own.any(|file| {
        groups(&file, MAX_BYTES, occasion).is_some_and(|groups| owner_runs(&groups, occasion, env))
    }) || ["settings.json", "settings.local.json"].into_iter().filter_map(of_project).any(|file| {
        groups(&file, MOST_OF_PROJECT, occasion)
            .is_some_and(|groups| project_runs(&groups, occasion, env, || installed(&file, paths)))
    })
}

/// The matcher groups of this event in a file, if there may be a hook of teamkeep among them. A file that Claude Code
/// cannot read has none.
fn groups(file: &Path, most: u64, occasion: HookEvent<'_>) -> Option<Vec<Value>> {
    let (content, _) = fs::read_linked(file, most).ok()?;
    groups_in(&content, occasion)
}

fn groups_in(content: &[u8], occasion: HookEvent<'_>) -> Option<Vec<Value>> {
    let content = content.strip_prefix("\u{feff}".as_bytes()).unwrap_or(content);
    // Most files need not be parsed.
    if !content.windows(NAME.len()).any(|part| part == NAME.as_bytes()) {
        return None;
    }
    let mut settings = serde_json::from_slice::<Value>(content).ok()?;
    match settings.get_mut("hooks")?.get_mut(occasion.event)?.take() {
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
    let (content, _) = fs::read_linked(file, MOST_OF_PROJECT).ok()?;
    record.left(&content).then_some(record.command)
}

/// Whether the user's or the administrator's settings run teamkeep's hook.
fn owner_runs(groups: &[Value], occasion: HookEvent<'_>, env: &Env) -> bool {
    let ours =
        groups.iter().filter(|group| hooks(group).any(|hook| is_called(hook, occasion) && runs(hook, env)));
    let mut patterns = PATTERNS;
    ours.into_iter().any(|group| matches(group.get("matcher"), occasion.tool, &mut patterns))
}

/// Whether a project's settings run teamkeep's hook: exactly as `install` writes it, with this program or the
/// installed one.
fn project_runs(
    groups: &[Value],
    occasion: HookEvent<'_>,
    env: &Env,
    installed: impl FnOnce() -> Option<String>,
) -> bool {
    let is_written = |hook: &&Value| {
        is_called(hook, occasion)
            && has_only(hook, &["type", "command", "args", "timeout"])
            && has_time(hook, occasion.event)
    };
    let mut written = groups
        .iter()
        .filter(|group| {
            let matcher = group.get("matcher");
            // Only patterns that `install` writes: Claude Code may interpret others differently, and they may take long.
            let is_written = matcher.and_then(Value::as_str).and_then(Tools::of_matcher).is_some();
            has_only(group, &["matcher", "hooks"])
                && matches(matcher, occasion.tool, &mut usize::from(is_written))
        })
        .flat_map(|group| hooks(group).filter(is_written))
        .filter_map(|hook| program(hook, env))
        .take(PATTERNS)
        .peekable();
    if written.peek().is_none() {
        return false;
    }
    let Some(installed) = installed() else { return false };
    let running = std::env::current_exe().ok();
    let found = on_search_path(env);
    let known = [running.as_deref(), found.as_deref(), Some(Path::new(&installed))];
    written.any(|program| {
        is_executable(&program)
            && known.iter().flatten().any(|known| known.is_absolute() && is_same(known, &program))
    })
}

fn hooks(group: &Value) -> impl Iterator<Item = &Value> {
    group.get("hooks").and_then(Value::as_array).into_iter().flatten()
}

/// Whether Claude Code runs teamkeep with this. A call that itself leaves events to others does not count.
fn is_called(hook: &Value, occasion: HookEvent<'_>) -> bool {
    let is_command = hook.get("type").is_some_and(|kind| kind == "command");
    let yields = || hook_command::of(hook).is_some_and(|words| words.iter().any(|word| word == "--plugin"));
    is_command
        && hook_command::is_ours(hook)
        && !yields()
        && (occasion.knows_args || hook.get("args").is_none())
}

/// Whether the program of a hook exists.
fn runs(hook: &Value, env: &Env) -> bool {
    program(hook, env).is_some_and(|program| is_executable(&program))
}

/// The certain path of a hook's program.
fn program(hook: &Value, env: &Env) -> Option<PathBuf> {
    resolve_trusted(hook_command::of(hook)?.first()?, env)
}

fn has_only(value: &Value, keys: &[&str]) -> bool {
    value
        .as_object()
        .is_some_and(|map: &Map<String, Value>| map.keys().all(|key| keys.contains(&key.as_str())))
}

/// Whether a hook has at least the timeout that `install` sets, and none that 2.1.47 ignores.
fn has_time(hook: &Value, event: &str) -> bool {
    let time = hook.get("timeout").and_then(Value::as_f64);
    time.is_some_and(|time| {
        entries::timeout(event).is_some_and(|least| (least..=MAX_TIMEOUT_SECONDS).contains(&time))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::client::ClientVersion;
    use crate::settings::command::HookProgram;
    use crate::settings::needs::Needs;
    use crate::settings::version::Version;
    use serde_json::json;

    fn occasion<'a>(event: &'a str, tool: Option<&'a str>) -> HookEvent<'a> {
        HookEvent { event, tool, knows_args: true }
    }

    fn env() -> Env {
        Env { search: Some("/usr/bin:/bin".into()), ..Env::default() }
    }

    fn runs_in(content: &str, event: &str, tool: Option<&str>) -> bool {
        let occasion = occasion(event, tool);
        groups_in(content.as_bytes(), occasion).is_some_and(|groups| owner_runs(&groups, occasion, &env()))
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
    fn a_hook_of_ours_at_the_event_runs_and_nothing_else_does() {
        let (_dir, program) = a_program();
        let stop = |hook: &str| format!(r#"{{"hooks": {{"Stop": [{{"hooks": [{{{hook}}}]}}]}}}}"#);
        let with_args = format!(r#""type": "command", "command": "{program}", "args": ["hook", "stop"]"#);
        let line = stop(&format!(r#""type": "command", "command": "{program} hook stop""#));
        let ours = stop(&with_args);
        assert!(runs_in(&ours, "Stop", None) && runs_in(&format!("\u{feff}{ours}"), "Stop", None));
        assert!(runs_in(&line, "Stop", None));
        assert!(!runs_in(&ours, "SessionStart", None));
        let old = HookEvent { knows_args: false, ..occasion("Stop", None) };
        let by_old = |content: &str| owner_runs(&groups_in(content.as_bytes(), old).unwrap(), old, &env());
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
    fn of_a_project_s_only_what_install_writes_counts_and_only_where_it_was_installed() {
        let exe = tempfile::tempdir().unwrap();
        let running = exe.path().join("teamkeep");
        std::os::unix::fs::symlink(std::env::current_exe().unwrap(), &running).unwrap();
        let running = running.to_str().unwrap();
        let (_dir, fake) = a_program();
        let written = |program: &str, version| {
            let client = ClientVersion::Known(version);
            let all = entries::wanted(
                &client,
                &HookProgram::named(program).unwrap(),
                &[],
                &Needs::builtin().unwrap(),
            )
            .unwrap();
            all.into_iter().find(|entry| entry.event == "PreToolUse").unwrap().group
        };
        let at = occasion("PreToolUse", Some("Agent"));
        let installed = |program: &str| Some(program.to_owned());
        let runs = |group: &Value| {
            project_runs(std::slice::from_ref(group), at, &env(), || installed("/gone/teamkeep"))
        };
        for version in [Version(2, 1, 47), Version(2, 1, 328)] {
            let ours = written(running, version);
            assert!(runs(&ours));
            assert!(
                !project_runs(std::slice::from_ref(&ours), at, &env(), || None),
                "nobody installed it here"
            );
            assert!(!runs(&written(&fake, version)), "another program of our name");
            assert!(project_runs(&[written(&fake, version)], at, &env(), || installed(&fake)));
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
    fn patterns_without_end_are_not_looked_at() {
        let (_dir, program) = a_program();
        let hook = json!([{"type": "command", "command": format!("{program} hook pre-tool-use")}]);
        let group = |matcher: &str| json!({"matcher": matcher, "hooks": hook});
        let at = occasion("PreToolUse", Some("Agent"));
        let owner = |groups: &[Value]| owner_runs(groups, at, &env());
        assert!(owner(&[group("^Agent$")]));
        assert!(!owner(&[group(&format!("Agent{}", "|x.".repeat(500)))]));
        assert!(!owner(&[group("(((a{0,99}){0,99}){0,99}|Agent)")]));
        let mut many = vec![group("^other$"); PATTERNS];
        many.push(group("^Agent$"));
        assert!(!owner(&many));
        many.push(group("Agent"));
        assert!(owner(&many), "names cost nothing");
    }
}
