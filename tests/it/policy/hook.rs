//! The policy at the hook, on calls made by hand.

use serde_json::{Value, json};

use super::gate_sandbox::{SESSION, TEAM, busy, shutdown, told, with_carol};
use crate::support::sandbox::Sandbox;

#[test]
fn allowing_one_shutdown_does_not_allow_others() {
    let sandbox = busy("");
    with_carol(&sandbox);
    let allow = |name: &str| assert_eq!(sandbox.run(&["allow", name, "--force"]).code, Some(0));
    let ask = |to: &str| {
        let input = json!({"to": to, "message": {"type": "shutdown_request", "reason": "done"}});
        told(
            &sandbox,
            json!({"hook_event_name": "PreToolUse", "tool_name": "SendMessage", "tool_input": input}),
        )
    };
    allow("@Bob");
    let all = ask("*");
    assert_eq!(all.code, Some(2));
    assert!(all.err.contains("carol") && !all.err.contains("to bob"), "{}", all.err);
    assert_eq!(ask("bob").code, Some(0), "what was blocked has not used it up");
    assert_eq!(ask("bob").code, Some(2), "once");
    allow("bob");
    allow("CAROL");
    assert_eq!(ask("*").code, Some(0));
    assert_eq!((ask("bob").code, ask("carol").code), (Some(2), Some(2)), "both were used up");
}

#[test]
fn a_blocking_idle_gate_allows_the_idle_in_the_end() {
    let sandbox = busy("[policy.idle-with-work]\nmode = \"block\"\n");
    let idle = json!({"hook_event_name": "TeammateIdle", "teammate_name": "bob", "team_name": TEAM, "agent_id": "abob-1", "agent_type": "bob"});
    let codes: Vec<_> = (0..6).map(|_| told(&sandbox, idle.clone()).code).collect();
    assert_eq!(codes[0], Some(2));
    assert!(codes.iter().filter(|code| **code == Some(2)).count() <= 3, "{codes:?}");
    assert_eq!(codes[4..], [Some(0), Some(0)]);
}

#[test]
fn a_completion_is_checked_and_the_end_of_a_turn_is_not() {
    let sandbox = busy("[[policy.completion-check.check]]\nrun = \"echo three tests failed && exit 3\"\n");
    let bob = json!({"agent_id": "abob-1", "agent_type": "bob"});
    let with = |mut payload: Value| {
        payload.as_object_mut().unwrap().extend(bob.as_object().unwrap().clone());
        told(&sandbox, payload)
    };
    let completed = json!({"hook_event_name": "TaskCompleted", "task_id": "2", "task_subject": "Review", "teammate_name": "bob", "team_name": TEAM});
    assert_eq!(with(completed.clone()).code, Some(0), "the end of a turn");
    with(json!({"hook_event_name": "SubagentStart"}));
    let update = json!({"hook_event_name": "PreToolUse", "tool_name": "TaskUpdate", "tool_use_id": "u1", "tool_input": {"taskId": "2", "status": "completed"}});
    assert_eq!(with(update).code, Some(0));
    let result = with(completed);
    assert_eq!(result.code, Some(2), "{}", result.err);
    assert!(result.err.contains("three tests failed") && result.err.contains('3'), "{}", result.err);
}

