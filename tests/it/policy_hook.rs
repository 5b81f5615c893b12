//! The policy at the hook: on recorded runs, and on calls made by hand.

use serde_json::{Value, json};

use super::reenact::{Trace, local};
use super::stage::{Said, Stage};

/// The lead's session.
const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";
/// The team.
const TEAM: &str = "parser-team";
const BEGAN: &str = "2026-02-03T04:05:06.000Z";

/// Whom a call asks to stop, if it is about to.
fn asked(payload: &Value) -> Option<&str> {
    let input = &payload["tool_input"];
    let asks = input["message"]["type"] == "shutdown_request" || input["type"] == "shutdown_request";
    (payload["hook_event_name"] == "PreToolUse" && asks).then(|| input["recipient"].as_str().unwrap())
}

/// The first request to each teammate, and how the hook answered it.
fn requests(answers: &[(Value, Said)]) -> Vec<(&str, &Said)> {
    let mut first: Vec<(&str, &Said)> = Vec::new();
    for (payload, said) in answers {
        if let Some(name) = asked(payload).filter(|name| !first.iter().any(|(known, _)| known == name)) {
            first.push((name, said));
        }
    }
    first
}

#[test]
fn the_premature_shutdown_of_every_recorded_run_is_held_back() {
    for name in ["v47-inprocess", "v177-inprocess", "v328-inprocess", "v328-panes"] {
        let stage = Stage::judging();
        let answers = Trace::read(name, BEGAN).answers(&stage);
        let mut requests = requests(&answers);
        requests.sort_by_key(|(name, _)| *name);
        let codes: Vec<_> = requests.iter().map(|(name, said)| (*name, said.code)).collect();
        assert_eq!(codes, [("alice", Some(0)), ("bob", Some(2)), ("carol", Some(0))], "{name}");
        let reason = &requests[1].1.err;
        assert!(reason.contains("task 2") && requests[1].1.out.is_empty(), "{name}: {reason}");
        let blocked = answers.iter().filter(|(_, said)| said.code == Some(2)).count();
        assert_eq!(blocked, 2, "{name}: the request, and bob's own approval");
        assert!(answers.iter().all(|(_, said)| matches!(said.code, Some(0 | 2))), "{name}");
        let one_object =
            |said: &Said| said.out.is_empty() || serde_json::from_str::<Value>(&said.out).is_ok();
        assert!(answers.iter().all(|(_, said)| one_object(said)), "{name}");
    }
}

#[test]
fn whom_no_hook_names_the_transcripts_name_in_the_story_of_a_verdict() {
    let stage = Stage::judging();
    Trace::read("v47-inprocess", BEGAN).answers(&stage);
    stage.finish();
    let verdicts: Vec<Value> = stage.log().into_iter().filter(|line| line["event"] == "Verdict").collect();
    assert!(verdicts.iter().any(|line| line["actor"]["kind"] == "unknown"), "{verdicts:?}");
    let entries = stage.replay("latest");
    let told: Vec<&Value> = entries.iter().filter(|entry| entry["kind"] == "verdict").collect();
    assert_eq!(told.len(), verdicts.len());
    assert!(told.iter().all(|entry| entry["actor"] != "unknown"), "{told:?}");
    let block = told.iter().find(|entry| entry["decision"] == "block").unwrap();
    assert_eq!(block["actor"], "team-lead");
}

#[test]
fn a_team_without_tasks_is_warned_and_never_held_back() {
    let stage = Stage::judging();
    let answers = Trace::read("v328-notasks", BEGAN).answers(&stage);
    assert!(answers.iter().all(|(_, said)| said.code == Some(0)));
}

#[test]
fn the_fourth_try_goes_through_and_is_told() {
    let stage = Stage::judging();
    let mut trace = Trace::read("v328-inprocess", BEGAN);
    let place = trace.steps.iter().position(|step| asked(&step["payload"]) == Some("bob")).unwrap();
    let request = trace.steps[place]["payload"].to_string();
    trace.steps.truncate(place);
    trace.answers(&stage);
    let tries: Vec<Said> =
        (0..5).map(|_| stage.feed("pre-tool-use", local(&stage, &request).as_bytes(), &[])).collect();
    let codes: Vec<_> = tries.iter().map(|said| said.code).collect();
    assert_eq!(codes, [Some(2), Some(2), Some(2), Some(0), Some(0)]);
    let told: Value = serde_json::from_str(&tries[3].out).unwrap();
    let words = told["systemMessage"].as_str().unwrap();
    let start =
        "teamkeep let this through after blocking it 3 times (premature-shutdown: a shutdown request to bob";
    assert!(words.starts_with(start) && !words.contains("Refused"), "{words}");
    let log = stage.log();
    let verdicts: Vec<_> =
        log.iter().filter(|line| line["event"] == "Verdict").map(|line| &line["verdict"]).collect();
    let last = verdicts.last().unwrap();
    assert_eq!(
        (&last["decision"], &last["escalated"], &last["gate"]),
        (&json!("allow"), &json!(true), &json!("premature-shutdown"))
    );
}

