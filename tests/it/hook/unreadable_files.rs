//! Team files that cannot be read: a symlink, a special file or a directory in their place. The gates that need them fail,
//! and `on-error` decides.

use std::path::Path;

use serde_json::{Value, json};

use crate::policy::gate_sandbox::{SESSION, TEAM, busy, pairs, shutdown, told, verdicts};
use crate::support::sandbox::{CommandResult, Sandbox};

const BLOCK: &str = "[policy]\non-error = \"block\"\n";
const OWN: &str = "session-aaaaaaaa";

/// Moves a file or directory away and puts something else in its place.
type Replace = fn(&Path, &Path);

fn link(path: &Path, moved: &Path) {
    std::os::unix::fs::symlink(moved, path).unwrap();
}

fn fifo(path: &Path, _: &Path) {
    rustix::fs::mkfifoat(rustix::fs::CWD, path, rustix::fs::Mode::RWXU).unwrap();
}

fn directory(path: &Path, _: &Path) {
    std::fs::create_dir(path).unwrap();
}

fn file(path: &Path, _: &Path) {
    std::fs::write(path, "{}").unwrap();
}

const FOR_DIRECTORIES: [Replace; 3] = [link, fifo, file];
const FOR_FILES: [Replace; 3] = [link, fifo, directory];

fn replace(sandbox: &Sandbox, path: &str, how: Replace) {
    let (path, moved) = (sandbox.client(path), sandbox.home().join("moved"));
    std::fs::rename(&path, &moved).unwrap();
    how(&path, &moved);
}

/// A stage whose team is named after its session, as in 2.1.178 and later.
fn modern(policy: &str) -> Sandbox {
    let sandbox = busy(policy);
    for root in ["teams", "tasks"] {
        std::fs::rename(sandbox.client(&format!("{root}/{TEAM}")), sandbox.client(&format!("{root}/{OWN}")))
            .unwrap();
    }
    sandbox
}

fn ask(sandbox: &Sandbox) -> CommandResult {
    sandbox.feed("pre-tool-use", shutdown("").as_bytes(), &[])
}

fn turn_ends(sandbox: &Sandbox) {
    assert_eq!(told(sandbox, json!({"hook_event_name": "Stop"})).code, Some(0));
}

fn delete(sandbox: &Sandbox) -> CommandResult {
    told(sandbox, json!({"hook_event_name": "PreToolUse", "tool_name": "TeamDelete", "tool_input": {}}))
}

#[test]
fn a_task_that_cannot_be_read_is_a_failure_of_the_policy() {
    let tasks = [(format!("tasks/{TEAM}"), FOR_DIRECTORIES), (format!("tasks/{TEAM}/2.json"), FOR_FILES)];
    for (path, hows) in tasks {
        for (place, how) in hows.into_iter().enumerate() {
            for is_known in [true, false] {
                let sandbox = busy(BLOCK);
                if is_known {
                    turn_ends(&sandbox);
                }
                replace(&sandbox, &path, how);
                let result = ask(&sandbox);
                assert_eq!(result.code, Some(2), "{path} {place}: {result:?}");
                assert!(
                    result.err.contains("cannot read") && result.err.contains("on-error"),
                    "{}",
                    result.err
                );
                assert_eq!(pairs(&verdicts(&sandbox)), [("policy-failed", "block")], "{path} {place}");
            }
        }
    }
}

#[test]
fn by_default_the_failure_is_recorded_and_reported_and_blocks_nothing() {
    let sandbox = busy("");
    replace(&sandbox, &format!("tasks/{TEAM}/2.json"), link);
    let result = ask(&sandbox);
    assert_eq!(result.code, Some(0), "{result:?}");
    let answer: Value = serde_json::from_str(&result.out).unwrap();
    let context = answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(context.contains("2.json\" (a symlink)"), "{context}");
    assert_eq!(ask(&sandbox).out, "", "told once in a state of the work");
    assert_eq!(pairs(&verdicts(&sandbox)), [("policy-failed", "warn"), ("policy-failed", "warn")]);
}

