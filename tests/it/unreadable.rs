//! Team files that cannot be read: a symlink, a special file or a directory in their place. The gates that need them fail,
//! and `on-error` decides.

use std::path::Path;

use serde_json::{Value, json};

use super::policy_stage::{SESSION, TEAM, busy, pairs, shutdown, told, verdicts};
use super::stage::{Said, Stage};

const BLOCK: &str = "[policy]\non-error = \"block\"\n";
const OWN: &str = "session-aaaaaaaa";

/// Moves a file or directory away and puts something else in its place.
type Replace = fn(&Path, &Path);

fn link(path: &Path, moved: &Path) {
    std::os::unix::fs::symlink(moved, path).unwrap();
}

fn dangling(path: &Path, _: &Path) {
    std::os::unix::fs::symlink("/nowhere/at/all", path).unwrap();
}

fn fifo(path: &Path, _: &Path) {
    rustix::fs::mkfifoat(rustix::fs::CWD, path, rustix::fs::Mode::RWXU).unwrap();
}

fn socket(path: &Path, _: &Path) {
    // The path of a socket has a limit, so it is made elsewhere.
    let dir = tempfile::tempdir().unwrap();
    let bound = dir.path().join("s");
    drop(std::os::unix::net::UnixListener::bind(&bound).unwrap());
    std::fs::rename(bound, path).unwrap();
}

fn directory(path: &Path, _: &Path) {
    std::fs::create_dir(path).unwrap();
}

fn file(path: &Path, _: &Path) {
    std::fs::write(path, "{}").unwrap();
}

const FOR_DIRECTORIES: [Replace; 5] = [link, dangling, fifo, socket, file];
const FOR_FILES: [Replace; 5] = [link, dangling, fifo, socket, directory];

fn replace(stage: &Stage, path: &str, how: Replace) {
    let (path, moved) = (stage.client(path), stage.home().join("moved"));
    std::fs::rename(&path, &moved).unwrap();
    how(&path, &moved);
}

/// A stage whose team is named after its session, as in 2.1.178 and later.
fn modern(policy: &str) -> Stage {
    let stage = busy(policy);
    for root in ["teams", "tasks"] {
        std::fs::rename(stage.client(&format!("{root}/{TEAM}")), stage.client(&format!("{root}/{OWN}")))
            .unwrap();
    }
    stage
}

fn ask(stage: &Stage) -> Said {
    stage.feed("pre-tool-use", shutdown("").as_bytes(), &[])
}

fn turn_ends(stage: &Stage) {
    assert_eq!(told(stage, json!({"hook_event_name": "Stop"})).code, Some(0));
}

fn delete(stage: &Stage) -> Said {
    told(stage, json!({"hook_event_name": "PreToolUse", "tool_name": "TeamDelete", "tool_input": {}}))
}

#[test]
fn a_task_that_cannot_be_read_is_a_failure_of_the_policy() {
    let tasks = [(format!("tasks/{TEAM}"), FOR_DIRECTORIES), (format!("tasks/{TEAM}/2.json"), FOR_FILES)];
    for (path, hows) in tasks {
        for (place, how) in hows.into_iter().enumerate() {
            for is_known in [true, false] {
                let stage = busy(BLOCK);
                if is_known {
                    turn_ends(&stage);
                }
                replace(&stage, &path, how);
                let said = ask(&stage);
                assert_eq!(said.code, Some(2), "{path} {place}: {said:?}");
                assert!(said.err.contains("cannot read") && said.err.contains("on-error"), "{}", said.err);
                assert_eq!(pairs(&verdicts(&stage)), [("policy-failed", "block")], "{path} {place}");
            }
        }
    }
}