#[test]
fn a_human_lets_one_shutdown_through_or_pauses_the_gate() {
    let stage = Stage::judging();
    let mut trace = Trace::read("v328-inprocess", BEGAN);
    let place = trace.steps.iter().position(|step| asked(&step["payload"]) == Some("bob")).unwrap();
    let request = trace.steps[place]["payload"].to_string();
    trace.steps.truncate(place);
    trace.answers(&stage);
    let ask = || stage.feed("pre-tool-use", local(&stage, &request).as_bytes(), &[]).code;
    assert_eq!(stage.run(&["policy", "allow", "shutdown", "bob"]).code, Some(0));
    assert_eq!((ask(), ask()), (Some(0), Some(2)), "once");
    assert_eq!(stage.run(&["policy", "pause", "--gate", "premature-shutdown", "15m"]).code, Some(0));
    assert_eq!(ask(), Some(0));
    assert_eq!(stage.run(&["policy", "resume", "--gate", "premature-shutdown"]).code, Some(0));
    assert_eq!(ask(), Some(2));
}

#[test]
fn who_lets_one_teammate_go_lets_nobody_else_go_with_it() {
    let stage = busy("");
    let names = ["team-lead", "bob", "carol"].map(|name| json!({"name": name}));
    let config = json!({"name": TEAM, "createdAt": 1, "leadSessionId": SESSION, "members": names});
    stage.write(&format!("teams/{TEAM}/config.json"), config);
    let task = json!({"id": "3", "subject": "Test", "status": "in_progress", "owner": "carol", "blocks": [], "blockedBy": []});
    stage.write(&format!("tasks/{TEAM}/3.json"), task);
    let allow = |name: &str| assert_eq!(stage.run(&["policy", "allow", "shutdown", name]).code, Some(0));
    let ask = |to: &str| {
        let input = json!({"to": to, "message": {"type": "shutdown_request", "reason": "done"}});
        told(
            &stage,
            json!({"hook_event_name": "PreToolUse", "tool_name": "SendMessage", "tool_input": input}),
        )
    };
    allow("@Bob");
    let all = ask("*");
    assert_eq!(all.code, Some(2));
    assert!(all.err.contains("carol") && !all.err.contains("to bob"), "{}", all.err);
    assert_eq!(ask("bob").code, Some(0), "what was held back has not used it up");
    assert_eq!(ask("bob").code, Some(2), "once");
    allow("bob");
    allow("CAROL");
    assert_eq!(ask("*").code, Some(0));
    assert_eq!((ask("bob").code, ask("carol").code), (Some(2), Some(2)), "both were used up");
}

/// A stage with a policy, a team and a task that bob has begun.
fn busy(policy: &str) -> Stage {
    let stage = Stage::judging();
    stage.write_config(policy);
    let config = json!({"name": TEAM, "createdAt": 1, "leadSessionId": SESSION, "members": [{"name": "team-lead"}, {"name": "bob"}]});
    stage.write(&format!("teams/{TEAM}/config.json"), config);
    let task = json!({"id": "2", "subject": "Review", "status": "in_progress", "owner": "bob", "blocks": [], "blockedBy": []});
    stage.write(&format!("tasks/{TEAM}/2.json"), task);
    stage
}

fn told(stage: &Stage, mut payload: Value) -> Said {
    payload["session_id"] = json!(SESSION);
    payload["cwd"] = json!(stage.home().join("parser"));
    stage.feed("", payload.to_string().as_bytes(), &[])
}

#[test]
fn an_idle_gate_that_blocks_comes_to_an_end() {
    let stage = busy("[policy.idle-with-work]\nmode = \"block\"\n");
    let idle = json!({"hook_event_name": "TeammateIdle", "teammate_name": "bob", "team_name": TEAM, "agent_id": "abob-1", "agent_type": "bob"});
    let codes: Vec<_> = (0..6).map(|_| told(&stage, idle.clone()).code).collect();
    assert_eq!(codes[0], Some(2));
    assert!(codes.iter().filter(|code| **code == Some(2)).count() <= 3, "{codes:?}");
    assert_eq!(codes[4..], [Some(0), Some(0)]);
}

