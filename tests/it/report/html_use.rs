//! The report as a page, used as a person uses it: slider, search, long lists and long texts.

use serde_json::json;

use super::html::{DOWN, at, column, empty, letter, show, tab, task};

const END: &str = "\u{e010}";
const HOME: &str = "\u{e011}";
const LEFT: &str = "\u{e012}";
const RIGHT: &str = "\u{e014}";

#[test]
fn slider_moves_the_board_and_the_timeline_cursor() {
    let mut report = empty();
    report["tasks"] = json!([task(1, "Draft", &[]), task(2, "Review", &["1"])]);
    let Some((browser, _dir)) = show(report) else { return };
    let board = || ["pending", "in_progress", "completed"].map(|name| column(&browser, name));
    let cursor = || browser.run("return document.getElementById('cursor').getBoundingClientRect().x");
    assert_eq!(board(), [json!([]), json!([]), json!(["#1", "#2"])]);
    let end = cursor();
    browser.focus("#slider");
    browser.press(&[HOME]);
    assert_eq!(board(), [json!([]), json!([]), json!([])]);
    assert!(cursor().as_f64() < end.as_f64(), "{end}");
    browser.press(&[RIGHT]);
    assert_eq!(board(), [json!(["#1"]), json!([]), json!([])]);
    browser.press(&[RIGHT, RIGHT, RIGHT]);
    assert_eq!(board(), [json!(["#2"]), json!([]), json!(["#1"])]);
    browser.press(&[RIGHT]);
    assert_eq!(board(), [json!([]), json!(["#2"]), json!(["#1"])]);
    let result = browser.run("return document.getElementById('slider').getAttribute('aria-valuetext')");
    assert_eq!(
        result,
        "0:23.000 from the start of the run: 0 pending, 1 in progress, 1 completed, 0 deleted or erased"
    );
    browser.press(&[LEFT]);
    assert_eq!(board(), [json!(["#2"]), json!([]), json!(["#1"])]);
    // And by mouse: any moment, not the changes alone.
    browser.run(
        "const s = document.getElementById('slider'); s.value = 14000; s.dispatchEvent(new Event('input'))",
    );
    assert_eq!(board(), [json!([]), json!(["#1"]), json!([])]);
    assert!(browser.text("#moment").starts_with("0:14.000"));
    browser.must_be_content();
}

#[test]
fn erased_deleted_and_returned_tasks_are_distinguished() {
    let mut report = empty();
    let change = |second, kind: &str, from: Option<&str>, to: Option<&str>, owner: Option<&str>| {
        json!({
            "at": at(second), "by": "client", "kind": kind, "from": from, "to": to, "owner_from": "alice",
            "owner": owner, "subject": "Draft",
        })
    };
    let mut tasks = [1, 2, 3].map(|id| task(id, "Draft", &[]));
    let more = [
        change(60, "task-erased", Some("completed"), None, Some("alice")),
        change(60, "task-deleted", Some("completed"), Some("deleted"), Some("alice")),
        change(60, "task-changed", Some("completed"), Some("pending"), None),
    ];
    for (task, change) in tasks.iter_mut().zip(more) {
        task["changes"].as_array_mut().unwrap().push(change);
    }
    report["tasks"] = json!(tasks);
    let Some((browser, _dir)) = show(report) else { return };
    assert_eq!(column(&browser, "gone"), json!(["#1", "#2"]));
    assert_eq!(column(&browser, "pending"), json!(["#3"]));
    let notes = "return [...document.querySelectorAll('.card .owner')].map((card) => card.textContent)";
    let told = json!(["unassigned", "alice · erased, was completed", "alice · deleted, was completed"]);
    assert_eq!(browser.run(notes), told);
    browser.focus("#slider");
    browser.press(&[LEFT]);
    assert_eq!(column(&browser, "completed"), json!(["#1", "#2", "#3"]));
    assert_eq!(browser.run(notes), json!(["alice", "alice", "alice"]));
    browser.must_be_content();
}

