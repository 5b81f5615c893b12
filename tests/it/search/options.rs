//! What `search --help` and `docs/guides/search.md` say about the options and the results.

use serde_json::{Value, json};

use super::{hits, text};
use crate::policy::gate_sandbox::{busy, shutdown};
use crate::store::bundle_sandbox::{SESSION, TEAM, ended, export};
use crate::support::client_files::Lead;
use crate::support::sandbox::Sandbox;

#[test]
fn each_kind_selects_its_texts() {
    let sandbox = busy("");
    sandbox.feed("pre-tool-use", shutdown("").as_bytes(), &[]);
    let lead = Lead::of(&sandbox, "bbbbbbbb-0000-4000-8000-000000000001");
    lead.roster(1_000, &["alice"]);
    lead.start("startup");
    lead.hook("UserPromptSubmit", json!({"prompt": "task 2 is a prompt"}));
    lead.hook("Stop", json!({"last_assistant_message": "task 2 is a reply"}));
    lead.tool("b1", "Bash", &json!({"command": "echo task 2"}), json!({"stdout": "task 2 is a result"}));
    lead.before("s1", "SendMessage", &json!({"to": "alice", "message": "task 2 is a message"}), json!({}));
    lead.before("t1", "TaskCreate", &json!({"subject": "task 2 is a task"}), json!({}));
    lead.says("assistant", json!([{"type": "thinking", "thinking": "task 2 is thinking"}]));
    for (kind, excerpt) in [
        ("message", "task 2 is a message"),
        ("prompt", "task 2 is a prompt"),
        ("reply", "task 2 is a reply"),
        ("thinking", "task 2 is thinking"),
        ("task", "task 2 is a task"),
        ("tool", "echo task 2"),
        ("result", "task 2 is a result"),
        ("verdict", "a shutdown request to bob, who still owns task 2"),
    ] {
        let found = hits(&sandbox, &["task 2", "--kind", kind]);
        assert_eq!((found.len(), text(&found[0], "kind")), (1, kind), "{found:#?}");
        assert!(text(&found[0]["snippet"], "text").contains(excerpt), "{found:#?}");
    }
    let unknown = sandbox.run(&["search", "task", "--kind", "messages"]);
    assert_eq!(unknown.code, Some(64), "{unknown:?}");
    assert!(unknown.err.contains("did you mean \"message\"?"), "{}", unknown.err);
}

#[test]
fn times_bound_the_texts_on_both_sides() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, SESSION);
    lead.roster(1_000, &["alice"]);
    lead.start("startup");
    for (minute, prompt) in [(10, "needle one"), (20, "needle two"), (30, "needle three")] {
        sandbox.set_clock(minute * 60_000);
        lead.hook("UserPromptSubmit", json!({"prompt": prompt}));
    }
    for (args, expected) in [
        (&[][..], &["three", "two", "one"][..]),
        (&["--since", "2026-02-03T04:20:00Z"], &["three", "two"]),
        (&["--until", "2026-02-03T04:20:00Z"], &["one"]),
        (&["--since", "2026-02-03T04:20:00Z", "--until", "2026-02-03T04:30:00Z"], &["two"]),
        (&["--since", "15m"], &["three", "two"]),
        (&["--until", "15m"], &["one"]),
        (&["--run", "latest", "--since", "+15m"], &["three", "two"]),
        (&["--run", "latest", "--until", "+25m"], &["two", "one"]),
        (&["--since", "1h", "-n", "1"], &["three"]),
    ] {
        let found = hits(&sandbox, &[&["needle"], args].concat());
        let words: Vec<&str> =
            found.iter().map(|hit| text(&hit["snippet"], "text").split(' ').nth(1).unwrap()).collect();
        assert_eq!(words, expected, "{args:?}");
    }
}