#[test]
fn a_completion_is_checked_and_the_end_of_a_turn_is_not() {
    let stage = busy("[[policy.completion-check.check]]\nrun = \"echo three tests failed; exit 3\"\n");
    let bob = json!({"agent_id": "abob-1", "agent_type": "bob"});
    let with = |mut payload: Value| {
        payload.as_object_mut().unwrap().extend(bob.as_object().unwrap().clone());
        told(&stage, payload)
    };
    let completed = json!({"hook_event_name": "TaskCompleted", "task_id": "2", "task_subject": "Review", "teammate_name": "bob", "team_name": TEAM});
    assert_eq!(with(completed.clone()).code, Some(0), "the end of a turn");
    with(json!({"hook_event_name": "SubagentStart"}));
    let update = json!({"hook_event_name": "PreToolUse", "tool_name": "TaskUpdate", "tool_use_id": "u1", "tool_input": {"taskId": "2", "status": "completed"}});
    assert_eq!(with(update).code, Some(0));
    let said = with(completed);
    assert_eq!(said.code, Some(2), "{}", said.err);
    assert!(said.err.contains("three tests failed") && said.err.contains('3'), "{}", said.err);
}

#[test]
fn a_check_runs_in_the_project_and_not_where_the_teammate_went() {
    let stage = busy("[[policy.completion-check.check]]\nrun = \"test -e good\"\n");
    let (project, elsewhere) = (stage.home().join("parser"), stage.home().join("elsewhere"));
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::write(elsewhere.join("good"), "").unwrap();
    let bob = |mut payload: Value| {
        payload["agent_id"] = json!("abob-1");
        payload["agent_type"] = json!("bob");
        payload
    };
    told(&stage, bob(json!({"hook_event_name": "SubagentStart"})));
    let update = json!({"hook_event_name": "PreToolUse", "tool_name": "TaskUpdate", "tool_use_id": "u1", "tool_input": {"taskId": "2", "status": "completed"}});
    told(&stage, bob(update));
    let completed = |cwd: &str, env: &[(&str, &str)]| {
        let completed = bob(
            json!({"hook_event_name": "TaskCompleted", "session_id": SESSION, "cwd": cwd, "task_id": "2", "task_subject": "Review", "teammate_name": "bob", "team_name": TEAM}),
        );
        stage.feed("", completed.to_string().as_bytes(), env)
    };
    let env = [("CLAUDE_PROJECT_DIR", project.to_str().unwrap())];
    let said = completed(elsewhere.to_str().unwrap(), &env);
    assert_eq!(said.code, Some(2), "{said:?}");
    let gone = completed("/nonexistent", &[]);
    assert!(gone.code == Some(2) && gone.err.contains("is not there"), "{gone:?}");
    std::fs::write(project.join("good"), "").unwrap();
    assert_eq!(completed("/nonexistent", &env).code, Some(0));
}

#[test]
fn a_rule_of_the_user_s_own_holds_back_with_its_reason() {
    let rule = "[[rule]]\nname = \"no-force\"\nevents = [\"PreToolUse\"]\ntools = [\"Bash\"]\nmatch = { \"/tool_input/command\" = \"*push --force*\" }\naction = \"block\"\nreason = \"Force pushes are the user's to make.\"\n";
    let stage = busy(rule);
    let bash = |command: &str| json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": command}});
    assert_eq!(told(&stage, bash("git push")).code, Some(0));
    let said = told(&stage, bash("git push --force origin main"));
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("Force pushes are the user's to make."), "{}", said.err);
    let tries = |stage: &Stage| -> Vec<_> {
        (0..4).map(|_| told(stage, bash("git push --force origin main")).code).collect()
    };
    assert_eq!(tries(&stage), [Some(2), Some(2), Some(0), Some(0)], "as any gate");
    let stage = busy(&format!("{rule}lasting = true\n"));
    assert_eq!(tries(&stage), [Some(2); 4], "however often it is tried");
}

#[test]
fn a_broken_policy_is_told_at_the_start_and_never_silently_off() {
    let stage = busy("[policy.idle-with-work]\nmode = \"never\"\n");
    let said = told(&stage, json!({"hook_event_name": "SessionStart", "source": "startup"}));
    let answer: Value = serde_json::from_str(&said.out).unwrap();
    let context = answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(context.contains("teamkeep.toml:2:8") && answer["systemMessage"] == context, "{answer}");
    assert_eq!(answer["hookSpecificOutput"]["watchPaths"].as_array().unwrap().len(), 2);
    assert!(!context.contains("never"), "nothing of what the file says: {context}");
}

