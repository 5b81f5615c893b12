//! Runs the hooks' program: whether it answers a payload, with a temporary store, and its version.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Facts;
use super::finding::{Diagnosis, bad, ok, unknown, warn};
use super::program::{build_command, is_by_plugin, named};
use teamkeep_core::client::settings::command::{is_same, on_search_path};
use teamkeep_core::sys::process::{Outcome, Run};

/// Claude Code waits ten seconds for a hook, which needs some milliseconds.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum output in bytes.
const MAX_OUTPUT_BYTES: usize = 64 * 1024;
/// The version of this program.
const OWN: &str = env!("CARGO_PKG_VERSION");

/// Tests each program that may be run.
pub fn check(facts: &Facts<'_>) -> Vec<Diagnosis> {
    let by_plugin = is_by_plugin(facts);
    let mut found: Vec<Diagnosis> = Vec::new();
    for one in &named(facts) {
        let Some(path) = one.path.as_deref().filter(|path| path.is_file()) else { continue };
        let shown = path.display();
        found.push(if !one.is_trusted {
            let why = match by_plugin {
                true => "is outside Claude Code's copy of the plugin",
                false => "is named only in this project's settings",
            };
            unknown(format!("not tested: {shown} {why}"))
        } else {
            match attempt(facts, path) {
                Ok(took) => {
                    ok(format!("{shown} recorded and answered a test hook call in {} ms", took.as_millis()))
                }
                Err(why) => bad(format!("{shown} {why}")).with_fix(match by_plugin {
                    true => build_command(facts),
                    false => format!("reinstall teamkeep, then: {}", facts.install()),
                }),
            }
        });
    }
    if found.is_empty() {
        found.push(unknown("no program to test"));
    }
    found
}

/// A command with only the search path in its environment.
fn command(facts: &Facts<'_>, program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().envs(facts.env.search.as_deref().map(|search| ("PATH", search)));
    command
}

/// One call with a temporary store: its duration, or the problem.
fn attempt(facts: &Facts<'_>, program: &Path) -> Result<Duration, String> {
    let cannot = |error: io::Error| format!("could not be tested: {error}");
    let scratch = tempfile::tempdir().map_err(cannot)?;
    let store = scratch.path().join("record");
    let mut command = command(facts, program);
    command.args(["hook", "user-prompt-submit"]).current_dir(scratch.path());
    command.env("TEAMKEEP_HOME", &store);
    for name in ["HOME", "CLAUDE_CONFIG_DIR", "CLAUDE_PROJECT_DIR"] {
        command.env(name, scratch.path());
    }
    let stdin = input(&payload(scratch.path())).map_err(cannot)?;
    let run = Run { stdin, until_closed: true, ..Run::new(command, TIMEOUT) };
    let start = Instant::now();
    let (outcome, output) =
        run.collect(MAX_OUTPUT_BYTES).map_err(|error| format!("cannot be run: {error}"))?;
    let took = start.elapsed();
    check_response(outcome, &output)?;
    let segments = teamkeep_core::store::log::list(&store.join("log")).unwrap_or_default();
    match segments.iter().any(|segment| segment.size > 0) {
        true => Ok(took),
        false => Err("answered a test hook call, but recorded nothing".to_owned()),
    }
}

/// A stdin with this payload, which fits into a pipe, so that writing it does not wait for a reader.
fn input(payload: &Value) -> io::Result<Stdio> {
    let (reader, mut writer) = io::pipe()?;
    writer.write_all(payload.to_string().as_bytes())?;
    Ok(Stdio::from(reader))
}

/// A payload that blocks nothing and names no team.
fn payload(dir: &Path) -> Value {
    json!({
        "session_id": "00000000-0000-4000-8000-000000000000",
        "transcript_path": dir.join("projects/none/none.jsonl"),
        "cwd": dir,
        "hook_event_name": "UserPromptSubmit",
        "prompt": "teamkeep doctor",
    })
}