#[test]
fn excerpts_full_texts_and_limits_are_as_the_help_says() {
    let end = "the end of the needle";
    let sandbox = ended(&format!("needle {} {end}", "and more ".repeat(100)));
    let printed = |args: &[&str]| sandbox.run(&[&["search", "and more"], args].concat());
    assert!(!printed(&[]).out.contains(end));
    assert!(printed(&["--full"]).out.contains(end), "{}", printed(&["--full"]).out);
    let has_text = |args: &[&str]| hits(&sandbox, &[&["needle"], args].concat())[0]["text"].is_string();
    assert!(has_text(&["--full"]) && !has_text(&[]));
    let lead = Lead::of(&sandbox, "cccccccc-0000-4000-8000-000000000001");
    for number in 0..25 {
        lead.hook("UserPromptSubmit", json!({"prompt": format!("needle {number}")}));
    }
    assert_eq!(hits(&sandbox, &["needle"]).len(), 20, "the default");
    assert_eq!(hits(&sandbox, &["needle", "-n", "22"]).len(), 22);
    let limited = sandbox.run(&["search", "needle", "-n", "3"]);
    assert_eq!(limited.err, "showing the first 3 matches; for more: -n COUNT\n");
    let lines: Vec<&str> = limited.out.lines().collect();
    assert_eq!(lines.len(), 5, "the run, three hits, and how to open one: {}", limited.out);
    assert_eq!(lines[0], "cccccccc-0000-4000-8000-000000000001", "a session without a run");
    assert!(lines[4].starts_with("to open the last hit: teamkeep log "), "{}", limited.out);
    let full = sandbox.run(&["search", "needle", "-n", "3", "--full"]);
    assert_eq!(full.out.matches("  $ teamkeep log ").count(), 3, "{}", full.out);
    assert!(limited.out.find("needle 24") < limited.out.find("needle 23"), "the newest first");
    let path = export(&sandbox, TEAM, "run.tar.gz", &[]);
    let file = sandbox.run(&["search", "needle", "--file", path.to_str().unwrap()]);
    assert!(
        file.err.ends_with(&format!("import the file first: teamkeep import {}\n", path.display())),
        "{}",
        file.err
    );
}

#[test]
fn secrets_are_printed_unless_they_are_redacted() {
    let sandbox = ended("needle for bob@example.com in TICKET-4711");
    sandbox.configure("[[privacy.pattern]]\nname = \"ticket\"\nregex = 'TICKET-\\d+'\n");
    for more in [&[][..], &["--full"], &["--json"], &["--json", "--full"]] {
        let printed = |args: &[&str]| sandbox.printed(&[&["search", "needle"], args, more].concat());
        let plain = printed(&[]);
        assert!(plain.contains("bob@example.com") && plain.contains("TICKET-4711"), "{more:?}: {plain}");
        let redacted = printed(&["--redact"]);
        assert!(
            redacted.contains("[redacted:email]") && redacted.contains("[redacted:ticket]"),
            "{redacted}"
        );
        assert!(!redacted.contains("bob@example.com") && !redacted.contains("4711"), "{more:?}: {redacted}");
    }
}

#[test]
fn a_hit_has_the_keys_of_the_json_page() {
    let page = include_str!("../../../docs/reference/json.md");
    let table = page.split("| key of a hit | content |").nth(1).unwrap().split("\n\n").next().unwrap();
    let cells = table.lines().filter_map(|row| row.split('|').nth(1));
    let mut documented: Vec<&str> = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    let sandbox = ended("needle");
    let mut keys: Vec<String> = Vec::new();
    for hit in hits(&sandbox, &["needle", "--full"]) {
        keys.extend(hit.as_object().unwrap().keys().cloned());
    }
    keys.sort();
    keys.dedup();
    documented.sort_unstable();
    assert_eq!(keys, documented);
}

#[test]
fn encoded_data_and_notices_of_claude_code_are_not_found() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, SESSION);
    lead.roster(1_000, &["alice"]);
    lead.start("startup");
    let image = format!("{}needle", "QUJD".repeat(2_000));
    lead.tool(
        "r1",
        "Read",
        &json!({"file_path": "logo.png"}),
        json!({"file": {"base64": image, "note": "needle of the result"}}),
    );
    let notice = json!({"type": "idle_notification", "from": "alice", "summary": "needle of a notice"});
    lead.inbox(
        "team-lead",
        json!([{"from": "alice", "text": notice.to_string(), "timestamp": sandbox.last()}]),
    );
    lead.hook("Stop", json!({}));
    let found = hits(&sandbox, &["needle", "--full"]);
    let texts: Vec<&Value> = found.iter().map(|hit| &hit["text"]).collect();
    assert_eq!(texts, ["needle of the result"]);
}