#[test]
fn a_policy_that_cannot_be_used_holds_back_what_on_error_says() {
    let broken = "[policy]\non-error = \"block\"\nmax-blocks = \"x\"\n";
    let bash = json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}});
    let task = |event: &str| json!({"hook_event_name": event, "task_id": "2", "task_subject": "Review", "team_name": TEAM});
    let stage = busy(broken);
    for payload in [bash.clone(), task("TaskCreated"), task("TaskCompleted")] {
        let said = told(&stage, payload);
        assert_eq!(said.code, Some(2), "{}", said.err);
        assert!(said.err.contains("teamkeep.toml:3:14") && said.err.contains("teamkeep policy check"));
    }
    let idle = json!({"hook_event_name": "TeammateIdle", "teammate_name": "bob", "team_name": TEAM, "agent_id": "abob-1", "agent_type": "bob"});
    for payload in [idle, json!({"hook_event_name": "Stop"}), json!({"hook_event_name": "SubagentStop"})] {
        assert_eq!(told(&stage, payload).code, Some(0));
    }
    stage.write_config("");
    let log = stage.log();
    assert!(log.iter().any(|line| line["event"] == "PreToolUse"), "it is on record: {log:?}");
    let stage = busy(&broken.replace("block\"", "allow\""));
    assert_eq!(told(&stage, bash.clone()).code, Some(0));
    let alone = Stage::judging();
    alone.write_config(broken);
    assert_eq!(told(&alone, bash).code, Some(0), "a session without a team");
}

#[test]
fn a_replay_counts_blocks_over_a_pause_and_tells_no_request_that_was_held_back() {
    let stage = busy("");
    let ask = |id: &str| {
        let input = json!({"to": "bob", "message": {"type": "shutdown_request", "reason": "enough"}});
        let payload = json!({"hook_event_name": "PreToolUse", "tool_name": "SendMessage", "tool_use_id": id, "tool_input": input});
        told(&stage, payload).code
    };
    let pause = |args: &[&str]| assert_eq!(stage.run(&[&["policy"], args].concat()).code, Some(0));
    assert_eq!([ask("t1"), ask("t2")], [Some(2); 2]);
    pause(&["pause", "15m"]);
    assert_eq!(ask("t3"), Some(0));
    pause(&["resume"]);
    assert_eq!([ask("t4"), ask("t5")], [Some(2), Some(0)]);
    let replay = stage.replay(TEAM);
    let of = |kind: &str| replay.iter().filter(|entry| entry["kind"] == kind).collect::<Vec<_>>();
    let blocks: Vec<&Value> = of("verdict").iter().filter_map(|entry| entry.get("blocks")).collect();
    assert_eq!(blocks, [&json!(3)]);
    let refused = of("message-refused");
    assert_eq!((refused.len(), of("shutdown-requested").len()), (3, 2), "{replay:#?}");
    assert!(refused[0]["refusal"].as_str().unwrap().starts_with("Refused: a shutdown request to bob"));
    let told = stage.told(&["replay", TEAM]);
    assert!(told.contains("could not ask bob to stop\n"), "{told}");
    assert!(told.contains("was let through after 3 blocks: a shutdown request to bob"), "{told}");
}

/// Asks for bob's shutdown, with something else before it in the tool's input.
fn shutdown(before: &str) -> String {
    let asks = r#""to":"bob","recipient":"bob","message":{"type":"shutdown_request"}"#;
    format!(
        r#"{{"session_id":"{SESSION}","hook_event_name":"PreToolUse","tool_name":"SendMessage","tool_input":{{{before}{asks}}}}}"#
    )
}

#[test]
fn no_input_of_a_tool_blinds_the_gates() {
    let wide = format!("\"x\":[{}0],", "0,".repeat(100_001));
    let deep = format!("\"x\":{}0{},", "{\"d\":".repeat(130), "}".repeat(130));
    for before in ["", &wide, &deep] {
        let said = busy("").feed("pre-tool-use", shutdown(before).as_bytes(), &[]);
        assert_eq!(said.code, Some(2), "{}", said.err);
    }
}