#[test]
fn a_check_runs_in_the_project_whatever_the_current_directory() {
    let sandbox = busy("[[policy.completion-check.check]]\nrun = \"cd good\"\n");
    let (project, elsewhere) = (sandbox.home().join("parser"), sandbox.home().join("elsewhere"));
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::create_dir(elsewhere.join("good")).unwrap();
    let bob = |mut payload: Value| {
        payload["agent_id"] = json!("abob-1");
        payload["agent_type"] = json!("bob");
        payload
    };
    told(&sandbox, bob(json!({"hook_event_name": "SubagentStart"})));
    let update = json!({"hook_event_name": "PreToolUse", "tool_name": "TaskUpdate", "tool_use_id": "u1", "tool_input": {"taskId": "2", "status": "completed"}});
    told(&sandbox, bob(update));
    let completed = |cwd: &str, env: &[(&str, &str)]| {
        let completed = bob(
            json!({"hook_event_name": "TaskCompleted", "session_id": SESSION, "cwd": cwd, "task_id": "2", "task_subject": "Review", "teammate_name": "bob", "team_name": TEAM}),
        );
        sandbox.feed("", completed.to_string().as_bytes(), env)
    };
    let env = [("CLAUDE_PROJECT_DIR", project.to_str().unwrap())];
    let result = completed(elsewhere.to_str().unwrap(), &env);
    assert_eq!(result.code, Some(2), "{result:?}");
    let gone = completed("/nonexistent", &[]);
    assert!(gone.code == Some(2) && gone.err.contains("does not exist"), "{gone:?}");
    std::fs::create_dir(project.join("good")).unwrap();
    assert_eq!(completed("/nonexistent", &env).code, Some(0));
}

#[test]
fn a_user_rule_blocks_with_its_reason() {
    let rule = "[[rule]]\nname = \"no-force\"\nevents = [\"PreToolUse\"]\ntools = [\"Bash\"]\nmatch = { \"/tool_input/command\" = \"*push --force*\" }\naction = \"block\"\nreason = \"Force pushes are the user's to make.\"\n";
    let sandbox = busy(rule);
    let bash = |command: &str| json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": command}});
    assert_eq!(told(&sandbox, bash("git push")).code, Some(0));
    let result = told(&sandbox, bash("git push --force origin main"));
    assert_eq!(result.code, Some(2));
    assert!(result.err.contains("Force pushes are the user's to make."), "{}", result.err);
    let tries = |sandbox: &Sandbox| -> Vec<_> {
        let again = |_| {
            sandbox.think();
            told(sandbox, bash("git push --force origin main")).code
        };
        (0..4).map(again).collect()
    };
    assert_eq!(tries(&sandbox), [Some(2), Some(2), Some(0), Some(0)], "as any gate");
    let sandbox = busy(&format!("{rule}lasting = true\n"));
    assert_eq!(tries(&sandbox), [Some(2); 4], "however often it is tried");
}

#[test]
fn a_replay_counts_blocks_across_a_pause_and_omits_blocked_requests() {
    let sandbox = busy("");
    let ask = |id: &str| {
        let input = json!({"to": "bob", "message": {"type": "shutdown_request", "reason": "enough"}});
        let payload = json!({"hook_event_name": "PreToolUse", "tool_name": "SendMessage", "tool_use_id": id, "tool_input": input});
        sandbox.think();
        told(&sandbox, payload).code
    };
    let pause = |args: &[&str]| assert_eq!(sandbox.run(args).code, Some(0));
    assert_eq!([ask("t1"), ask("t2")], [Some(2); 2]);
    pause(&["pause", "15m"]);
    assert_eq!(ask("t3"), Some(0));
    pause(&["resume"]);
    assert_eq!([ask("t4"), ask("t5")], [Some(2), Some(0)]);
    let replay = sandbox.replay(TEAM);
    let of = |kind: &str| replay.iter().filter(|entry| entry["kind"] == kind).collect::<Vec<_>>();
    let blocks: Vec<&Value> = of("verdict").iter().filter_map(|entry| entry.get("blocks")).collect();
    assert_eq!(blocks, [&json!(3)]);
    let refused = of("message-refused");
    assert_eq!((refused.len(), of("shutdown-requested").len()), (3, 2), "{replay:#?}");
    assert!(refused[0]["refusal"].as_str().unwrap().starts_with("a shutdown request to bob"));
    let told = sandbox.printed(&["log", TEAM]);
    assert!(!told.contains("tried to ask bob to shut down"), "its verdict names it: {told}");
    let full = sandbox.printed(&["log", TEAM, "--full"]);
    assert!(full.contains("tried to ask bob to shut down\n"), "{full}");
    assert!(
        told.contains("was allowed after 3 blocks: a shutdown request to bob, who still owns task 2"),
        "{told}"
    );
}

