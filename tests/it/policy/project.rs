//! A project's policy file, as `policy explain`, `policy test` and the hook read it.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::recorded_cases::{explain, file, trace};
use crate::support::sandbox::{CommandResult, Sandbox};

/// A project with a file of its own, and a rule in it that holds back `make`.
fn project(sandbox: &Sandbox, name: &str) -> PathBuf {
    let project = sandbox.home().join(name);
    std::fs::create_dir_all(project.join(".claude")).unwrap();
    let rules = "[policy.protect-lead]\nmode = \"block\"\n[[rule]]\nname = \"no-make\"\ntools = [\"Bash\"]\naction = \"block\"\nreason = \"no\"\n";
    std::fs::write(project.join(".claude/teamkeep.toml"), rules).unwrap();
    project
}

#[test]
fn explain_reads_the_same_project_file_as_the_hook() {
    let sandbox = Sandbox::new();
    let project = project(&sandbox, "lexer");
    let at = |cwd: &PathBuf| {
        json!({"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Bash", "cwd": cwd, "tool_input": {"command": "make"}})
            .to_string()
    };
    let named = ["--project", project.to_str().unwrap()];
    let result = explain(&sandbox, &at(&project), &[]);
    assert!(result.out.contains("verdict    allow\n"), "{}", result.out);
    let file = project.join(".claude/teamkeep.toml");
    assert!(
        result.out.contains(&format!("policy     the active policy, and {}\n", file.display())),
        "{}",
        result.out
    );
    assert!(
        result.err.contains("warning[untrusted]: 1 rule disabled") && result.err.contains("policy trust"),
        "{}",
        result.err
    );
    assert_eq!(
        sandbox.run(&["policy", "trust", "--yes", "--project", project.to_str().unwrap()]).code,
        Some(0)
    );
    for (cwd, args, verdict) in [
        (&project, &[][..], "block rule no-make"),
        (&sandbox.home(), &[], "allow"),
        (&sandbox.home(), &named, "block rule no-make"),
        (&project, &["--policy", "/dev/null"], "allow"),
    ] {
        let result = explain(&sandbox, &at(cwd), args);
        assert!(result.out.contains(&format!("verdict    {verdict}\n")), "{} {}", result.out, result.err);
    }
    let result = explain(&sandbox, &at(&project), &["--project", "/nowhere"]);
    assert!(
        result.code == Some(1)
            && result.err.replace('\\', "/").contains("cannot read the project's policy /nowhere/.claude"),
        "{}",
        result.err
    );
}

#[test]
fn policy_test_reads_the_file_of_its_project() {
    let sandbox = Sandbox::judging();
    let project = project(&sandbox, "lexer");
    let named = project.to_str().unwrap();
    assert_eq!(sandbox.run(&["policy", "trust", "--yes", "--project", named]).code, Some(0));
    let blocked = |args: &[&str], here: &std::path::Path| {
        let trace = trace("v328-inprocess");
        let mut command = sandbox.command(&[&["policy", "test", &trace], args].concat());
        let result: CommandResult = command.current_dir(here).output().unwrap().into();
        result.out.lines().filter(|line| line.contains("rule no-make")).count()
    };
    let all = blocked(&[], &project);
    assert!(all > 0);
    assert_eq!(blocked(&[], &sandbox.home()), 0);
    assert_eq!(blocked(&["--project", named], &sandbox.home()), all);
    assert_eq!(blocked(&["--policy", "/dev/null"], &project), 0, "another policy alone");
    let empty = file(&sandbox, "empty.toml", "");
    assert_eq!(blocked(&["--policy", &empty, "--project", named], &sandbox.home()), all);
    assert_eq!(blocked(&["--against", &empty, "--project", named], &sandbox.home()), 0, "no difference");
}

#[test]
fn untrusted_commands_are_reported_when_a_session_starts() {
    let sandbox = Sandbox::judging();
    let project = project(&sandbox, "my lexer");
    let start = |source: &str| {
        let payload =
            json!({"hook_event_name": "SessionStart", "session_id": "s", "source": source}).to_string();
        let result =
            sandbox.feed("", payload.as_bytes(), &[("CLAUDE_PROJECT_DIR", project.to_str().unwrap())]);
        serde_json::from_str::<Value>(&result.out).unwrap()
    };
    let answer = start("startup");
    let told = answer["systemMessage"].as_str().unwrap();
    // A backslash is escaped.
    let shown = project.to_str().unwrap().replace('\\', "\\\\");
    let command = format!("teamkeep policy trust --project '{shown}'");
    assert!(told.contains("1 rule disabled: not trusted") && told.ends_with(&command), "{told}");
    assert_eq!(answer["hookSpecificOutput"].get("additionalContext"), None, "the model has no say in it");
    assert_eq!(start("compact").get("systemMessage"), None, "once");
    assert_eq!(
        sandbox.run(&["policy", "trust", "--yes", "--project", project.to_str().unwrap()]).code,
        Some(0)
    );
    assert_eq!(start("startup").get("systemMessage"), None);
}