#[test]
fn search_finds_a_message_and_filters_narrow_the_list() {
    let mut report = empty();
    let mut idle = letter(3, "bob", "team-lead", "{\"type\":\"idle_notification\"}");
    idle["automatic"] = json!(true);
    idle["kind"] = json!("idle_notification");
    let mut summed = letter(4, "carol", "bob", "nothing of note");
    summed["summary"] = json!("the Fuzzer is DONE");
    report["mail"]["messages"] = json!([
        letter(1, "alice", "bob", "the parser is ready"),
        letter(2, "bob", "alice", "found a crash"),
        idle,
        summed
    ]);
    let Some((browser, _dir)) = show(report) else { return };
    tab(&browser, "messages");
    let rows =
        || browser.run("return [...document.querySelectorAll('.row .when')].map((row) => row.textContent)");
    assert_eq!(rows(), json!(["0:01", "0:02", "0:04"]));
    browser.focus("#search");
    browser.press(&["c", "r", "a", "s", "h"]);
    assert_eq!(rows(), json!(["0:02"]));
    assert_eq!(browser.text("#reading .text"), "found a crash");
    assert_eq!(browser.text("#reading mark"), "crash");
    let search = |text: &str| {
        let set = "const s = document.getElementById('search'); s.value =";
        browser.run(&format!("{set} {}; s.dispatchEvent(new Event('input'))", json!(text)));
        rows()
    };
    assert_eq!(search("carol fuzzer done"), json!(["0:04"]));
    assert_eq!(search("[nothing (is* like this"), json!([]));
    assert_eq!(browser.text("#found"), "0 messages of 4: 3 sent, 1 automatic (hidden)");
    assert_eq!(search("idle"), json!([]));
    browser.run("document.getElementById('automatic').click()");
    assert_eq!(rows(), json!(["0:03"]));
    browser.run("document.getElementById('automatic').click()");
    assert_eq!(search("is:automatic"), json!(["0:03"]));
    assert_eq!(search("with:alice"), json!(["0:01", "0:02"]));
    assert_eq!(search("from:ALICE"), json!(["0:01"]));
    assert_eq!(search("to:bob -from:alice"), json!(["0:04"]));
    assert_eq!(search("\"parser is\""), json!(["0:01"]));
    assert_eq!(search("\"is parser"), json!([]));
    assert_eq!(search("-parser is:read"), json!(["0:02", "0:04"]));
    assert_eq!(search("is:lost crash"), json!(["0:02"]));
    assert!(browser.text("#found").ends_with("; ignored: is:lost"), "{}", browser.text("#found"));
    browser.must_be_content();
}

#[test]
fn large_message_shows_its_start_and_expands_on_request() {
    let mut report = empty();
    let lines: String = (0..40_000).map(|number| format!("line {number} of the long report\n")).collect();
    let line = "x".repeat(1 << 20);
    report["mail"]["messages"] = json!([letter(1, "alice", "bob", &lines), letter(2, "alice", "bob", &line)]);
    let Some((browser, _dir)) = show(report) else { return };
    tab(&browser, "messages");
    let length = || {
        browser.run("return document.querySelector('#reading .text').textContent.length").as_u64().unwrap()
    };
    let last = "return document.querySelector('#reading .text').textContent.trimEnd().slice(-29)";
    assert!(length() < 25_000);
    browser.run("document.querySelector('#reading .more').click()");
    assert_eq!(browser.run(last), "line 39999 of the long report");
    browser.focus("#list");
    browser.press(&[DOWN]);
    assert!(length() < 25_000);
    browser.run("document.querySelector('#reading .more').click()");
    assert_eq!(length(), 1 << 20);
    browser.must_be_content();
}

#[test]
fn only_visible_messages_are_in_the_dom() {
    let mut report = empty();
    let text = |number: usize| format!("message number {number} ");
    report["mail"]["messages"] = (0..3_000).map(|one| letter(one, "alice", "bob", &text(one))).collect();
    let Some((browser, _dir)) = show(report) else { return };
    tab(&browser, "messages");
    let rows = || browser.run("return document.querySelectorAll('.row').length").as_u64().unwrap();
    assert!((5..60).contains(&rows()), "{}", rows());
    browser.focus("#list");
    browser.press(&[END]);
    assert_eq!(browser.text("#reading .text"), text(2_999));
    assert_eq!(browser.text(".row[aria-selected='true'] .gist").trim(), text(2_999).trim());
    assert!((5..60).contains(&rows()), "{}", rows());
    browser.must_be_content();
}