fn check_response(outcome: Outcome, output: &[u8]) -> Result<(), String> {
    match outcome {
        Outcome::TimedOut => Err(format!("did not respond within {} seconds", TIMEOUT.as_secs())),
        Outcome::Ended(status) if !status.success() => {
            let code = status.code().map_or("a signal".to_owned(), |code| format!("exit code {code}"));
            Err(format!("ended a test hook call with {code}"))
        }
        Outcome::Ended(_)
            if output.trim_ascii().is_empty()
                || serde_json::from_slice::<Value>(output).is_ok_and(|value| value.is_object()) =>
        {
            Ok(())
        }
        Outcome::Ended(_) | Outcome::Stopped => Err("printed output that is not a JSON object".to_owned()),
    }
}

/// Checks that the hooks' program, the one on the search path and this one have the same version.
pub fn versions(facts: &Facts<'_>) -> Diagnosis {
    let running = std::env::current_exe().unwrap_or_default();
    // By the path that the user knows.
    let running = on_search_path(facts.env).filter(|found| is_same(found, &running)).unwrap_or(running);
    let hooks = named(facts).into_iter().filter(|one| one.is_trusted).filter_map(|one| one.path);
    let mut versions: Vec<(PathBuf, String)> = Vec::new();
    for path in hooks.chain(on_search_path(facts.env)).filter(|path| path.is_file()) {
        if !is_same(&path, &running) && !versions.iter().any(|(known, _)| is_same(known, &path)) {
            let version = version_of(facts, &path);
            versions.push((path, version));
        }
    }
    compare(&running, &versions, &facts.install())
}

fn compare(running: &Path, others: &[(PathBuf, String)], install: &str) -> Diagnosis {
    if others.is_empty() {
        return ok(format!("teamkeep {OWN} is the only installed version"));
    }
    let all = others.iter().map(|(path, version)| format!("{} is {version}", path.display()));
    let what = format!("{} is {OWN}, {}", running.display(), all.collect::<Vec<_>>().join(", "));
    if others.iter().all(|(_, version)| version == OWN) {
        return ok(what);
    }
    warn(format!("two versions: {what}")).with_fix(format!("keep only the newest version, then: {install}"))
}

fn version_of(facts: &Facts<'_>, path: &Path) -> String {
    let mut command = command(facts, path);
    command.arg("--version").current_dir("/");
    let run = Run { until_closed: true, ..Run::new(command, TIMEOUT) };
    match run.collect(MAX_OUTPUT_BYTES) {
        Ok((Outcome::Ended(status), out)) if status.success() => {
            let out = String::from_utf8_lossy(&out);
            let version = out.strip_prefix("teamkeep ").and_then(|rest| rest.split_whitespace().next());
            version.unwrap_or("not teamkeep").to_owned()
        }
        Ok((Outcome::TimedOut, _)) => "not responding".to_owned(),
        _ => "failing".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    #[test]
    fn response_is_empty_or_one_object() {
        let check =
            |code: i32, out: &str| check_response(Outcome::Ended(ExitStatus::from_raw(code)), out.as_bytes());
        assert!(check(0, "").is_ok() && check(0, " \n").is_ok());
        assert!(check(0, &json!({"continue": true}).to_string()).is_ok());
        for (code, out) in [(0, "hello"), (0, "[]"), (2 << 8, ""), (9, "")] {
            assert!(check(code, out).is_err(), "{code:?} {out}");
        }
        assert_eq!(check(9, "").unwrap_err(), "ended a test hook call with a signal");
        assert_eq!(check_response(Outcome::TimedOut, b"").unwrap_err(), "did not respond within 5 seconds");
    }

    #[test]
    fn different_versions_are_reported() {
        let compare = |others: &[(PathBuf, String)]| {
            super::compare(Path::new("/a/teamkeep"), others, "teamkeep install")
        };
        let other = |version: &str| [(PathBuf::from("/b/teamkeep"), version.to_owned())];
        assert_eq!(compare(&[]).verdict, Verdict::Ok);
        assert_eq!(compare(&other(OWN)).verdict, Verdict::Ok);
        let finding = compare(&other("0.0.9"));
        assert_eq!(finding.verdict, Verdict::Warn);
        assert_eq!(finding.what, format!("two versions: /a/teamkeep is {OWN}, /b/teamkeep is 0.0.9"));
    }
}
