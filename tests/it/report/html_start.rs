//! What the page shows first: the worst incident in the workbench, and lists that are cut.

use serde_json::{Value, json};

use super::html::{at, column, empty, letter, show, task};

/// A run of two tasks, in which bob was lost with the second.
fn lost() -> Value {
    let mut report = empty();
    report["tasks"] = json!([task(1, "Draft", &[]), task(2, "Review", &["1"])]);
    report["mail"]["messages"] =
        json!([letter(1, "alice", "bob", "one"), letter(300, "bob", "alice", "two")]);
    report["overview"]["members"] = json!([]);
    report["incidents"] = json!([incident("0123456789", 23, 26), incident("9876543210", 5, 9)]);
    report
}

fn incident(id: &str, from: usize, to: usize) -> Value {
    json!({"id": id, "kind": "lost-work", "severity": "high", "agents": ["bob"], "tasks": ["2"], "from": at(from),
        "to": at(to), "summary": format!("bob was lost at {from}"), "evidence": [],
        "chain": [{"id": "x", "at": at(from), "actor": "bob", "what": "the first step"}],
        "cost": {"tasks_lost": 1, "tokens": 100, "usd": 0.5, "seconds": 3}, "remedy": "teamkeep restore x", "resolved": false})
}

const STATE: &str = "return ['details-title', 'moment', 'canvas'].map((id) => document.getElementById(id)) \
    .map((one) => one?.getAttribute('data-span') || one?.textContent.split(' ')[0])";
const HASH: &str = "return new Promise((seen) => setTimeout(() => seen(location.hash), 400))";

#[test]
fn page_opens_with_the_worst_incident_at_its_begin_and_its_address_has_no_state() {
    let Some((browser, _dir)) = show(lost()) else { return };
    assert_eq!(browser.text("#details-title"), "lost work high");
    assert!(browser.text("#details").contains("bob was lost at 23"));
    assert!(browser.text("#details").contains("teamkeep restore x"));
    assert!(browser.text("#moment").starts_with("0:23.000"));
    assert_eq!(column(&browser, "in_progress"), json!(["#2"]));
    assert_eq!(browser.run("return scrollY"), 0);
    assert_eq!(browser.run("return document.activeElement.tagName"), "BODY");
    assert_eq!(browser.run(HASH), "");
    let start = browser.run(STATE);
    browser.run("document.getElementById('zoom-whole').click()");
    assert_ne!(browser.run(STATE), start);
    assert!(browser.run(HASH).as_str().unwrap().contains("selected=incident"));
    // An address with a state is that state, also the one of the whole run.
    browser.go("#view=whole");
    assert!(browser.text("#moment").starts_with("5:00.000"));
    assert!(browser.text("#details").contains("Select a task"));
    assert_eq!(browser.run(HASH), "#view=whole");
    browser.go("");
    assert_eq!(browser.run(STATE), start);
    assert_eq!(browser.run(HASH), "");
    browser.must_be_content();
}

#[test]
fn row_of_an_incident_opens_it_in_the_workbench() {
    let Some((browser, _dir)) = show(lost()) else { return };
    assert_eq!(browser.text("#incident-9876543210"), "highbob was lost at 5#23 s$0.50\u{203a}");
    browser.run("document.getElementById('incident-9876543210').click()");
    assert!(browser.text("#details").contains("bob was lost at 5"));
    assert!(browser.text("#moment").starts_with("0:05.000"));
    assert_eq!(browser.text(".incident[aria-current] .what"), "bob was lost at 5");
    browser.must_be_content();
}

#[test]
fn long_lists_are_cut_until_the_rest_is_asked_for() {
    let mut report = empty();
    let mut tasks: Vec<Value> = (1..=60).map(|id| task(id, "Part", &[])).collect();
    for task in &mut tasks {
        task["status"] = json!("in_progress");
    }
    report["tasks"] = json!(tasks);
    let mut incidents: Vec<Value> =
        (0..9).map(|second| incident(&format!("000000000{second}"), second, 20)).collect();
    incidents[0]["tasks"] = (1..=60).map(|id| id.to_string()).collect();
    report["incidents"] = json!(incidents);
    let Some((browser, _dir)) = show(report) else { return };
    let count =
        |selector: &str| browser.run(&format!("return document.querySelectorAll('{selector}').length"));
    assert_eq!([count(".incident"), count("#unfinished li")], [json!(6), json!(11)]);
    assert_eq!(browser.text("#incidents-list .more-items"), "show 3 more");
    assert_eq!(browser.text("#unfinished .more-items"), "show 50 more");
    assert!(browser.text("#details .ids:has(.more-items)").ends_with("#8\u{2026} +52"));
    for (list, items) in [
        ("#unfinished", "#unfinished li"),
        ("#incidents-list", ".incident"),
        ("#details", "#details .ids .link"),
    ] {
        browser.run(&format!("document.querySelector('{list} .more-items').click()"));
        let all = if items == ".incident" { 9 } else { 60 };
        assert!(count(items).as_u64() >= Some(all), "{items}: {}", count(items));
    }
    // The key for the next incident shows those that were cut.
    assert_eq!(browser.run("return document.activeElement.textContent"), "#9");
    browser.must_be_content();
}