#[test]
fn by_default_the_failure_is_recorded_and_told_and_blocks_nothing() {
    let stage = busy("");
    replace(&stage, &format!("tasks/{TEAM}/2.json"), link);
    let said = ask(&stage);
    assert_eq!(said.code, Some(0), "{said:?}");
    let answer: Value = serde_json::from_str(&said.out).unwrap();
    let context = answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(context.contains("2.json\" (a symlink)"), "{context}");
    assert_eq!(ask(&stage).out, "", "told once in a state of the work");
    assert_eq!(pairs(&verdicts(&stage)), [("policy-failed", "warn"), ("policy-failed", "warn")]);
}

#[test]
fn a_team_directory_that_cannot_be_read_is_a_failure_from_the_first_call_on() {
    for (place, how) in FOR_DIRECTORIES.into_iter().enumerate() {
        let stage = modern(BLOCK);
        replace(&stage, &format!("teams/{OWN}"), how);
        let said = ask(&stage);
        assert_eq!(said.code, Some(2), "{place}: {said:?}");
        let said = delete(&stage);
        assert_eq!(said.code, Some(2), "{place}: {said:?}");
    }
    // Before 2.1.178 only the roster says which session leads a team.
    for (place, how) in FOR_DIRECTORIES[..4].iter().enumerate() {
        let stage = busy(BLOCK);
        replace(&stage, &format!("teams/{TEAM}"), *how);
        assert_eq!(ask(&stage).code, Some(2), "{place}");
        assert_eq!(delete(&stage).code, Some(2), "{place}");
        assert_eq!(pairs(&verdicts(&stage)), [("policy-failed", "block"); 2], "{place}");
    }
    for (place, how) in FOR_FILES.into_iter().enumerate() {
        let stage = busy(BLOCK);
        replace(&stage, &format!("teams/{TEAM}/config.json"), how);
        assert_eq!((ask(&stage).code, delete(&stage).code), (Some(2), Some(2)), "{place}");
    }
}

#[test]
fn calls_for_which_no_gate_needs_the_file_are_not_touched() {
    let stage = busy(BLOCK);
    turn_ends(&stage);
    std::fs::create_dir_all(stage.client(&format!("teams/{TEAM}/inboxes"))).unwrap();
    fifo(&stage.client(&format!("teams/{TEAM}/inboxes/bob.json")), Path::new(""));
    replace(&stage, &format!("tasks/{TEAM}/2.json"), fifo);
    let tool = |name: &str, input: Value| {
        let said =
            told(&stage, json!({"hook_event_name": "PreToolUse", "tool_name": name, "tool_input": input}));
        assert_eq!((said.code, said.out.as_str()), (Some(0), ""), "{name}: {}", said.err);
    };
    tool("Bash", json!({"command": "ls"}));
    tool("SendMessage", json!({"to": "bob", "message": "hello"}));
    tool("TaskUpdate", json!({"taskId": "7", "status": "completed"}));
    tool("TaskUpdate", json!({"taskId": "2", "subject": "Review again"}));
    tool("TaskStop", json!({"task_id": "b12345"}));
    tool("Agent", json!({"name": "carol", "prompt": "help"}));
    turn_ends(&stage);
    assert_eq!(verdicts(&stage), [], "no gate needed the file");
}

#[test]
fn an_inbox_that_cannot_be_read_does_not_matter_to_a_shutdown() {
    let stage = busy(BLOCK);
    stage.write(&format!("tasks/{TEAM}/2.json"), json!({"id": "2", "status": "completed", "owner": "bob"}));
    std::fs::create_dir_all(stage.client(&format!("teams/{TEAM}/inboxes"))).unwrap();
    link(&stage.client(&format!("teams/{TEAM}/inboxes/bob.json")), Path::new("/nowhere"));
    assert_eq!(ask(&stage).code, Some(0));
    assert_eq!(verdicts(&stage), []);
}