#[test]
fn table_is_sorted_by_a_column_and_read_as_csv() {
    let mut report = empty();
    let agent = |name: &str, working: i64| json!({"agent": name, "turns": 1, "unseen_turns": 0, "working_ms": working, "waiting_ms": 0, "idle_ms": 0});
    report["work"]["agents"] =
        json!([agent("=alice", 90_000), agent("bob", 7_200_000), agent("carol", 5_000)]);
    let Some((browser, _dir)) = show(report) else { return };
    let names = "const t = [...document.querySelectorAll('table')].find((t) => t.caption.textContent.startsWith('Time')); \
        const names = () => [...t.tBodies[0].rows].map((row) => row.cells[0].textContent);";
    let sorted = browser.run(&format!(
        "{names} const head = [...t.querySelectorAll('th .sort')].find((one) => one.textContent === 'Working'); \
         head.click(); const up = names(); head.click(); return [up, names()]"
    ));
    assert_eq!(sorted, json!([["carol", "=alice", "bob"], ["bob", "=alice", "carol"]]));
    let csv = browser.run(&format!(
        "{names} let text; window.Blob = class {{ constructor(parts) {{ text = parts[0]; }} }}; URL.createObjectURL = () => ''; \
         HTMLAnchorElement.prototype.click = () => {{}}; t.caption.querySelector('[aria-label^=Save]').click(); return text"
    ));
    let csv = csv.as_str().unwrap();
    assert!(csv.starts_with("\"Agent\",\"Turns\",\"Working\""), "{csv}");
    assert!(csv.contains("\r\n\"'=alice\",\"1\",\"1 min 30 s\""), "{csv}");
}

#[test]
fn address_keeps_the_state_and_a_copied_one_restores_it() {
    let mut report = empty();
    report["tasks"] = json!([task(1, "Draft", &[]), task(2, "Review", &["1"])]);
    report["mail"]["messages"] = json!([letter(1, "alice", "bob", "one"), letter(2, "bob", "alice", "two")]);
    let Some((browser, _dir)) = show(report) else { return };
    let hash = || browser.run("return new Promise((seen) => setTimeout(() => seen(location.hash), 400))");
    assert_eq!(hash(), "");
    browser.focus("#slider");
    browser.press(&[LEFT]);
    browser.run("document.querySelector('.card').click(); document.getElementById('show-automatic').click()");
    tab(&browser, "messages");
    browser
        .run("document.getElementById('canvas').dispatchEvent(new KeyboardEvent('keydown', { key: '+' }))");
    let copied = hash().as_str().unwrap().to_owned();
    let state = |browser: &crate::support::browser::Browser| {
        browser.run(
            "return [moment, 'details-title'].map((id) => document.getElementById(id.id || id).textContent).concat( \
             document.getElementById('canvas').getAttribute('data-span'), document.getElementById('pane').dataset.tab, \
             document.getElementById('show-automatic').checked)",
        )
    };
    let before = state(&browser);
    assert_eq!(before[3], "messages");
    browser.go("#at=0&tab=graph&selected=task:2");
    assert_eq!(hash(), "#at=0&tab=graph&selected=task%3A2");
    assert_ne!(state(&browser), before);
    browser.go(&copied);
    assert_eq!(hash(), json!(copied));
    assert_eq!(state(&browser), before);
    // Wrong values are as those that are not given.
    browser.go("#at=x&view=1~2~3&tab=__proto__&selected=constructor:1&search=%E0%A4%A&kind=none");
    assert_eq!(browser.text("#moment").split(' ').next().unwrap(), "0:26.000");
    assert_eq!(browser.run("return document.getElementById('pane').dataset.tab"), "board");
    browser.must_be_content();
}

#[test]
fn time_without_entries_is_collapsed_until_it_is_asked_for() {
    let mut report = empty();
    let mut morning = letter(2, "bob", "alice", "morning");
    morning["at"] = json!("2026-02-03T15:00:00.000Z");
    report["mail"]["messages"] = json!([letter(1, "alice", "bob", "evening"), morning]);
    let Some((browser, _dir)) = show(report) else { return };
    let span = || browser.run("return Number(document.getElementById('canvas').getAttribute('data-span'))");
    let collapsed = span().as_f64().unwrap();
    browser.run("document.getElementById('collapse').click()");
    assert!(span().as_f64().unwrap() > 39_000_000.0, "{}", span());
    assert!(collapsed < 5_000_000.0, "{collapsed}");
    browser.must_be_content();
}