#[test]
fn rules_judge_and_count_events_without_a_session() {
    let sandbox = Sandbox::judging();
    sandbox.write_config("[[rule]]\nname = \"r\"\ntools = [\"Bash\"]\naction = \"block\"\nreason = \"no\"\n");
    for session in [Value::Null, json!("../..")] {
        let bash = json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {}, "session_id": session});
        let feed = || {
            sandbox.think();
            sandbox.feed("", bash.to_string().as_bytes(), &[]).code
        };
        let codes = [feed(), feed(), feed(), feed()];
        let expected = if session.is_null() { [Some(2), Some(2), Some(2), Some(0)] } else { [Some(0); 4] };
        assert_eq!(codes, expected, "{session}");
    }
}

#[test]
fn another_case_of_a_name_or_a_stray_task_file_does_not_get_past_the_gate() {
    let ask = |to: &str| json!({"hook_event_name": "PreToolUse", "tool_name": "SendMessage", "tool_input": {"to": to, "message": {"type": "shutdown_request"}}});
    let stop = |word: &str| json!({"hook_event_name": "PreToolUse", "tool_name": "TaskStop", "tool_input": {"task_id": "", "taskId": word}});
    for payload in [ask("bob"), ask("Bob"), ask("@BOB"), stop("bob"), stop("Bob@parser-team")] {
        let sandbox = busy("");
        // The client's own spelling of a name that nobody has puts it in the ledger.
        let spoke = json!({"hook_event_name": "PostToolUse", "tool_name": "SendMessage", "tool_input": {"to": "Bob", "message": "hi"}, "tool_response": {"success": true}});
        assert_eq!(told(&sandbox, spoke).code, Some(0));
        let stray = json!({"id": "2", "subject": "Review", "status": "completed", "owner": "bob"});
        sandbox.write(&format!("tasks/{TEAM}/zz.json"), stray);
        let result = told(&sandbox, payload.clone());
        assert_eq!(result.code, Some(2), "{payload}: {result:?}");
        assert!(result.err.contains("task 2 \"Review\" (in_progress, owner bob)"), "{}", result.err);
    }
    let sandbox = busy("");
    let task = json!({"id": "2", "subject": "Review", "status": "in_progress", "owner": "BOB"});
    sandbox.write(&format!("tasks/{TEAM}/2.json"), task);
    assert_eq!(told(&sandbox, ask("bob")).code, Some(2), "an owner in another case owns it all the same");
}

#[test]
fn a_subagent_type_that_equals_a_teammate_does_not_end_its_turn() {
    let sandbox = busy("[policy]\npremature-shutdown = { open-turn = true }\n");
    let task = json!({"id": "2", "subject": "Review", "status": "completed", "owner": "bob"});
    sandbox.write(&format!("tasks/{TEAM}/2.json"), task);
    let agent = |event: &str, id: &str| {
        told(&sandbox, json!({"hook_event_name": event, "agent_id": id, "agent_type": "bob"}))
    };
    let asks = || {
        let asks: Value = serde_json::from_str(&shutdown("")).unwrap();
        told(&sandbox, asks)
    };
    agent("SubagentStart", "abob-7dfceaaaef47c69e");
    agent("SubagentStart", "a53bab");
    agent("SubagentStop", "a53bab");
    let result = asks();
    assert!(result.code == Some(2) && result.err.contains("in the middle of a turn"), "{result:?}");
    let kinds: Vec<Value> = sandbox.log().iter().map(|line| line["actor"]["kind"].clone()).take(3).collect();
    assert_eq!(kinds, ["teammate", "subagent", "subagent"]);
    agent("SubagentStop", "abob-7dfceaaaef47c69e");
    assert_eq!(asks().code, Some(0));
}