#[test]
fn a_task_with_a_deep_field_still_counts() {
    let stage = busy("");
    let deep = format!("{}0{}", "[".repeat(130), "]".repeat(130));
    let task =
        format!(r#"{{"id":"2","subject":"Review","metadata":{deep},"status":"in_progress","owner":"bob"}}"#);
    stage.write(&format!("tasks/{TEAM}/2.json"), task);
    assert_eq!(stage.feed("pre-tool-use", shutdown("").as_bytes(), &[]).code, Some(2));
}

/// A call that cannot be understood: cut off, or larger than what is read.
fn unreadable() -> [(&'static str, Vec<u8>); 3] {
    let large = format!("{{\"hook_event_name\":\"PreToolUse\",\"text\":\"{}\"}}", "x".repeat(17 << 20));
    let cut = br#"{"hook_event_name":"PreToolUse","tool_input":{"#;
    [("pre-tool-use", b"{\"a".to_vec()), ("", cut.to_vec()), ("", large.into_bytes())]
}

#[test]
fn what_cannot_be_understood_is_held_back_where_the_policy_says_so() {
    for (event, stdin) in unreadable() {
        assert_eq!(busy("").feed(event, &stdin, &[]).code, Some(1));
        let said = busy("[policy]\non-error = \"block\"\n").feed(event, &stdin, &[]);
        assert_eq!(said.code, Some(2));
        assert!(said.err.contains("on-error") && said.err.contains("no JSON object"), "{}", said.err);
    }
    let said = busy("[policy]\non-error = \"block\"\n").feed("stop", b"{\"a", &[]);
    assert_eq!(said.code, Some(1), "a turn always comes to its end");
}

#[test]
fn an_event_that_cannot_be_recorded_is_judged_all_the_same() {
    let stage = busy("");
    let bash = json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {}});
    assert_eq!(told(&stage, bash.clone()).code, Some(0));
    let log = stage.keep("log");
    std::fs::remove_dir_all(&log).unwrap();
    std::fs::write(&log, "in the way").unwrap();
    let said = stage.feed("pre-tool-use", shutdown("").as_bytes(), &[]);
    assert_eq!(said.code, Some(2), "{}", said.err);
    assert!(stage.diagnostics().contains("log"), "{}", stage.diagnostics());
    assert_eq!(told(&stage, bash).code, Some(1), "the failure is told where the policy says nothing");
}

#[test]
fn a_store_that_cannot_be_written_holds_back_only_where_the_policy_says_so() {
    for (policy, code) in [("", 1), ("[policy]\non-error = \"block\"\n", 2)] {
        let stage = busy(policy);
        std::fs::write(stage.keep("log").parent().unwrap(), "in the way").unwrap();
        let said = stage.feed("pre-tool-use", shutdown("").as_bytes(), &[]);
        assert_eq!(said.code, Some(code), "{policy}: {}", said.err);
    }
}

#[test]
fn rules_on_a_huge_input_come_to_an_end_and_say_that_they_did_not_look() {
    let rule = |number: usize| {
        format!(
            "[[rule]]\nname = \"no-force-{number}\"\ntools = [\"Write\"]\nmatch = {{ \"/tool_input/content\" = \"/(.*a){{30}}\\\\w{{200}}b{number}/\" }}\naction = \"block\"\nreason = \"no\"\n"
        )
    };
    let rules: String = (0..20).map(rule).collect();
    for (on_error, code) in [("allow", 0), ("block", 2)] {
        let stage = busy(&format!("[policy]\non-error = \"{on_error}\"\n{rules}"));
        let content = "ba".repeat(7 << 20);
        let write = json!({"hook_event_name": "PreToolUse", "tool_name": "Write", "tool_input": {"content": content}});
        let said = told(&stage, write);
        assert_eq!(said.code, Some(code), "{said:?}");
        stage.write_config("");
        let log = stage.log();
        let verdicts: Vec<_> = log.iter().filter(|line| line["event"] == "Verdict").collect();
        assert_eq!(verdicts.len(), 1);
        let verdict = &verdicts[0]["verdict"];
        assert_eq!((&verdict["code"], &verdict["rule"]), (&json!("rule-undecided"), &json!("no-force-0")));
        let reason = verdict["reason"].as_str().unwrap();
        assert!(reason.contains("(nor could 19 more)"), "{reason}");
    }
}

/// The verdicts on record: code and decision.
fn verdicts(stage: &Stage) -> Vec<(String, String)> {
    stage.write_config("");
    let log = stage.log();
    let verdicts = log.iter().filter(|line| line["event"] == "Verdict").map(|line| &line["verdict"]);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    verdicts.map(|verdict| (text(&verdict["code"]), text(&verdict["decision"]))).collect()
}

fn pairs(verdicts: &[(String, String)]) -> Vec<(&str, &str)> {
    verdicts.iter().map(|(code, decision)| (&**code, &**decision)).collect()
}

/// Puts something in the place of the notebook of the stage's run: nothing can be counted, and all is recorded.
fn hinder_counts(stage: &Stage) {
    assert_eq!(told(stage, json!({"hook_event_name": "Stop"})).code, Some(0));
    let run = stage.library().find(TEAM).unwrap().run.clone();
    let notebook = stage.keep(&format!("policy/{run}.json"));
    let _ = std::fs::remove_file(&notebook);
    std::fs::create_dir_all(&notebook).unwrap();
}

