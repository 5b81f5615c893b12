//! Team files with a content that Claude Code cannot read: the gates that need them fail, and `on-error` decides.

use serde_json::json;

use crate::policy::gate_sandbox::{TEAM, busy, pairs, shutdown, told, verdicts};
use crate::store::run_sandbox::{ONE, rows};
use crate::support::client_files::{Lead, count};
use crate::support::sandbox::{CommandResult, Sandbox};

const BLOCK: &str = "[policy]\non-error = \"block\"\n";
const MARKED: &str = "not valid JSON: it starts with a byte order mark";
const TASK: &str = r#"{"id":"2","status":"in_progress","owner":"bob"}"#;

fn utf_16(units: impl Fn(u16) -> [u8; 2]) -> Vec<u8> {
    ['\u{feff}'].into_iter().chain(TASK.chars()).flat_map(|c| units(c as u16)).collect()
}

/// Contents that Claude Code cannot read as a task, each with what is said about it.
fn odd_contents() -> Vec<(Vec<u8>, &'static str)> {
    let cut = TASK.strip_suffix('}').unwrap();
    let not_json = [
        utf_16(u16::to_le_bytes),
        utf_16(u16::to_be_bytes),
        vec![0; 200],
        format!("{cut},}}").into_bytes(),
        format!("{cut},\"path\":\"C:\\Users\"}}").into_bytes(),
        cut.as_bytes().to_vec(),
    ];
    let marked = (format!("\u{feff}{TASK}").into_bytes(), MARKED);
    let not_objects = ["[]", "\"text\"", "7", "null", "[{\"id\":\"2\"}]"];
    let not_json = not_json.into_iter().map(|content| (content, "not valid JSON"));
    let not_objects = not_objects.map(|content| (content.as_bytes().to_vec(), "not a JSON object"));
    let empty = [(Vec::new(), "empty"), (b" \n".to_vec(), "empty")];
    not_json.chain(not_objects).chain(empty).chain([marked]).collect()
}