#[test]
fn a_task_whose_dependency_cannot_be_read_is_not_started_unseen() {
    let stage = busy(&format!("{BLOCK}unfinished-dependencies = {{ mode = \"block\" }}\n"));
    stage.write(&format!("tasks/{TEAM}/3.json"), json!({"id": "3", "status": "pending", "blockedBy": ["2"]}));
    replace(&stage, &format!("tasks/{TEAM}/2.json"), link);
    let start = json!({"hook_event_name": "PreToolUse", "tool_name": "TaskUpdate", "tool_input": {"taskId": "3", "status": "in_progress"}});
    let said = told(&stage, start);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("unfinished-dependencies cannot check this"), "{}", said.err);
}

#[test]
fn the_loop_guard_counts_a_failure_and_a_pause_lifts_it() {
    let stage = busy(BLOCK);
    replace(&stage, &format!("tasks/{TEAM}"), link);
    let turn = |number: u32| {
        let said = ask(&stage);
        let prompt = json!({"hook_event_name": "UserPromptSubmit", "prompt": number.to_string()});
        assert_eq!(told(&stage, prompt).code, Some(0));
        said.code
    };
    let blocks = (0..20).take_while(|number| turn(*number) == Some(2)).count();
    assert_eq!(blocks, 3, "max-blocks");

    let stage = busy(BLOCK);
    replace(&stage, &format!("tasks/{TEAM}"), link);
    assert_eq!(ask(&stage).code, Some(2));
    assert_eq!(stage.run(&["policy", "pause", "--gate", "premature-shutdown", "5m"]).code, Some(0));
    assert_eq!(ask(&stage).code, Some(0));
}

#[test]
fn an_idle_and_the_end_of_a_turn_are_never_blocked_for_it() {
    let policy = "[policy]\non-error = \"block\"\nidle-with-work = { mode = \"block\" }\nlead-stops-early = { mode = \"block\" }\n";
    let stage = busy(policy);
    assert_eq!(
        told(&stage, json!({"hook_event_name": "UserPromptSubmit", "prompt": "Go on."})).code,
        Some(0)
    );
    replace(&stage, &format!("tasks/{TEAM}"), fifo);
    let idle = json!({"hook_event_name": "TeammateIdle", "teammate_name": "bob", "team_name": TEAM, "agent_id": "abob-1", "agent_type": "bob"});
    assert_eq!(told(&stage, idle).code, Some(0));
    turn_ends(&stage);
    let told = verdicts(&stage);
    assert!(told.iter().filter(|(code, _)| code == "policy-failed").all(|(_, decision)| decision == "warn"));
    assert_eq!(told.iter().filter(|(code, _)| code == "policy-failed").count(), 2, "{told:?}");
}

#[test]
fn status_and_doctor_show_it_until_the_file_is_back() {
    let stage = busy("");
    let path = format!("tasks/{TEAM}/2.json");
    replace(&stage, &path, link);
    turn_ends(&stage);
    assert!(stage.told(&["status"]).contains("2.json: a symlink"));
    assert!(stage.told(&["status", "--line"]).contains("files unreadable"));
    let doctor = stage.run(&["doctor"]).out;
    assert!(doctor.contains("warning: team-files: team parser-team: tasks/parser-team/2.json"), "{doctor}");
    std::fs::remove_file(stage.client(&path)).unwrap();
    std::fs::rename(stage.home().join("moved"), stage.client(&path)).unwrap();
    assert_eq!(ask(&stage).code, Some(2));
    assert_eq!(pairs(&verdicts(&stage)), [("shutdown-of-busy-teammate", "block")]);
    assert!(stage.run(&["doctor", "-v"]).out.contains("ok      team-files"));
    assert!(!stage.told(&["status"]).contains("cannot read"), "session {SESSION}");
}

#[test]
fn a_back_test_sees_what_the_gate_saw() {
    let stage = busy(BLOCK);
    turn_ends(&stage);
    replace(&stage, &format!("tasks/{TEAM}/2.json"), link);
    assert_eq!(ask(&stage).code, Some(2));
    let said = stage.run(&["policy", "test", TEAM]);
    assert!(said.out.contains("premature-shutdown cannot check this"), "{said:?}");
}