#[test]
fn a_block_that_cannot_be_counted_is_on_record_and_goes_on_or_not_as_on_error_says() {
    let lasting = "[[rule]]\nname = \"r\"\ntools = [\"SendMessage\"]\naction = \"block\"\nreason = \"no\"\nlasting = true\n";
    let block = "[policy]\non-error = \"block\"\n";
    for (policy, code) in [("", 0), (block, 2), (lasting, 2)] {
        let stage = busy(policy);
        hinder_counts(&stage);
        let said: Vec<Said> = (0..5).map(|_| stage.feed("", shutdown("").as_bytes(), &[])).collect();
        assert!(said.iter().all(|said| said.code == Some(code)), "{policy}: {said:?}");
        let noted = stage.diagnostics();
        assert!(noted.contains("cannot ask the policy: ") && noted.contains("is no regular file"), "{noted}");
        let told = verdicts(&stage);
        let told = &pairs(&told)[..2];
        match policy {
            "" => {
                let answer: Value = serde_json::from_str(&said[0].out).unwrap();
                let start = "Warning: teamkeep would refuse this, but cannot count its blocks, and lets it through. The reason was: a shutdown request to bob, who still owns task 2";
                assert!(answer["systemMessage"].as_str().unwrap().starts_with(start), "{answer}");
                assert_eq!(told, [("shutdown-of-busy-teammate", "warn"), ("policy-failed", "allow")]);
            }
            _ if policy == block => {
                assert_eq!(told, [("shutdown-of-busy-teammate", "block"), ("policy-failed", "block")]);
            }
            _ => assert_eq!(told, [("rule", "block"), ("policy-failed", "allow")], "it needs no count"),
        }
    }
}

#[test]
fn on_a_full_disk_a_shutdown_is_warned_of_although_nothing_can_be_kept() {
    let stage = busy("");
    assert_eq!(told(&stage, json!({"hook_event_name": "Stop"})).code, Some(0));
    let mut shell = std::process::Command::new("/bin/sh");
    stage.dress(&mut shell);
    shell.args(["-c", "ulimit -f 0; exec \"$0\" hook", env!("CARGO_BIN_EXE_teamkeep")]);
    let said = super::stage::feed(&mut shell, shutdown("").as_bytes());
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.contains("bob, who still owns task 2") && said.out.contains("cannot record the event"));
}

#[test]
fn an_idle_that_cannot_be_counted_is_never_held_back() {
    let stage = busy("[policy]\non-error = \"block\"\nidle-with-work = { mode = \"block\" }\n");
    hinder_counts(&stage);
    let idle = json!({"hook_event_name": "TeammateIdle", "teammate_name": "bob", "team_name": TEAM, "agent_id": "abob-1", "agent_type": "bob"});
    assert_eq!(told(&stage, idle).code, Some(0));
    assert_eq!(
        pairs(&verdicts(&stage)),
        [("idle-with-task-in-progress", "warn"), ("policy-failed", "allow")]
    );
}

/// Each way in which a policy file can be of no use.
fn unusable(stage: &Stage, what: &str) {
    let path = stage.home().parent().unwrap().join("teamkeep.toml");
    std::fs::remove_file(&path).unwrap();
    match what {
        "directory" => std::fs::create_dir(&path).unwrap(),
        "loop" => std::os::unix::fs::symlink(&path, &path).unwrap(),
        "nothing" => std::os::unix::fs::symlink("nowhere", &path).unwrap(),
        "huge" => std::fs::write(&path, " ".repeat((1 << 20) + 1)).unwrap(),
        "bytes" => std::fs::write(&path, b"\xff").unwrap(),
        "pipe" => rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).unwrap(),
        _ => std::fs::write(&path, "[polcy]\n").unwrap(),
    }
}

#[test]
fn an_unusable_policy_is_told_at_the_start_in_the_check_and_at_every_verdict() {
    for what in ["directory", "loop", "nothing", "huge", "bytes", "pipe", "syntax"] {
        let stage = busy("");
        unusable(&stage, what);
        let path = stage.home().parent().unwrap().join("teamkeep.toml");
        let dressed = |stage: &Stage, payload: Value| {
            let mut payload = payload;
            payload["session_id"] = json!(SESSION);
            stage.feed("", payload.to_string().as_bytes(), &[("TEAMKEEP_CONFIG", path.to_str().unwrap())])
        };
        let said = dressed(&stage, json!({"hook_event_name": "SessionStart", "source": "startup"}));
        let answer: Value = serde_json::from_str(&said.out).unwrap();
        let context = answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
        assert!(context.contains("teamkeep.toml") && answer["systemMessage"] == context, "{what}: {answer}");
        let mut check = stage.command(&["policy", "check"]);
        let check = check.env("TEAMKEEP_CONFIG", &path).output().unwrap();
        assert_eq!(check.status.code(), Some(1), "{what}");
        assert!(String::from_utf8(check.stdout).unwrap().contains(": error["), "{what}");
        let bash =
            json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}});
        assert_eq!(dressed(&stage, bash).code, Some(0));
        let asks: Value = serde_json::from_str(&shutdown("")).unwrap();
        assert_eq!(dressed(&stage, asks).code, Some(2), "the defaults stand");
        if path.is_dir() {
            std::fs::remove_dir(&path).unwrap();
        } else {
            std::fs::remove_file(&path).unwrap();
        }
        let unusable = ("policy-unusable", "allow");
        assert_eq!(
            pairs(&verdicts(&stage)),
            [unusable, ("shutdown-of-busy-teammate", "block"), unusable],
            "{what}"
        );
    }
}

