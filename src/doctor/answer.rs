//! Tests whether the hooks' program answers a payload, with a temporary store.

use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::code::Code;
use super::facts::Facts;
use super::finding::Finding;
use super::plugin;
use super::program::{is_by_plugin, named};
use crate::process::supervise::{Outcome, Run, Until};

/// Claude Code waits ten seconds for a hook, which needs some milliseconds.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum output in bytes.
const MAX_OUTPUT_BYTES: usize = 64 * 1024;

/// Tests each program that may be run.
pub fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    let by_plugin = is_by_plugin(facts);
    for one in &named(facts) {
        let Some(path) = one.path.as_deref().filter(|path| path.is_file()) else { continue };
        if !one.is_trusted {
            let why = if by_plugin {
                "is outside Claude Code's copy of the plugin"
            } else {
                "is named only in this project's settings"
            };
            let what = format!("not tested: {} {why}", path.display());
            found.push(Finding::unknown(Code::HookAnswer, what));
            continue;
        }
        found.push(match attempt(facts, path) {
            Ok(took) => {
                let what = format!(
                    "{} recorded and answered a test hook call in {} ms",
                    path.display(),
                    took.as_millis()
                );
                Finding::ok(Code::HookAnswer, what)
            }
            Err(why) => {
                Finding::bad(Code::HookAnswer, format!("{} {why}", path.display())).with_fix(if by_plugin {
                    plugin::build(facts)
                } else {
                    format!("reinstall teamkeep, then: {}", facts.install())
                })
            }
        });
    }
    if found.is_empty() {
        found.push(Finding::unknown(Code::HookAnswer, "no program to test"));
    }
    found
}

/// One call with a temporary store: its duration, or the problem.
fn attempt(facts: &Facts<'_>, program: &Path) -> Result<Duration, String> {
    let cannot = |error: std::io::Error| format!("could not be tested: {error}");
    let scratch = tempfile::tempdir().map_err(cannot)?;
    let store = scratch.path().join("record");
    let mut command = Command::new(program);
    command.args(["hook", "user-prompt-submit"]).current_dir(scratch.path()).env_clear();
    command.env("TEAMKEEP_HOME", &store);
    for name in ["HOME", "CLAUDE_CONFIG_DIR", "CLAUDE_PROJECT_DIR"] {
        command.env(name, scratch.path());
    }
    command.envs(facts.env.search.as_deref().map(|search| ("PATH", search)));
    let stdin = input(&payload(scratch.path())).map_err(cannot)?;
    let run = Run { stdin, until: Until::OutputClosed, ..Run::new(command, TIMEOUT) };
    let start = Instant::now();
    let (outcome, output) =
        run.collect(MAX_OUTPUT_BYTES).map_err(|error| format!("cannot be run: {error}"))?;
    let took = start.elapsed();
    check_response(outcome, &output)?;
    match has_recorded(&store) {
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

/// Checks the response of a hook.
fn check_response(outcome: Outcome, output: &[u8]) -> Result<(), String> {
    match outcome {
        Outcome::TimedOut => Err(format!("did not respond within {} seconds", TIMEOUT.as_secs())),
        Outcome::Ended(status) if !status.success() => {
            let code = status.code().map_or("a signal".to_owned(), |code| format!("exit code {code}"));
            Err(format!("ended a test hook call with {code}"))
        }
        Outcome::Ended(_) if output.trim_ascii().is_empty() => Ok(()),
        Outcome::Ended(_) if serde_json::from_slice::<Value>(output).is_ok_and(|value| value.is_object()) => {
            Ok(())
        }
        Outcome::Ended(_) | Outcome::Stopped => Err("printed output that is not a JSON object".to_owned()),
    }
}

fn has_recorded(store: &Path) -> bool {
    let segments = crate::log::list(&store.join("log")).unwrap_or_default();
    segments.iter().any(|segment| segment.size > 0)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    #[test]
    fn an_answer_is_nothing_or_one_object() {
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
}