#[test]
fn a_team_directory_that_cannot_be_read_is_a_failure_from_the_first_call_on() {
    for (place, how) in FOR_DIRECTORIES.into_iter().enumerate() {
        let sandbox = modern(BLOCK);
        replace(&sandbox, &format!("teams/{OWN}"), how);
        let result = ask(&sandbox);
        assert_eq!(result.code, Some(2), "{place}: {result:?}");
        let result = delete(&sandbox);
        assert_eq!(result.code, Some(2), "{place}: {result:?}");
    }
    // Before 2.1.178 only the roster says which session leads a team.
    for (place, how) in FOR_DIRECTORIES[..2].iter().enumerate() {
        let sandbox = busy(BLOCK);
        replace(&sandbox, &format!("teams/{TEAM}"), *how);
        assert_eq!(ask(&sandbox).code, Some(2), "{place}");
        assert_eq!(delete(&sandbox).code, Some(2), "{place}");
        assert_eq!(pairs(&verdicts(&sandbox)), [("policy-failed", "block"); 2], "{place}");
    }
    for (place, how) in FOR_FILES.into_iter().enumerate() {
        let sandbox = busy(BLOCK);
        replace(&sandbox, &format!("teams/{TEAM}/config.json"), how);
        assert_eq!((ask(&sandbox).code, delete(&sandbox).code), (Some(2), Some(2)), "{place}");
    }
}

#[test]
fn calls_whose_gates_do_not_need_the_file_are_allowed() {
    let sandbox = busy(BLOCK);
    turn_ends(&sandbox);
    std::fs::create_dir_all(sandbox.client(&format!("teams/{TEAM}/inboxes"))).unwrap();
    fifo(&sandbox.client(&format!("teams/{TEAM}/inboxes/bob.json")), Path::new(""));
    replace(&sandbox, &format!("tasks/{TEAM}/2.json"), fifo);
    let tool = |name: &str, input: Value| {
        let result =
            told(&sandbox, json!({"hook_event_name": "PreToolUse", "tool_name": name, "tool_input": input}));
        assert_eq!((result.code, result.out.as_str()), (Some(0), ""), "{name}: {}", result.err);
    };
    tool("Bash", json!({"command": "ls"}));
    tool("SendMessage", json!({"to": "bob", "message": "hello"}));
    tool("TaskUpdate", json!({"taskId": "2", "subject": "Review again"}));
    tool("TaskStop", json!({"task_id": "b12345"}));
    tool("Agent", json!({"name": "carol", "prompt": "help"}));
    turn_ends(&sandbox);
    assert_eq!(verdicts(&sandbox), [], "no gate needed the file");
}

#[test]
fn any_unreadable_file_of_the_team_fails_the_gates_that_read_its_files() {
    let sandbox = busy(BLOCK);
    sandbox.write(&format!("tasks/{TEAM}/2.json"), json!({"id": "2", "status": "completed", "owner": "bob"}));
    std::fs::create_dir_all(sandbox.client(&format!("teams/{TEAM}/inboxes"))).unwrap();
    link(&sandbox.client(&format!("teams/{TEAM}/inboxes/bob.json")), Path::new("/nowhere"));
    let result = ask(&sandbox);
    let reason = format!(
        "Blocked: the policy cannot judge this, because teamkeep cannot read \"teams/{TEAM}/inboxes/bob.json\" (a symlink). "
    );
    assert!(result.code == Some(2) && result.err.starts_with(&reason), "{result:?}");
    assert_eq!(pairs(&verdicts(&sandbox)), [("policy-failed", "block")]);
}

#[test]
fn a_gate_that_blocks_by_what_can_be_read_still_blocks() {
    let sandbox = busy(BLOCK);
    std::fs::create_dir_all(sandbox.client(&format!("teams/{TEAM}/inboxes"))).unwrap();
    link(&sandbox.client(&format!("teams/{TEAM}/inboxes/bob.json")), Path::new("/nowhere"));
    assert_eq!(ask(&sandbox).code, Some(2));
    assert_eq!(pairs(&verdicts(&sandbox)), [("shutdown-of-busy-teammate", "block")]);
}

#[test]
fn several_gates_that_cannot_read_a_file_give_one_finding() {
    let sandbox =
        busy("[policy]\nidle-with-work = { mode = \"warn\" }\nreport-before-idle = { mode = \"block\" }\n");
    replace(&sandbox, &format!("tasks/{TEAM}/2.json"), link);
    let idle = json!({"hook_event_name": "TeammateIdle", "teammate_name": "bob", "team_name": TEAM});
    assert_eq!(told(&sandbox, idle).code, Some(0));
    assert_eq!(pairs(&verdicts(&sandbox)), [("policy-failed", "warn")]);
}

#[test]
fn an_unreadable_file_of_another_team_does_not_matter() {
    let sandbox = busy(BLOCK);
    sandbox.write(&format!("tasks/{TEAM}/2.json"), json!({"id": "2", "status": "completed", "owner": "bob"}));
    let config =
        json!({"name": "other", "createdAt": 1, "leadSessionId": "x", "members": [{"name": "team-lead"}]});
    sandbox.write("teams/other/config.json", config);
    std::fs::create_dir_all(sandbox.client("tasks/other")).unwrap();
    link(&sandbox.client("tasks/other/1.json"), Path::new("/nowhere"));
    assert_eq!(ask(&sandbox).code, Some(0));
    assert_eq!(verdicts(&sandbox), []);
}