#[test]
fn a_file_that_holds_everything_back_is_on_record_at_each_event() {
    let stage = busy("[policy]\non-error = \"block\"\nmax-blocks = \"x\"\n");
    let bash = json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}});
    assert_eq!(told(&stage, bash).code, Some(2));
    assert_eq!(told(&stage, json!({"hook_event_name": "Stop"})).code, Some(0));
    assert_eq!(pairs(&verdicts(&stage)), [("policy-unusable", "block"), ("policy-unusable", "allow")]);
}

#[test]
fn an_event_that_names_no_session_is_asked_of_the_rules_and_counted() {
    let stage = Stage::judging();
    stage.write_config("[[rule]]\nname = \"r\"\ntools = [\"Bash\"]\naction = \"block\"\nreason = \"no\"\n");
    for session in [Value::Null, json!("../..")] {
        let bash = json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {}, "session_id": session});
        let feed = || stage.feed("", bash.to_string().as_bytes(), &[]).code;
        let codes = [feed(), feed(), feed(), feed()];
        let expected = if session.is_null() { [Some(2), Some(2), Some(2), Some(0)] } else { [Some(0); 4] };
        assert_eq!(codes, expected, "{session}");
    }
}

#[test]
fn a_name_in_another_case_and_a_stray_task_file_open_no_way_past_the_gate() {
    let ask = |to: &str| json!({"hook_event_name": "PreToolUse", "tool_name": "SendMessage", "tool_input": {"to": to, "message": {"type": "shutdown_request"}}});
    let stop = |word: &str| json!({"hook_event_name": "PreToolUse", "tool_name": "TaskStop", "tool_input": {"task_id": "", "taskId": word}});
    for payload in [ask("bob"), ask("Bob"), ask("@BOB"), stop("bob"), stop("Bob@parser-team")] {
        let stage = busy("");
        // The client's own spelling of a name that nobody has puts it in the ledger.
        let spoke = json!({"hook_event_name": "PostToolUse", "tool_name": "SendMessage", "tool_input": {"to": "Bob", "message": "hi"}, "tool_response": {"success": true}});
        assert_eq!(told(&stage, spoke).code, Some(0));
        let stray = json!({"id": "2", "subject": "Review", "status": "completed", "owner": "bob"});
        stage.write(&format!("tasks/{TEAM}/zz.json"), stray);
        let said = told(&stage, payload.clone());
        assert_eq!(said.code, Some(2), "{payload}: {said:?}");
        assert!(said.err.contains("task 2 \"Review\" (in_progress, owner bob)"), "{}", said.err);
    }
    let stage = busy("");
    let task = json!({"id": "2", "subject": "Review", "status": "in_progress", "owner": "BOB"});
    stage.write(&format!("tasks/{TEAM}/2.json"), task);
    assert_eq!(told(&stage, ask("bob")).code, Some(2), "an owner in another case owns it all the same");
}

#[test]
fn a_configuration_that_is_named_by_a_relative_path_is_never_silently_off() {
    for name in ["teamkeep.toml", "/nowhere/teamkeep.toml"] {
        let stage = busy("");
        std::fs::write(
            stage.home().join("parser/teamkeep.toml"),
            "[policy.premature-shutdown]\nmode = \"off\"\n",
        )
        .unwrap();
        let env = [("TEAMKEEP_CONFIG", name)];
        let start = json!({"hook_event_name": "SessionStart", "session_id": SESSION, "source": "startup"})
            .to_string();
        let said = stage.feed("", start.as_bytes(), &env);
        let answer: Value = serde_json::from_str(&said.out).unwrap();
        let told = answer["systemMessage"].as_str().unwrap();
        assert!(told.contains(&format!("unreadable at {name}")), "{told}");
        assert_eq!(stage.feed("", shutdown("").as_bytes(), &env).code, Some(2), "the defaults stand");
        let check = stage.command(&["policy", "check"]).env("TEAMKEEP_CONFIG", name).output().unwrap();
        assert_eq!(check.status.code(), Some(1));
        let told = String::from_utf8(check.stdout).unwrap();
        assert!(told.starts_with(&format!("{name}: error[unreadable]: TEAMKEEP_CONFIG names it")), "{told}");
        let said = stage.command(&["prune", "--keep", "1"]).env("TEAMKEEP_CONFIG", name).output().unwrap();
        assert_eq!(said.status.code(), Some(1));
        let found = verdicts(&stage);
        assert_eq!(pairs(&found), [("shutdown-of-busy-teammate", "block"), ("policy-unusable", "allow")]);
    }
}