fn put(sandbox: &Sandbox, path: &str, content: &[u8]) {
    let path = sandbox.client(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

fn task() -> String {
    format!("tasks/{TEAM}/2.json")
}

fn ask(sandbox: &Sandbox) -> CommandResult {
    sandbox.feed("pre-tool-use", shutdown("").as_bytes(), &[])
}

fn turn_ends(sandbox: &Sandbox) {
    assert_eq!(told(sandbox, json!({"hook_event_name": "Stop"})).code, Some(0));
}

#[test]
fn a_task_that_was_never_readable_is_a_failure_of_the_policy_and_is_listed() {
    for (content, why) in odd_contents() {
        let sandbox = busy(BLOCK);
        put(&sandbox, &task(), &content);
        let shown = String::from_utf8_lossy(&content).into_owned();
        let result = ask(&sandbox);
        assert_eq!(result.code, Some(2), "{shown:?}: {result:?}");
        assert!(result.err.contains(why) && result.err.contains("on-error"), "{}", result.err);
        let status = sandbox.run(&["status"]).out;
        assert!(status.contains(&format!("cannot read {}: {why}", task())), "{shown:?}: {status}");
        let doctor = sandbox.run(&["doctor"]).out;
        assert!(doctor.contains(&format!("2.json cannot be read ({why})")), "{shown:?}: {doctor}");
        assert!(doctor.contains(" show ") && doctor.contains("; then correct or delete "), "{doctor}");
        let diagnostics = sandbox.diagnostics();
        assert!(diagnostics.contains(&format!("2.json is {why}")), "{diagnostics}");
        assert_eq!(pairs(&verdicts(&sandbox)), [("policy-failed", "block")], "{shown:?}");
    }
}

#[test]
fn a_task_that_becomes_readable_is_judged_and_its_last_complete_version_counts_afterwards() {
    for content in [&b"{\"id\":\"2\""[..], b"", b"\xff\xfe"] {
        let sandbox = busy(BLOCK);
        put(&sandbox, &task(), format!("\u{feff}{TASK}").as_bytes());
        turn_ends(&sandbox);
        put(&sandbox, &task(), b"{\"id\":\"2\"");
        turn_ends(&sandbox);
        let status = sandbox.printed(&["status"]);
        assert!(status.contains("cannot read"), "no content was a version yet: {status}");
        put(&sandbox, &task(), TASK.as_bytes());
        turn_ends(&sandbox);
        put(&sandbox, &task(), content);
        assert_eq!(ask(&sandbox).code, Some(2));
        assert!(!sandbox.printed(&["status"]).contains("cannot read"));
        assert!(sandbox.run(&["doctor", "-v"]).out.contains("ok      team-files"));
        assert_eq!(pairs(&verdicts(&sandbox)), [("shutdown-of-busy-teammate", "block")]);
    }
}

#[test]
fn a_readable_task_that_becomes_another_value_is_unreadable() {
    let sandbox = busy(BLOCK);
    turn_ends(&sandbox);
    put(&sandbox, &task(), b"[]");
    assert_eq!(ask(&sandbox).code, Some(2));
    assert!(sandbox.run(&["status"]).out.contains("2.json: not a JSON object"));
    assert_eq!(pairs(&verdicts(&sandbox)), [("policy-failed", "block")]);
}

#[test]
fn a_byte_that_is_not_utf_8_hides_no_task() {
    let sandbox = busy(BLOCK);
    let content = [TASK.strip_suffix('}').unwrap().as_bytes(), b",\"x\":\"Dr\xe4ft\"}"].concat();
    put(&sandbox, &task(), &content);
    let result = ask(&sandbox);
    assert!(result.code == Some(2) && result.err.contains("who still owns task 2"), "{result:?}");
    assert!(!sandbox.run(&["status"]).out.contains("cannot read"));
}

#[test]
fn an_unreadable_content_cannot_block_for_ever() {
    let sandbox = busy(BLOCK);
    put(&sandbox, &task(), &[0; 64]);
    let turn = |number: u32| {
        let result = ask(&sandbox);
        let prompt = json!({"hook_event_name": "UserPromptSubmit", "prompt": number.to_string()});
        assert_eq!(told(&sandbox, prompt).code, Some(0));
        result.code
    };
    assert_eq!((0..20).take_while(|number| turn(*number) == Some(2)).count(), 3, "max-blocks");
}

#[test]
fn a_roster_that_was_never_readable_may_have_the_session_in_it() {
    for (content, why) in odd_contents() {
        let sandbox = busy(BLOCK);
        put(&sandbox, &format!("teams/{TEAM}/config.json"), &content);
        let result = ask(&sandbox);
        assert_eq!(result.code, Some(2), "{content:?}: {result:?}");
        assert!(result.err.contains(why), "{}", result.err);
        let delete = json!({"hook_event_name": "PreToolUse", "tool_name": "TeamDelete", "tool_input": {}});
        assert_eq!(told(&sandbox, delete).code, Some(2), "{content:?}");
        assert_eq!(pairs(&verdicts(&sandbox)), [("policy-failed", "block"); 2]);
    }
}

#[test]
fn an_inbox_that_was_never_readable_is_listed_and_fails_the_gates() {
    for (content, why) in [(&b"\xef\xbb\xbf[]"[..], MARKED), (b"{}", "not a JSON array"), (b"", "empty")] {
        let sandbox = busy(BLOCK);
        put(
            &sandbox,
            &task(),
            json!({"id": "2", "status": "completed", "owner": "bob"}).to_string().as_bytes(),
        );
        put(&sandbox, &format!("teams/{TEAM}/inboxes/bob.json"), content);
        assert_eq!(ask(&sandbox).code, Some(2));
        let status = sandbox.run(&["status"]).out;
        assert!(status.contains(&format!("inboxes/bob.json: {why}")), "{status}");
        assert_eq!(pairs(&verdicts(&sandbox)), [("policy-failed", "block")]);
    }
}

#[test]
fn a_back_test_cannot_read_what_the_gate_could_not_read() {
    let sandbox = busy(BLOCK);
    put(&sandbox, &task(), format!("\u{feff}{TASK}").as_bytes());
    turn_ends(&sandbox);
    put(&sandbox, &task(), b"{\"id\":");
    assert_eq!(ask(&sandbox).code, Some(2));
    let result = sandbox.run(&["policy", "test", TEAM]);
    assert!(result.out.contains("1 verdict same as recorded\n2 events: 1 blocked"), "{result:?}");
}

#[test]
fn restore_and_show_report_a_file_that_was_never_json() {
    let sandbox = busy("");
    put(&sandbox, &task(), format!("\u{feff}{TASK}").as_bytes());
    put(&sandbox, &format!("tasks/{TEAM}/3.json"), b"{\"id\":\"3\"}");
    turn_ends(&sandbox);
    put(&sandbox, &format!("tasks/{TEAM}/3.json"), b"{\"id\":");
    put(&sandbox, &format!("teams/{TEAM}/inboxes/bob.json"), b"{}");
    turn_ends(&sandbox);
    let result = sandbox.run(&["restore", TEAM, "--files", "../then"]);
    assert_eq!(result.code, Some(0), "{result:?}");
    assert!(
        result.out.contains("2.json (not valid JSON: it starts with a byte order mark)"),
        "{}",
        result.out
    );
    assert!(result.out.contains("3.json (incomplete JSON: recorded during a write)"), "{}", result.out);
    let then = sandbox.printed(&["show", TEAM, "--at", &sandbox.last()]);
    assert!(then.contains("inboxes/bob.json is not shown: it was not a JSON array"), "{then}");
    assert!(
        then.contains("2.json is not shown: it was not valid JSON: it starts with a byte order mark")
            && then.contains("3.json was half-written"),
        "{then}"
    );
}

#[test]
fn a_team_with_an_odd_creation_time_is_a_run() {
    let values = [
        json!(0),
        json!(-5),
        json!("2026"),
        json!(1.5),
        json!(0.0),
        json!(9e15),
        json!(1e300),
        json!(null),
        json!(true),
    ];
    for created in values {
        let sandbox = Sandbox::new();
        let lead = Lead::of(&sandbox, ONE);
        lead.config(1_000, &["alice"], json!({"createdAt": created}));
        lead.start("startup");
        lead.task("1", "pending", None);
        lead.hook("UserPromptSubmit", json!({"prompt": "go"}));
        let teams = sandbox.teams();
        assert_eq!(rows(&teams, "ended_at"), [&json!(null)], "{created}");
        assert!(sandbox.printed(&["status"]).starts_with("session-aaaaaaaa running"), "{created}");
        lead.erase();
        lead.end("other");
        sandbox.finish();
        assert_eq!(rows(&sandbox.teams(), "ended_by"), ["session-end"], "{created}");
        let entries = sandbox.replay("latest");
        assert_eq!(count(&entries, "member-joined"), 2, "{created}: {entries:#?}");
        assert_eq!(sandbox.printed(&["verify"]).matches("no damage found").count(), 1, "{created}");
        assert_eq!(sandbox.library().find("latest").unwrap().flaw(), None, "{created}");
    }
}
