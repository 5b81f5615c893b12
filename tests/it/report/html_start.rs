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
        "cost": {"tasks_lost": 1, "tokens": 100, "usd": 0.5, "seconds": 3}, "remedy": {"command": format!("teamkeep restore x{id}")}, "resolved": false})
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
fn back_returns_from_each_jump_within_the_page() {
    let Some((browser, _dir)) = show(lost()) else { return };
    let start = browser.run(STATE);
    let back = "return new Promise((drawn) => { addEventListener('hashchange', () => requestAnimationFrame(drawn), { once: true }); history.back(); })";
    let mut states = Vec::new();
    for jump in ["#incident-9876543210", "#details .ids .link", "#tab-messages", ".lane-name:last-child"] {
        states.push((browser.run(STATE), browser.run("return document.getElementById('pane').dataset.tab")));
        browser.run(&format!("document.querySelector({jump:?}).click()"));
    }
    // Moves of the clock and of the view are no steps of the history.
    browser.run("document.getElementById('step-on').click(); document.getElementById('zoom-in').click()");
    browser.run(HASH);
    for (state, tab) in states.iter().rev() {
        browser.run(back);
        assert_eq!(&browser.run(STATE), state);
        assert_eq!(&browser.run("return document.getElementById('pane').dataset.tab"), tab);
    }
    assert_eq!([browser.run(STATE), browser.run("return location.hash")], [start, json!("")]);
    browser.must_be_content();
}

#[test]
fn unfinished_task_begins_with_its_cause_which_links_to_its_incident() {
    let mut report = lost();
    report["tasks"].as_array_mut().unwrap().push(task(3, "Ship", &[]));
    for place in 0..3 {
        report["tasks"][place]["status"] = json!("pending");
    }
    report["unfinished"] = json!([
        {"task": "2", "waits_for": "1", "end": "unassigned", "agent": null, "incident": "9876543210"},
        {"task": "1", "waits_for": null, "end": "left", "agent": "bob", "incident": null},
        {"task": "3", "waits_for": null, "end": "unassigned", "agent": null, "incident": null},
    ]);
    let Some((browser, _dir)) = show(report) else { return };
    let items = "return [...document.querySelectorAll('#unfinished li')].map((item) => item.textContent)";
    let cause = "waited for #1, which bob left in progress (lost work, 0:05)";
    assert_eq!(
        browser.run(items),
        json!([format!("#2 Review{cause}"), "#1 Draftbob left it in progress", "#3 Shipno agent took it"])
    );
    browser.run("document.querySelector('#unfinished li .link').click()");
    assert_eq!(browser.text("#details > p"), format!("Unfinished: {cause}"));
    browser.run("[...document.querySelectorAll('#details .cause .link')].at(-1).click()");
    assert!(browser.text("#details").contains("bob was lost at 5"));
    assert!(browser.text("#moment").starts_with("0:05.000"));
    browser.must_be_content();
}

#[test]
fn step_of_an_incident_opens_its_message_or_its_task() {
    let mut report = lost();
    let mut late = letter(20, "alice", "bob", "are you there?");
    late["id"] = json!("aaaaaaaaaa");
    late["read_at"] = json!(at(20 + 46 * 60));
    report["mail"]["messages"].as_array_mut().unwrap().push(late);
    report["incidents"][0]["chain"] = json!([
        {"id": "bbbbbbbbbb", "at": at(23), "actor": "alice", "what": "the task"},
        {"id": "aaaaaaaaaa", "at": at(20), "actor": "alice", "what": "the message"},
    ]);
    report["incidents"][0]["remedy"] = json!({"advice": "Ask bob"});
    let Some((browser, _dir)) = show(report) else { return };
    // Advice is not code.
    assert_eq!(
        browser.run("return document.querySelector('#details .remedy').innerHTML"),
        "<bdi dir=\"auto\">Ask bob</bdi>"
    );
    let step =
        |place: usize| browser.run(&format!("document.querySelectorAll('#details .step')[{place}].click()"));
    step(1);
    assert_eq!(browser.text("#reading .text"), "are you there?");
    assert!(browser.text("#reading .pairs").contains("Deliveryread after 46 min"));
    assert!(browser.text("#moment").starts_with("0:20.000"));
    let search = "const s = document.getElementById('search'); s.value = 'is:late'; s.dispatchEvent(new Event('input'));";
    let rows = "return [...document.querySelectorAll('.row .gist')].map((row) => row.textContent)";
    assert_eq!(browser.run(&format!("{search} {rows}")), json!(["are you there?"]));
    browser.run("document.getElementById('incident-0123456789').click(); document.getElementById('tab-board').click()");
    step(0);
    assert_eq!(browser.text("#details-title"), "Task #2 Review");
    browser.must_be_content();
}

#[test]
fn row_of_an_incident_opens_it_in_the_workbench() {
    let Some((browser, _dir)) = show(lost()) else { return };
    assert_eq!(browser.text("#incident-9876543210"), "high0:05bob was lost at 5#23 s$0.50\u{203a}");
    browser.run("document.getElementById('incident-9876543210').click()");
    assert!(browser.text("#details").contains("bob was lost at 5"));
    assert!(browser.text("#moment").starts_with("0:05.000"));
    assert_eq!(browser.text(".incident[aria-current] .what"), "bob was lost at 5");
    browser.must_be_content();
}

#[test]
fn whole_run_shows_all_lanes_and_a_part_of_it_lanes_of_full_height() {
    let mut report = lost();
    report["mail"]["messages"] =
        (0..40).map(|one| letter(one, &format!("agent-{one}"), "bob", "hello")).collect();
    let Some((browser, _dir)) = show(report) else { return };
    let heights = || {
        browser.run(
            "const box = document.getElementById('lanes'); const names = [...document.querySelectorAll('.lane-name')]; \
             return [names[0].textContent, names[0].offsetHeight, box.scrollHeight <= box.clientHeight]",
        )
    };
    assert_eq!(heights(), json!(["bob", 35, false]));
    browser.run("document.getElementById('time').style.height = '1500px'");
    browser.run("document.getElementById('lanes').style.height = '530px'");
    browser.run("document.getElementById('zoom-whole').click()");
    assert_eq!(heights(), json!(["bob", 12, true]));
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
