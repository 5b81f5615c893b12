//! What the report and its page print: one duration, one number of messages, the state after the end, plain words.

use serde_json::{Value, json};
use teamkeep::view::full_report;
use teamkeep_history::report::Report;

use super::html::{at, column, empty, letter, show, task};
use crate::history::traces::{V177, V328, play};
use crate::support::browser::Browser;
use teamkeep_model::time;

const LEFT: &str = "\u{e012}";

fn text(value: Value) -> String {
    let value: Report = serde_json::from_value(value).unwrap();
    anstream::adapter::strip_str(&full_report(&value).to_terminal(None)).to_string()
}

/// A message that was not sent.
fn unsent(second: usize, why: &str) -> Value {
    let mut unsent = letter(second, "alice", "bob", "hello?");
    unsent["refused"] = json!(why);
    unsent["delivered"] = json!(false);
    unsent
}

#[test]
fn idle_owner_of_an_unfinished_task_is_not_waiting() {
    let told = play(V177, 1);
    let report: Value = serde_json::from_str(&told.sandbox.printed(&["report", "--json"])).unwrap();
    let efforts = report["work"]["agents"].as_array().unwrap();
    let bob = efforts.iter().find(|effort| effort["agent"] == "bob").unwrap();
    // Its task was in progress until Claude Code returned it to pending; the task before it was completed after 2.6 s.
    let millis = |key: &str| bob[key].as_i64().unwrap();
    assert!(millis("idle_ms") > 27_000 && millis("waiting_ms") < 1_000, "{bob}");
}

#[test]
fn run_has_the_same_duration_in_all_outputs() {
    let told = play(V177, 1);
    let report: Value = serde_json::from_str(&told.sandbox.printed(&["report", "--json"])).unwrap();
    assert_eq!(report["overview"]["duration_ms"], 57_041);
    assert!(told.sandbox.printed(&["report"]).contains("lasted 57 s, ended by team-delete"));
    assert!(told.sandbox.printed(&["log"]).contains("lasted 57 s, ended by team-delete"));
    let list = told.sandbox.printed(&["list"]);
    assert!(list.contains(" 57 s "), "{list}");
    let path = told.sandbox.home().join("report.html");
    told.sandbox.printed(&["report", "--format", "html", "-o", path.to_str().unwrap()]);
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&path);
    assert!(browser.text("#figures").starts_with("Duration57 s"), "{}", browser.text("#figures"));
    assert!(browser.text("#subtitle").ends_with("04:39:28 to 2026-11-20 04:40:25 UTC · 57 s"));
    // The page opens at its incident.
    browser.go("#view=whole");
    let moment = browser.text("#moment");
    assert!(moment.starts_with("0:57.041"), "{moment}");
    browser.must_be_content();
}

#[test]
fn unsent_messages_are_counted_separately() {
    let mut report = empty();
    let mut idle = letter(4, "bob", "alice", "{}");
    idle["automatic"] = json!(true);
    let mut blocked = unsent(2, "Blocked: the inbox of bob is full");
    blocked["blocked"] = json!(true);
    let messages = [letter(1, "alice", "bob", "hello"), blocked, unsent(3, "no such teammate"), idle];
    report["mail"]["messages"] = json!(messages);
    for (key, number) in [("messages", 1), ("automatic", 1), ("refused", 2)] {
        report["overview"]["count"][key] = json!(number);
    }
    let told = text(report.clone());
    assert!(told.contains("1 message (+1 automatic, 1 blocked, 1 rejected)"), "{told}");
    assert!(
        told.contains("hello? (blocked)") && told.contains("hello? (rejected: no such teammate)"),
        "{told}"
    );
    let Some((browser, _dir)) = show(report) else { return };
    let figures = browser.text("#figures");
    assert!(figures.contains("Messages1 (+1 automatic, 1 blocked, 1 rejected)"), "{figures}");
    assert_eq!(
        browser.text("#found"),
        "3 messages of 4: 1 sent, 1 automatic (hidden), 1 blocked, 1 rejected"
    );
    browser.must_be_content();
}

