//! What changed between two moments.

use serde_json::json;

use crate::support::client_files::Lead;
use crate::support::sandbox::Sandbox;

const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";

/// A team that changes at each second.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, SESSION);
    lead.roster(1_000, &["alice", "bob"]);
    lead.task("1", "pending", None);
    lead.task("2", "pending", None);
    lead.start("startup");
    let mail = |from: &str, text: &str, read: bool| json!({"from": from, "text": text, "timestamp": "t", "read": read});
    lead.inbox("alice", json!([mail("bob", "hello", false), mail("bob", "again", false)]));
    lead.hook("Stop", json!({}));
    lead.task("1", "in_progress", Some("alice"));
    std::fs::remove_file(sandbox.client("tasks/session-aaaaaaaa/2.json")).unwrap();
    lead.task("3", "pending", None);
    lead.roster(1_000, &["alice", "carol"]);
    lead.inbox("alice", json!([mail("bob", "again", true)]));
    lead.inbox("carol", json!([mail("alice", "\u{1b}[31mred", false)]));
    lead.hook("Stop", json!({}));
    lead.erase();
    lead.end("other");
    sandbox.finish();
    sandbox
}

#[test]
fn diff_reports_changes_between_two_times() {
    let sandbox = sandbox();
    insta::assert_snapshot!(sandbox.printed(&["show", "--diff", "+1s", "+2s"]), @r#"
    session-aaaaaaaa 78850aef5bad4835
    from 2026-02-03 04:05:07 UTC (+1.0s)
    to   2026-02-03 04:05:08 UTC (+2.0s)
    Tasks
      + 3    pending: Task 3
      - 2    pending: Task 2
      ~ 1    Task 1
            owner: none → alice
            status: pending → in_progress
    Members
      + carol
      - bob
    Messages
      + carol from alice: \u{1b}[31mred
      ~ alice read: from bob: again
      - alice from bob: hello
    "#);
    let told = sandbox.show(&["--diff", "+1s", "+2s"]);
    assert_eq!(told["from"], "2026-02-03T04:05:07.000Z");
    let task =
        json!({"owner": {"from": null, "to": "alice"}, "status": {"from": "pending", "to": "in_progress"}});
    assert_eq!(told["tasks"]["changed"], json!({"1": task}));
    assert_eq!(told["tasks"]["gone"]["2"]["subject"], "Task 2");
    assert_eq!(told["tasks"]["new"]["3"]["status"], "pending");
    assert_eq!(told["members"]["new"]["carol"]["name"], "carol");
    assert_eq!(told["members"]["gone"]["bob"]["name"], "bob");
    assert_eq!(told["mail"]["read"]["alice"][0]["text"], "again");
    assert_eq!(told["mail"]["gone"]["alice"][0]["text"], "hello");
    assert_eq!(told["mail"]["new"]["carol"].as_array().unwrap().len(), 1);
}

#[test]
fn moments_outside_the_run_and_in_reverse_order_are_reported() {
    let sandbox = sandbox();
    let result = |from: &str, to: &str| {
        let result = sandbox.run(&["show", "--diff", from, to]);
        (result.code, result.err, result.out)
    };
    let (code, err, out) = result("+2s", "+1s");
    let order = "error: 2026-02-03 04:05:08 UTC is later than 2026-02-03 04:05:07 UTC\n\
        hint: the earlier moment comes first: --diff +1s +2s\n";
    assert_eq!((code, err.as_str(), out.as_str()), (Some(64), order, ""));
    let (code, err, out) = result("-10s", "-5s");
    assert_eq!((code, err.as_str()), (Some(0), "the run starts at 2026-02-03 04:05:06 UTC\n"));
    assert!(out.ends_with("\nnothing changed between them\n"), "{out}");
    let (_, err, out) = result("-10s", "+0s");
    assert_eq!(err, "the run starts at 2026-02-03 04:05:06 UTC\n");
    assert!(out.contains("  + alice"), "{out}");
    let (_, err, out) = result("+2s", "+1h");
    assert_eq!(err, "the run had ended at 2026-02-03 04:05:09 UTC (+3.0s)\n");
    assert!(out.contains("  - carol"), "{out}");
    let (_, err, out) = result("+1s", "+1s");
    assert!(err.is_empty() && out.ends_with("nothing changed between them\n"), "{err}{out}");
    assert_eq!(result("noon", "+1s").0, Some(64));
    assert_eq!(sandbox.run(&["show", "--diff", "+1s"]).code, Some(64));
    assert_eq!(sandbox.run(&["show", "--at", "+1s", "--diff", "+1s", "+2s"]).code, Some(64));
}