#[test]
fn starting_a_task_with_an_unreadable_dependency_is_a_failure_of_the_policy() {
    let sandbox = busy(&format!("{BLOCK}unfinished-dependencies = {{ mode = \"block\" }}\n"));
    sandbox
        .write(&format!("tasks/{TEAM}/3.json"), json!({"id": "3", "status": "pending", "blockedBy": ["2"]}));
    replace(&sandbox, &format!("tasks/{TEAM}/2.json"), link);
    let start = json!({"hook_event_name": "PreToolUse", "tool_name": "TaskUpdate", "tool_input": {"taskId": "3", "status": "in_progress"}});
    let result = told(&sandbox, start);
    assert_eq!(result.code, Some(2), "{result:?}");
    assert!(result.err.contains("because teamkeep cannot read"), "{}", result.err);
}

#[test]
fn the_loop_guard_counts_a_failure_and_a_pause_disables_it() {
    let sandbox = busy(BLOCK);
    replace(&sandbox, &format!("tasks/{TEAM}"), link);
    let turn = |number: u32| {
        let result = ask(&sandbox);
        let prompt = json!({"hook_event_name": "UserPromptSubmit", "prompt": number.to_string()});
        assert_eq!(told(&sandbox, prompt).code, Some(0));
        result.code
    };
    let blocks = (0..20).take_while(|number| turn(*number) == Some(2)).count();
    assert_eq!(blocks, 3, "max-blocks");

    let sandbox = busy(BLOCK);
    replace(&sandbox, &format!("tasks/{TEAM}"), link);
    assert_eq!(ask(&sandbox).code, Some(2));
    assert_eq!(sandbox.run(&["pause", "premature-shutdown", "5m"]).code, Some(0));
    assert_eq!(ask(&sandbox).code, Some(0));
}

#[test]
fn an_unreadable_file_blocks_no_idle_event_and_no_end_of_a_turn() {
    let policy = "[policy]\non-error = \"block\"\nidle-with-work = { mode = \"block\" }\nlead-stops-early = { mode = \"block\" }\n";
    let sandbox = busy(policy);
    assert_eq!(
        told(&sandbox, json!({"hook_event_name": "UserPromptSubmit", "prompt": "Go on."})).code,
        Some(0)
    );
    replace(&sandbox, &format!("tasks/{TEAM}"), fifo);
    let idle = json!({"hook_event_name": "TeammateIdle", "teammate_name": "bob", "team_name": TEAM, "agent_id": "abob-1", "agent_type": "bob"});
    assert_eq!(told(&sandbox, idle).code, Some(0));
    turn_ends(&sandbox);
    let told = verdicts(&sandbox);
    assert!(told.iter().filter(|(code, _)| code == "policy-failed").all(|(_, decision)| decision == "warn"));
    assert_eq!(told.iter().filter(|(code, _)| code == "policy-failed").count(), 2, "{told:?}");
}

#[test]
fn status_and_doctor_report_an_unreadable_file_until_it_is_readable() {
    let sandbox = busy("");
    let path = format!("tasks/{TEAM}/2.json");
    replace(&sandbox, &path, link);
    turn_ends(&sandbox);
    assert!(sandbox.printed(&["status"]).contains("2.json: a symlink"));
    assert!(sandbox.printed(&["status", "--line"]).contains("files unreadable"));
    let doctor = sandbox.run(&["doctor"]).out;
    assert!(doctor.contains("warning: team-files: team parser-team: tasks/parser-team/2.json"), "{doctor}");
    std::fs::remove_file(sandbox.client(&path)).unwrap();
    std::fs::rename(sandbox.home().join("moved"), sandbox.client(&path)).unwrap();
    assert_eq!(ask(&sandbox).code, Some(2));
    assert_eq!(pairs(&verdicts(&sandbox)), [("shutdown-of-busy-teammate", "block")]);
    assert!(sandbox.run(&["doctor", "-v"]).out.contains("ok      team-files"));
    assert!(!sandbox.printed(&["status"]).contains("cannot read"), "session {SESSION}");
}

#[test]
fn a_back_test_evaluates_the_same_state_as_the_gate() {
    let sandbox = busy(BLOCK);
    turn_ends(&sandbox);
    replace(&sandbox, &format!("tasks/{TEAM}/2.json"), link);
    assert_eq!(ask(&sandbox).code, Some(2));
    let result = sandbox.run(&["policy", "test", TEAM]);
    assert!(result.out.contains("1 verdict same as recorded\n2 events: 1 blocked"), "{result:?}");
}