#[test]
fn a_configuration_below_a_file_or_a_link_to_nothing_is_told_in_the_hook_the_check_and_an_explanation() {
    let stage = Stage::judging();
    std::fs::write(stage.home().join("file"), "").unwrap();
    let usual = stage.home().join(".config/teamkeep/teamkeep.toml");
    std::fs::create_dir_all(usual.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink("nowhere", &usual).unwrap();
    let below = stage.home().join("file/teamkeep.toml");
    for env in [vec![("TEAMKEEP_CONFIG", below.to_str().unwrap())], Vec::new()] {
        let start = json!({"hook_event_name": "SessionStart", "source": "startup", "session_id": SESSION});
        let said = stage.feed("", start.to_string().as_bytes(), &env);
        assert!(said.out.contains("a policy file cannot be used"), "{env:?}: {said:?}");
        let command = |args: &[&str]| {
            let mut command = stage.command(args);
            command.envs(env.iter().copied());
            super::stage::feed(&mut command, br#"{"hook_event_name":"Stop"}"#)
        };
        let check = command(&["policy", "check"]);
        assert!(check.code == Some(1) && check.out.contains("error[unreadable]"), "{env:?}: {check:?}");
        let explain = command(&["policy", "explain"]);
        assert!(explain.code == Some(1) && explain.err.contains("teamkeep.toml"), "{env:?}: {explain:?}");
    }
}

#[test]
fn rules_that_go_off_in_the_midst_of_a_session_are_told_once_and_on_record() {
    let stage = Stage::judging();
    let file = stage.home().join("parser/.claude/teamkeep.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let rule = "[[rule]]\nname = \"r\"\ntools = [\"Bash\"]\naction = \"block\"\nreason = \"no\"\n";
    std::fs::write(&file, rule).unwrap();
    assert_eq!(stage.run(&["policy", "trust", "--yes"]).code, Some(0));
    let call = |session: &str| {
        let bash = json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}, "session_id": session});
        stage.feed("", bash.to_string().as_bytes(), &[])
    };
    assert_eq!(call(SESSION).code, Some(2));
    for (change, session) in
        [("# one\n", SESSION), ("[polcy]\n", SESSION), ("# two\n", SESSION), ("# two\n", "other")]
    {
        std::fs::write(&file, format!("{rule}{change}")).unwrap();
        let said = call(session);
        let answer: Value = serde_json::from_str(&said.out).unwrap();
        let words = answer["systemMessage"].as_str().unwrap();
        assert!(words.contains("changed since it was trusted") && said.code == Some(0), "{words}");
        assert!(answer.get("hookSpecificOutput").is_none(), "it is the user's to trust");
        assert_eq!(call(session).out, "", "once");
    }
    let told = verdicts(&stage);
    let codes: Vec<_> =
        pairs(&told).into_iter().filter(|pair| *pair == ("policy-untrusted", "allow")).collect();
    assert_eq!(codes.len(), 4, "{told:?}");
}

#[test]
fn a_subagent_whose_role_is_spelled_like_a_teammate_does_not_end_its_turn() {
    let stage = busy("[policy]\npremature-shutdown = { open-turn = true }\n");
    let task = json!({"id": "2", "subject": "Review", "status": "completed", "owner": "bob"});
    stage.write(&format!("tasks/{TEAM}/2.json"), task);
    let agent = |event: &str, id: &str| {
        told(&stage, json!({"hook_event_name": event, "agent_id": id, "agent_type": "bob"}))
    };
    let asks = || {
        let asks: Value = serde_json::from_str(&shutdown("")).unwrap();
        told(&stage, asks)
    };
    agent("SubagentStart", "abob-7dfceaaaef47c69e");
    agent("SubagentStart", "a53bab");
    agent("SubagentStop", "a53bab");
    let said = asks();
    assert!(said.code == Some(2) && said.err.contains("in the midst of a turn"), "{said:?}");
    let kinds: Vec<Value> = stage.log().iter().map(|line| line["actor"]["kind"].clone()).take(3).collect();
    assert_eq!(kinds, ["teammate", "subagent", "subagent"]);
    agent("SubagentStop", "abob-7dfceaaaef47c69e");
    assert_eq!(asks().code, Some(0));
}
