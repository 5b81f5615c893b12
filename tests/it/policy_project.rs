//! A project's policy file, as `policy explain`, `policy test` and the hook read it.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::policy_trials::{explain, file, trace};
use super::stage::{Said, Stage};

/// A project with a file of its own, and a rule in it that holds back `make`.
fn project(stage: &Stage, name: &str) -> PathBuf {
    let project = stage.home().join(name);
    std::fs::create_dir_all(project.join(".claude")).unwrap();
    let rules = "[policy.protect-lead]\nmode = \"block\"\n[[rule]]\nname = \"no-make\"\ntools = [\"Bash\"]\naction = \"block\"\nreason = \"no\"\n";
    std::fs::write(project.join(".claude/teamkeep.toml"), rules).unwrap();
    project
}

#[test]
fn explain_reads_the_project_s_file_as_the_hook_does() {
    let stage = Stage::new();
    let project = project(&stage, "lexer");
    let at = |cwd: &PathBuf| {
        json!({"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Bash", "cwd": cwd, "tool_input": {"command": "make"}})
            .to_string()
    };
    let named = ["--project", project.to_str().unwrap()];
    let said = explain(&stage, &at(&project), &[]);
    assert!(said.out.contains("verdict    allow\n"), "{}", said.out);
    let file = project.join(".claude/teamkeep.toml");
    assert!(
        said.out.contains(&format!("policy     the active policy, and {}\n", file.display())),
        "{}",
        said.out
    );
    assert!(
        said.err.contains("warning[untrusted]: 1 rule disabled") && said.err.contains("policy trust"),
        "{}",
        said.err
    );
    assert_eq!(
        stage.run(&["policy", "trust", "--yes", "--project", project.to_str().unwrap()]).code,
        Some(0)
    );
    for (cwd, args, verdict) in [
        (&project, &[][..], "block rule no-make"),
        (&stage.home(), &[], "allow"),
        (&stage.home(), &named, "block rule no-make"),
        (&project, &["--policy", "/dev/null"], "allow"),
    ] {
        let said = explain(&stage, &at(cwd), args);
        assert!(said.out.contains(&format!("verdict    {verdict}\n")), "{} {}", said.out, said.err);
    }
    let said = explain(&stage, &at(&project), &["--project", "/nowhere"]);
    assert!(
        said.code == Some(1) && said.err.contains("cannot read the project's policy /nowhere/.claude"),
        "{}",
        said.err
    );
}

#[test]
fn a_test_reads_the_file_of_the_project_that_it_is_made_in() {
    let stage = Stage::judging();
    let project = project(&stage, "lexer");
    let named = project.to_str().unwrap();
    assert_eq!(stage.run(&["policy", "trust", "--yes", "--project", named]).code, Some(0));
    let blocked = |args: &[&str], here: &std::path::Path| {
        let trace = trace("v328-inprocess");
        let mut command = stage.command(&[&["policy", "test", &trace], args].concat());
        let said: Said = command.current_dir(here).output().unwrap().into();
        said.out.lines().filter(|line| line.contains("rule no-make")).count()
    };
    let all = blocked(&[], &project);
    assert!(all > 0);
    assert_eq!(blocked(&[], &stage.home()), 0);
    assert_eq!(blocked(&["--project", named], &stage.home()), all);
    assert_eq!(blocked(&["--policy", "/dev/null"], &project), 0, "another policy alone");
    let empty = file(&stage, "empty.toml", "");
    assert_eq!(blocked(&["--policy", &empty, "--project", named], &stage.home()), all);
    assert_eq!(blocked(&["--against", &empty, "--project", named], &stage.home()), 0, "no difference");
}

#[test]
fn what_a_project_may_not_run_is_told_to_the_user_when_a_session_begins() {
    let stage = Stage::judging();
    let project = project(&stage, "my lexer");
    let start = |source: &str| {
        let payload =
            json!({"hook_event_name": "SessionStart", "session_id": "s", "source": source}).to_string();
        let said = stage.feed("", payload.as_bytes(), &[("CLAUDE_PROJECT_DIR", project.to_str().unwrap())]);
        serde_json::from_str::<Value>(&said.out).unwrap()
    };
    let answer = start("startup");
    let told = answer["systemMessage"].as_str().unwrap();
    let command = format!("teamkeep policy trust --project '{}'", project.display());
    assert!(told.contains("1 rule disabled: not trusted") && told.ends_with(&command), "{told}");
    assert_eq!(answer["hookSpecificOutput"].get("additionalContext"), None, "the model has no say in it");
    assert_eq!(start("compact").get("systemMessage"), None, "once");
    assert_eq!(
        stage.run(&["policy", "trust", "--yes", "--project", project.to_str().unwrap()]).code,
        Some(0)
    );
    let asked_now = start("startup");
    let told = asked_now["systemMessage"].as_str().unwrap();
    assert!(told.contains("is not evaluated") && !told.contains("trusted"), "{told}");
    assert_eq!(stage.run(&["install", "--client-version", "2.1.328"]).code, Some(0));
    assert_eq!(start("startup").get("systemMessage"), None);
}