#[test]
fn board_shows_that_the_run_has_ended() {
    let mut report = empty();
    report["overview"]["ended_at"] = json!(at(30));
    report["overview"]["ended_by"] = json!("team-delete");
    report["overview"]["duration_ms"] = json!(30_000);
    report["tasks"] = json!([task(1, "Draft", &[])]);
    // The session of the lead continues.
    report["mail"]["messages"] = json!([letter(40, "alice", "bob", "bye")]);
    let Some((browser, _dir)) = show(report) else { return };
    let is_ended = "return document.getElementById('board').classList.contains('ended')";
    assert_eq!(
        browser.text("#board-ended"),
        "The run has ended: the team was deleted at 0:30.000. The board shows the last recorded state."
    );
    assert_eq!(browser.text("#board-when"), "After the end of the run.");
    assert_eq!((browser.run(is_ended), column(&browser, "completed")), (json!(true), json!(["#1"])));
    browser.focus("#slider");
    browser.press(&[LEFT]);
    assert_eq!((browser.run(is_ended), column(&browser, "completed")), (json!(false), json!(["#1"])));
    assert_eq!(browser.run("return document.getElementById('board-ended').hidden"), true);
    browser.must_be_content();
}

#[test]
fn text_is_plain_and_large_numbers_have_separators() {
    let mut report = empty();
    report["overview"]["count"]["events"] = json!(12_345);
    report["mail"]["messages"] = json!([letter(1, "alice", "*", &"x".repeat(20_896))]);
    let mut review = task(2, "Review", &["1"]);
    let back = json!({
        "at": at(40), "by": "client", "kind": "task-changed", "from": "in_progress", "to": "pending",
        "owner_from": "bob", "owner": null, "subject": null,
    });
    review["changes"].as_array_mut().unwrap().push(back);
    report["tasks"] = json!([task(1, "Draft", &[]), review]);
    report["work"] = json!({
        "worked_ms": 13_600, "busy_ms": 7_600, "saved_ms": 5_900,
        "agents": [{
            "agent": "team-lead", "turns": 11, "unseen_turns": 3, "working_ms": 1, "waiting_ms": 1, "idle_ms": 1,
        }],
    });
    let tokens = json!({"input": 1_000_000, "output": 2, "cache_read": 3, "cache_write": 4});
    report["spending"] = json!({
        "total": tokens, "cost": null, "unknown": ["bob"],
        "agents": [{"agent": "alice", "messages": 1, "models": ["opus"], "tokens": tokens, "cost": null}],
    });
    let told = text(report);
    for words in [
        "recorded: 12,345 events",
        "everyone",
        " 20,896 ",
        "Dependencies\n  1 → 2",
        "agents worked 13 s in 7 s with work (5 s saved by parallelism)",
        "3 turns not timed (start not recorded)",
        "cache read cache write",
        "1,000,000",
        "unknown for bob (no transcript)",
    ] {
        assert!(told.contains(words), "{words} is not in\n{told}");
    }
}

#[test]
fn lost_work_of_a_recorded_run_is_shown_once_in_plain_sentences() {
    let told = play(V328, 1).sandbox.printed(&["report", "--full"]);
    for words in
        ["bob was shut down with #2 in progress for ", "Claude Code returned #2 to pending and unassigned it"]
    {
        assert!(told.contains(words), "{words} is not in\n{told}");
    }
    for words in [
        "stopped-at-work",
        "work-returned",
        "task-erased",
        "shutdown_response from",
        "idle notices",
        "Wait until",
    ] {
        assert!(!told.contains(words), "{words} is in\n{told}");
    }
    assert!(!told.contains("nobody") && !told.contains("client"), "{told}");
}

#[test]
fn page_and_terminal_write_a_duration_alike() {
    let second = 1_000;
    let (minute, hour, day) = (60 * second, 3_600 * second, 86_400 * second);
    let mut durations = vec![-5, 0];
    for unit in [1, second, minute, 10 * minute, hour, day, 30 * day] {
        durations.extend([unit - 1, unit, unit + 1, unit + 5 * second, 2 * unit + 59 * minute, 11 * unit]);
    }
    let mut report = empty();
    let row = |(place, millis): (usize, &i64)| json!({"agent": format!("a{place}"), "turns": 1, "unseen_turns": 0, "working_ms": millis, "waiting_ms": null, "idle_ms": null});
    report["work"]["agents"] = durations.iter().enumerate().map(row).collect();
    let Some((browser, _dir)) = show(report) else { return };
    let rows =
        "[...document.querySelectorAll('tr')].filter((row) => /^a[0-9]+$/.test(row.cells[0].textContent))";
    let shown = browser.run(&format!("return {rows}.map((row) => row.cells[2].textContent)"));
    let expected: Vec<String> = durations.iter().map(|millis| time::duration(*millis)).collect();
    assert_eq!(shown, json!(expected));
}
