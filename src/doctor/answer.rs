//! Tests whether the hooks' program answers a payload, with a temporary store.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::code::Code;
use super::facts::Facts;
use super::finding::Finding;
use super::plugin;
use super::program::{NamedProgram, is_by_plugin};
use super::run_command::{self, Outcome};

/// Claude Code waits ten seconds for a hook, which needs some milliseconds.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Tests each program that may be run.
pub fn check(facts: &Facts<'_>, named: &[NamedProgram]) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    let by_plugin = is_by_plugin(facts);
    for one in named {
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
    let mut env = vec![
        ("TEAMKEEP_HOME", store.as_os_str()),
        ("HOME", scratch.path().as_os_str()),
        ("CLAUDE_CONFIG_DIR", scratch.path().as_os_str()),
        ("CLAUDE_PROJECT_DIR", scratch.path().as_os_str()),
    ];
    env.extend(facts.env.search.as_deref().map(|search| ("PATH", search)));
    let stdin = payload(scratch.path()).to_string();
    let args = ["hook", "user-prompt-submit"];
    let outcome = run_command::run(program, &args, stdin.as_bytes(), scratch.path(), &env, TIMEOUT);
    let took = judge(outcome)?;
    match has_recorded(&store) {
        true => Ok(took),
        false => Err("answered a test hook call, but recorded nothing".to_owned()),
    }
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
fn judge(outcome: Outcome) -> Result<Duration, String> {
    match outcome {
        Outcome::Unstartable(why) => Err(format!("cannot be run: {why}")),
        Outcome::Hung => Err(format!("did not respond within {} seconds", TIMEOUT.as_secs())),
        Outcome::Ended { code, .. } if code != Some(0) => {
            let code = code.map_or("a signal".to_owned(), |code| format!("exit code {code}"));
            Err(format!("ended a test hook call with {code}"))
        }
        Outcome::Ended { out, took, .. } => {
            let answer = out.trim();
            let is_object = || serde_json::from_str::<Value>(answer).is_ok_and(|answer| answer.is_object());
            match answer.is_empty() || is_object() {
                true => Ok(took),
                false => Err("printed output that is not a JSON object".to_owned()),
            }
        }
    }
}

fn has_recorded(store: &Path) -> bool {
    let segments = crate::log::list(&store.join("log")).unwrap_or_default();
    segments.iter().any(|segment| segment.size > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_nothing_or_one_object() {
        let ended = |code, out: &str| Outcome::Ended {
            code,
            out: out.to_owned(),
            err: String::new(),
            took: Duration::ZERO,
        };
        assert!(judge(ended(Some(0), "")).is_ok());
        assert!(judge(ended(Some(0), &json!({"continue": true}).to_string())).is_ok());
        for (code, out) in [(Some(0), "hello"), (Some(0), "[]"), (Some(2), ""), (None, "")] {
            assert!(judge(ended(code, out)).is_err(), "{code:?} {out}");
        }
        assert_eq!(judge(Outcome::Hung).unwrap_err(), "did not respond within 5 seconds");
    }
}
