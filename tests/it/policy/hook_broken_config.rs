//! Policy files that cannot be used, or can no longer: it is told and on record, and the defaults stand.

use std::path::Path;

use serde_json::{Value, json};

use super::gate_sandbox::{SESSION, TEAM, busy, pairs, shutdown, told, verdicts};
use crate::support::sandbox::Sandbox;

#[test]
fn a_broken_policy_is_reported_at_the_start_of_a_session() {
    let sandbox = busy("[policy.idle-with-work]\nmode = \"never\"\n");
    let result = told(&sandbox, json!({"hook_event_name": "SessionStart", "source": "startup"}));
    let answer: Value = serde_json::from_str(&result.out).unwrap();
    let context = answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(context.contains("teamkeep.toml:2:8") && answer["systemMessage"] == context, "{answer}");
    assert_eq!(answer["hookSpecificOutput"]["watchPaths"].as_array().unwrap().len(), 2);
    assert!(!context.contains("never"), "nothing of what the file says: {context}");
}

#[test]
fn an_unusable_policy_follows_on_error() {
    let broken = "[policy]\non-error = \"block\"\nmax-blocks = \"x\"\n";
    let bash = json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}});
    let task = |event: &str| json!({"hook_event_name": event, "task_id": "2", "task_subject": "Review", "team_name": TEAM});
    let sandbox = busy(broken);
    for payload in [bash.clone(), task("TaskCreated")] {
        let result = told(&sandbox, payload);
        assert_eq!(result.code, Some(2), "{}", result.err);
        assert!(result.err.contains("teamkeep.toml:3:14") && result.err.contains("teamkeep config check"));
    }
    let idle = json!({"hook_event_name": "TeammateIdle", "teammate_name": "bob", "team_name": TEAM, "agent_id": "abob-1", "agent_type": "bob"});
    // A task is also announced as completed at the end of a turn, at each one again.
    let completed = task("TaskCompleted");
    let ends = [json!({"hook_event_name": "Stop"}), json!({"hook_event_name": "SubagentStop"})];
    for payload in [idle, completed.clone(), completed].into_iter().chain(ends) {
        assert_eq!(told(&sandbox, payload).code, Some(0));
    }
    sandbox.write_config("");
    let log = sandbox.log();
    assert!(log.iter().any(|line| line["event"] == "PreToolUse"), "it is on record: {log:?}");
    let sandbox = busy(&broken.replace("block\"", "allow\""));
    assert_eq!(told(&sandbox, bash.clone()).code, Some(0));
    let alone = Sandbox::judging();
    alone.write_config(broken);
    assert_eq!(told(&alone, bash).code, Some(0), "a session without a team");
}

#[cfg(unix)]
#[test]
fn an_unusable_policy_is_reported_at_session_start_by_check_and_in_each_verdict() {
    type Make = fn(&Path);
    let ways: [(&str, Make); 3] = [
        ("broken link", |path| std::os::unix::fs::symlink("nowhere", path).unwrap()),
        ("pipe", |path| rustix::fs::mkfifoat(rustix::fs::CWD, path, rustix::fs::Mode::RWXU).unwrap()),
        ("unknown key", |path| std::fs::write(path, "[polcy]\n").unwrap()),
    ];
    for (what, make) in ways {
        let sandbox = busy("");
        let path = sandbox.home().parent().unwrap().join("teamkeep.toml");
        std::fs::remove_file(&path).unwrap();
        make(&path);
        let dressed = |sandbox: &Sandbox, payload: Value| {
            let mut payload = payload;
            payload["session_id"] = json!(SESSION);
            sandbox.feed("", payload.to_string().as_bytes(), &[("TEAMKEEP_CONFIG", path.to_str().unwrap())])
        };
        let result = dressed(&sandbox, json!({"hook_event_name": "SessionStart", "source": "startup"}));
        let answer: Value = serde_json::from_str(&result.out).unwrap();
        let context = answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
        assert!(context.contains("teamkeep.toml") && answer["systemMessage"] == context, "{what}: {answer}");
        let mut check = sandbox.command(&["config", "check"]);
        let check = check.env("TEAMKEEP_CONFIG", &path).output().unwrap();
        assert_eq!(check.status.code(), Some(1), "{what}");
        assert!(String::from_utf8(check.stdout).unwrap().starts_with("error["), "{what}");
        let bash =
            json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}});
        assert_eq!(dressed(&sandbox, bash).code, Some(0));
        let asks: Value = serde_json::from_str(&shutdown("")).unwrap();
        assert_eq!(dressed(&sandbox, asks).code, Some(2), "the defaults stand");
        std::fs::remove_file(&path).unwrap();
        let unusable = ("policy-unusable", "allow");
        assert_eq!(
            pairs(&verdicts(&sandbox)),
            [unusable, ("shutdown-of-busy-teammate", "block"), unusable],
            "{what}"
        );
    }
}

