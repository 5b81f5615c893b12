//! Gates that are hindered: by a huge or unreadable input, and by a store that cannot be written.

use serde_json::{Value, json};

use super::gate_sandbox::{TEAM, busy, pairs, shutdown, told, verdicts};
use crate::support::sandbox::{CommandResult, ContentDamage, Sandbox, feed};

#[test]
fn no_tool_input_hides_work_from_the_gates() {
    let wide = format!("\"x\":[{}0],", "0,".repeat(100_001));
    let deep = format!("\"x\":{}0{},", "{\"d\":".repeat(130), "}".repeat(130));
    for before in ["", &wide, &deep] {
        let result = busy("").feed("pre-tool-use", shutdown(before).as_bytes(), &[]);
        assert_eq!(result.code, Some(2), "{}", result.err);
    }
}

#[test]
fn a_task_with_a_deep_field_still_counts() {
    let sandbox = busy("");
    let deep = format!("{}0{}", "[".repeat(130), "]".repeat(130));
    let task =
        format!(r#"{{"id":"2","subject":"Review","metadata":{deep},"status":"in_progress","owner":"bob"}}"#);
    sandbox.write(&format!("tasks/{TEAM}/2.json"), task);
    assert_eq!(sandbox.feed("pre-tool-use", shutdown("").as_bytes(), &[]).code, Some(2));
}

/// A call that cannot be understood: cut off, or larger than what is read.
fn unreadable() -> [(&'static str, Vec<u8>); 3] {
    let large = format!("{{\"hook_event_name\":\"PreToolUse\",\"text\":\"{}\"}}", "x".repeat(17 << 20));
    let cut = br#"{"hook_event_name":"PreToolUse","tool_input":{"#;
    [("pre-tool-use", b"{\"a".to_vec()), ("", cut.to_vec()), ("", large.into_bytes())]
}

#[test]
fn a_malformed_payload_is_blocked_only_with_on_error_block() {
    for (event, stdin) in unreadable() {
        assert_eq!(busy("").feed(event, &stdin, &[]).code, Some(1));
        let result = busy("[policy]\non-error = \"block\"\n").feed(event, &stdin, &[]);
        assert_eq!(result.code, Some(2));
        assert!(
            result.err.contains("on-error") && result.err.contains("the payload cannot be parsed"),
            "{}",
            result.err
        );
    }
    let result = busy("[policy]\non-error = \"block\"\n").feed("stop", b"{\"a", &[]);
    assert_eq!(result.code, Some(1), "a turn always comes to its end");
}

#[test]
#[cfg_attr(windows, ignore = "fills the disk with the limits of a shell")]
fn an_event_that_cannot_be_recorded_is_still_judged() {
    let sandbox = busy("");
    let bash = json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {}});
    assert_eq!(told(&sandbox, bash.clone()).code, Some(0));
    // No file can become larger than 8 KiB, and the event is.
    let hook = |payload: &str| {
        let mut command = std::process::Command::new("/bin/sh");
        sandbox.dress(&mut command);
        command.args(["-c", "ulimit -f 16; exec \"$0\" hook", env!("CARGO_BIN_EXE_teamkeep")]);
        let long = format!("{{\"cwd\":\"/{}\",{}", "x".repeat(9_000), &payload[1..]);
        feed(&mut command, long.as_bytes())
    };
    let result = hook(&shutdown(""));
    assert_eq!(result.code, Some(2), "{}", result.err);
    assert!(sandbox.diagnostics().contains("/events-single-"), "{}", sandbox.diagnostics());
    let bash = shutdown("").replace("SendMessage", "Bash");
    assert_eq!(hook(&bash).code, Some(1), "the failure is reported where the policy says nothing");
}

#[test]
fn a_read_only_store_blocks_only_with_on_error_block() {
    for (policy, code) in [("", 1), ("[policy]\non-error = \"block\"\n", 2)] {
        let sandbox = busy(policy);
        let store = sandbox.keep("");
        std::fs::write(store.components().collect::<std::path::PathBuf>(), "in the way").unwrap();
        let result = sandbox.feed("pre-tool-use", shutdown("").as_bytes(), &[]);
        assert_eq!(result.code, Some(code), "{policy}: {}", result.err);
    }
}

#[test]
fn an_archive_that_cannot_be_used_is_a_failure_of_the_policy() {
    for (config, code) in [("[policy]\non-error = \"block\"\n", 2), ("", 1)] {
        let sandbox = busy(config);
        sandbox.feed("stop", br#"{"hook_event_name":"Stop"}"#, &[]);
        let parts = ["runs", "teams", "locks"]
            .map(|part| (sandbox.keep(part), sandbox.keep(&format!("moved-{part}"))));
        for (part, moved) in &parts {
            std::fs::rename(part, moved).unwrap();
            std::fs::write(part, "").unwrap();
        }
        let result = sandbox.feed("pre-tool-use", shutdown("").as_bytes(), &[]);
        assert_eq!(result.code, Some(code), "{}", result.err);
        let decision = if code == 2 { "block" } else { "allow" };
        for (part, moved) in &parts {
            std::fs::remove_file(part).unwrap();
            std::fs::rename(moved, part).unwrap();
        }
        assert_eq!(pairs(&verdicts(&sandbox)), [("policy-failed", decision)]);
    }
}

#[test]
fn a_damaged_content_of_an_existing_file_hides_no_work() {
    let sandbox = busy("[policy]\nmax-blocks = 100\n");
    sandbox.feed("stop", br#"{"hook_event_name":"Stop"}"#, &[]);
    let task = std::fs::read(sandbox.client(&format!("tasks/{TEAM}/2.json"))).unwrap();
    let hash = teamkeep_store::archive::hash(&task);
    for damage in [ContentDamage::Changed, ContentDamage::Lost] {
        sandbox.damage_content(&hash, damage);
        assert_eq!(sandbox.feed("pre-tool-use", shutdown("").as_bytes(), &[]).code, Some(2));
    }
}

#[test]
fn rules_on_a_huge_input_end_in_time_and_are_undecided() {
    let rule = |number: usize| {
        format!(
            "[[rule]]\nname = \"no-force-{number}\"\ntools = [\"Write\"]\nmatch = {{ \"/tool_input/content\" = \"/(.*a){{30}}\\\\w{{200}}b{number}/\" }}\naction = \"block\"\nreason = \"no\"\n"
        )
    };
    let rules: String = (0..20).map(rule).collect();
    for (on_error, code) in [("allow", 0), ("block", 2)] {
        let sandbox = busy(&format!("[policy]\non-error = \"{on_error}\"\n{rules}"));
        let content = "ba".repeat(7 << 20);
        let write = json!({"hook_event_name": "PreToolUse", "tool_name": "Write", "tool_input": {"content": content}});
        let result = told(&sandbox, write);
        assert_eq!(result.code, Some(code), "{result:?}");
        sandbox.write_config("");
        let log = sandbox.log();
        let verdicts: Vec<_> = log.iter().filter(|line| line["event"] == "Verdict").collect();
        assert_eq!(verdicts.len(), 1);
        let verdict = &verdicts[0]["verdict"];
        assert_eq!((&verdict["code"], &verdict["rule"]), (&json!("rule-undecided"), &json!("no-force-0")));
        let reason = verdict["reason"].as_str().unwrap();
        assert!(reason.contains("(and 19 more)"), "{reason}");
    }
}

/// Puts something in the place of the notebook of the stage's run: nothing can be counted, and all is recorded.
fn hinder_counts(sandbox: &Sandbox) {
    assert_eq!(told(sandbox, json!({"hook_event_name": "Stop"})).code, Some(0));
    let notebook = sandbox.run_log().dir().join("gates.json");
    let _ = std::fs::remove_file(&notebook);
    std::fs::create_dir_all(&notebook).unwrap();
}

#[test]
fn a_block_that_cannot_be_counted_is_recorded_and_follows_on_error() {
    let lasting = "[[rule]]\nname = \"r\"\ntools = [\"SendMessage\"]\naction = \"block\"\nreason = \"no\"\nlasting = true\n";
    let block = "[policy]\non-error = \"block\"\n";
    for (policy, code) in [("", 0), (block, 2), (lasting, 2)] {
        let sandbox = busy(policy);
        hinder_counts(&sandbox);
        let result: Vec<CommandResult> =
            (0..5).map(|_| sandbox.feed("", shutdown("").as_bytes(), &[])).collect();
        assert!(result.iter().all(|result| result.code == Some(code)), "{policy}: {result:?}");
        let noted = sandbox.diagnostics();
        assert!(
            noted.contains("cannot evaluate the policy: ") && noted.contains("is not a regular file"),
            "{noted}"
        );
        let told = verdicts(&sandbox);
        let told = &pairs(&told)[..2];
        match policy {
            "" => {
                let answer: Value = serde_json::from_str(&result[0].out).unwrap();
                let start = "Warning: teamkeep would block this, but cannot count its blocks, so it allows it. The reason was: a shutdown request to bob, who still owns task 2";
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
#[cfg_attr(windows, ignore = "fills the disk with the limits of a shell")]
fn on_a_full_disk_a_shutdown_is_warned_about() {
    let sandbox = busy("");
    assert_eq!(told(&sandbox, json!({"hook_event_name": "Stop"})).code, Some(0));
    let mut shell = std::process::Command::new("/bin/sh");
    sandbox.dress(&mut shell);
    shell.args(["-c", "ulimit -f 0; exec \"$0\" hook", env!("CARGO_BIN_EXE_teamkeep")]);
    let result = crate::support::sandbox::feed(&mut shell, shutdown("").as_bytes());
    assert_eq!(result.code, Some(0), "{result:?}");
    assert!(
        result.out.contains("bob, who still owns task 2") && result.out.contains("cannot record the event")
    );
}

#[test]
fn an_idle_that_cannot_be_counted_is_never_blocked() {
    let sandbox = busy("[policy]\non-error = \"block\"\nidle-with-work = { mode = \"block\" }\n");
    hinder_counts(&sandbox);
    let idle = json!({"hook_event_name": "TeammateIdle", "teammate_name": "bob", "team_name": TEAM, "agent_id": "abob-1", "agent_type": "bob"});
    assert_eq!(told(&sandbox, idle).code, Some(0));
    assert_eq!(
        pairs(&verdicts(&sandbox)),
        [("idle-with-task-in-progress", "warn"), ("policy-failed", "allow")]
    );
}