#[test]
fn an_unusable_file_that_blocks_is_recorded_at_each_event() {
    let sandbox = busy("[policy]\non-error = \"block\"\nmax-blocks = \"x\"\n");
    let bash = json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}});
    assert_eq!(told(&sandbox, bash).code, Some(2));
    assert_eq!(told(&sandbox, json!({"hook_event_name": "Stop"})).code, Some(0));
    assert_eq!(pairs(&verdicts(&sandbox)), [("policy-unusable", "block"), ("policy-unusable", "allow")]);
}

#[test]
fn a_relative_configuration_path_is_reported() {
    for name in ["teamkeep.toml", "/nowhere/teamkeep.toml"] {
        let sandbox = busy("");
        std::fs::write(
            sandbox.home().join("parser/teamkeep.toml"),
            "[policy.premature-shutdown]\nmode = \"off\"\n",
        )
        .unwrap();
        let env = [("TEAMKEEP_CONFIG", name)];
        let start = json!({"hook_event_name": "SessionStart", "session_id": SESSION, "source": "startup"})
            .to_string();
        let result = sandbox.feed("", start.as_bytes(), &env);
        let answer: Value = serde_json::from_str(&result.out).unwrap();
        let told = answer["systemMessage"].as_str().unwrap();
        assert!(told.contains(&format!("unreadable at {name}")), "{told}");
        assert_eq!(sandbox.feed("", shutdown("").as_bytes(), &env).code, Some(2), "the defaults stand");
        let check = sandbox.command(&["config", "check"]).env("TEAMKEEP_CONFIG", name).output().unwrap();
        assert_eq!(check.status.code(), Some(1));
        let told = String::from_utf8(check.stdout).unwrap();
        assert!(told.starts_with("error[unreadable]: TEAMKEEP_CONFIG "), "{told}");
        assert!(told.contains(&format!("--> {name}\n")), "{told}");
        let result =
            sandbox.command(&["prune", "--keep", "1"]).env("TEAMKEEP_CONFIG", name).output().unwrap();
        assert_eq!(result.status.code(), Some(1));
        let found = verdicts(&sandbox);
        assert_eq!(pairs(&found), [("shutdown-of-busy-teammate", "block"), ("policy-unusable", "allow")]);
    }
}

#[cfg(unix)]
#[test]
fn an_unreadable_configuration_path_is_reported_by_hook_check_and_explain() {
    let sandbox = Sandbox::judging();
    std::fs::write(sandbox.home().join("file"), "").unwrap();
    let usual = sandbox.home().join(".config/teamkeep/teamkeep.toml");
    std::fs::create_dir_all(usual.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink("nowhere", &usual).unwrap();
    let below = sandbox.home().join("file/teamkeep.toml");
    for env in [vec![("TEAMKEEP_CONFIG", below.to_str().unwrap())], Vec::new()] {
        let start = json!({"hook_event_name": "SessionStart", "source": "startup", "session_id": SESSION});
        let result = sandbox.feed("", start.to_string().as_bytes(), &env);
        assert!(result.out.contains("ignoring an invalid policy file"), "{env:?}: {result:?}");
        let command = |args: &[&str]| {
            let mut command = sandbox.command(args);
            command.envs(env.iter().copied());
            crate::support::sandbox::feed(&mut command, br#"{"hook_event_name":"Stop"}"#)
        };
        let check = command(&["config", "check"]);
        assert!(check.code == Some(1) && check.out.contains("error[unreadable]"), "{env:?}: {check:?}");
        let explain = command(&["policy", "explain"]);
        assert!(explain.code == Some(1) && explain.err.contains("teamkeep.toml"), "{env:?}: {explain:?}");
    }
}

#[test]
fn rules_that_lose_trust_during_a_session_are_reported_and_recorded_once() {
    let sandbox = Sandbox::judging();
    let file = sandbox.home().join("parser/.claude/teamkeep.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let rule = "[[rule]]\nname = \"r\"\ntools = [\"Bash\"]\naction = \"block\"\nreason = \"no\"\n";
    std::fs::write(&file, rule).unwrap();
    assert_eq!(sandbox.run(&["policy", "trust", "--yes"]).code, Some(0));
    let call = |session: &str| {
        let bash = json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}, "session_id": session});
        sandbox.feed("", bash.to_string().as_bytes(), &[])
    };
    assert_eq!(call(SESSION).code, Some(2));
    for (change, session) in
        [("# one\n", SESSION), ("[polcy]\n", SESSION), ("# two\n", SESSION), ("# two\n", "other")]
    {
        std::fs::write(&file, format!("{rule}{change}")).unwrap();
        let result = call(session);
        let answer: Value = serde_json::from_str(&result.out).unwrap();
        let words = answer["systemMessage"].as_str().unwrap();
        assert!(words.contains("changed after it was trusted") && result.code == Some(0), "{words}");
        assert!(answer.get("hookSpecificOutput").is_none(), "it is the user's to trust");
        assert_eq!(call(session).out, "", "once");
    }
    let told = verdicts(&sandbox);
    let codes: Vec<_> =
        pairs(&told).into_iter().filter(|pair| *pair == ("policy-untrusted", "allow")).collect();
    assert_eq!(codes.len(), 4, "{told:?}");
}
