//! The page without a mouse, and with wrong input: keys, focus, searches and addresses.

use serde_json::{Value, json};

use super::html::{at, empty, letter, show, tab, task};
use crate::support::browser::Browser;

const ENTER: &str = "\u{e007}";
const ESCAPE: &str = "\u{e00c}";

fn focused(browser: &Browser) -> Value {
    browser.run("const one = document.activeElement; return one.id || one.className || one.tagName")
}

#[test]
fn search_has_a_key_and_followed_links_keep_the_focus() {
    let mut report = empty();
    report["mail"]["messages"] = json!([
        letter(1, "alice", "bob", "one"),
        letter(2, "bob", "alice", "two"),
        letter(3, "alice", "bob", "three"),
    ]);
    report["tasks"] = json!([task(1, "Draft", &[]), task(2, "Review", &["1"])]);
    report["tasks"][0]["status"] = json!("pending");
    let Some((browser, _dir)) = show(report) else { return };
    assert_eq!(browser.run("return document.getElementById('pane').dataset.tab"), "board");
    browser.focus("#show-messages");
    browser.press(&["/"]);
    assert_eq!(focused(&browser), "search");
    browser.press(&["o", "n", "e"]);
    assert_eq!(browser.text("#reading .text"), "one");
    browser.focus(".after .neighbour");
    browser.press(&[ENTER]);
    assert_eq!([browser.text("#reading .text"), focused(&browser).to_string()], ["two", "\"reading\""]);
    browser.press(&["j"]);
    assert_eq!([browser.text("#reading .text"), focused(&browser).to_string()], ["three", "\"reading\""]);
    // A link above the timeline moves the focus to the details that it opens.
    browser.focus("#unfinished .link");
    browser.press(&[ENTER]);
    assert_eq!(browser.text("#details-title"), "Task #1 Draft");
    assert_eq!(focused(&browser), "details");
    browser.focus("#details .pairs .link");
    browser.press(&[ENTER]);
    assert_ne!(browser.text("#details-title"), "Task #1 Draft");
    assert_eq!(focused(&browser), "details");
    browser.press(&["?", "/"]);
    assert_eq!(browser.run("return document.getElementById('keys').contains(document.activeElement)"), true);
    browser.press(&[ESCAPE]);
    assert_eq!(focused(&browser), "details");
    browser.must_be_content();
}

#[test]
fn search_names_what_it_ignores_and_finds_agents_by_exact_names() {
    let mut report = empty();
    let mut idle = letter(4, "dev", "lead", "{}");
    idle["automatic"] = json!(true);
    idle["kind"] = json!("idle_notification");
    report["mail"]["messages"] = json!([
        letter(1, "dev", "lead", "one"),
        letter(2, "dev-2", "lead", "two"),
        letter(3, "lead", "*", "see note: three"),
        idle,
    ]);
    let Some((browser, _dir)) = show(report) else { return };
    tab(&browser, "messages");
    browser.run("document.getElementById('grouped').click()");
    let search = |text: &str| {
        let rows = browser.run(&format!(
            "const s = document.getElementById('search'); s.value = {}; s.dispatchEvent(new Event('input')); \
             return [...document.querySelectorAll('.row .when')].map((row) => row.textContent).toSorted().join(' ')",
            json!(text)
        ));
        let found = browser.text("#found");
        let note = found.split_once("; ").map_or(String::new(), |(_, note)| note.to_owned());
        (rows.as_str().unwrap().to_owned(), note)
    };
    let all = "0:01 0:02 0:03";
    let cases = [
        ("from:dev", "0:01", ""),
        ("from:de", "0:01 0:02", ""),
        ("with:DEV-2", "0:02", ""),
        ("to:everyone", "0:03", ""),
        ("to:*", "0:03", ""),
        ("-to:everyone", "0:01 0:02", ""),
        ("kind:idle", "0:04", ""),
        ("-kind:idle", all, ""),
        ("IS:Automatic", "0:04", ""),
        ("from:", all, "ignored: from:"),
        ("from: two", "0:02", "ignored: from:"),
        ("is:\"", all, "ignored: is:\""),
        ("-is:nothing", all, "ignored: -is:nothing"),
        ("sender:dev", "", "not a filter, searched as text: sender:dev"),
        ("note:", "0:03", "not a filter, searched as text: note:"),
        ("constructor:1", "", "not a filter, searched as text: constructor:1"),
        ("- \"\" :", "0:03", ""),
    ];
    for (text, rows, note) in cases {
        assert_eq!(search(text), (rows.to_owned(), note.to_owned()), "{text}");
    }
    let (_, note) = search(&"o ".repeat(100_000));
    assert_eq!(note, "only the first 500 characters are searched");
    assert_eq!(search("nothing like this").0, "");
    browser.focus("#reading .link");
    browser.press(&[ENTER]);
    assert_eq!([focused(&browser).to_string(), browser.text("#reading .text")], ["\"search\"", "one"]);
    browser.must_be_content();
}

#[test]
fn address_with_a_wrong_selection_selects_nothing() {
    let mut report = empty();
    report["mail"]["messages"] = json!([letter(1, "alice", "bob", "one")]);
    report["observations"] = json!([{
        "code": "unfinished", "at": at(5), "who": "alice", "task": "1", "what": "odd",
    }]);
    let Some((browser, _dir)) = show(report) else { return };
    let empty = "Select a task, a message, an agent or an observation to see its details.";
    for key in [
        "message:length",
        "message:__proto__",
        "message:9",
        "turn:at",
        "mark:map",
        "agent:__proto__",
        "x",
        ":",
    ] {
        browser.go(&format!("#tab=board&selected={key}"));
        assert!(
            browser
                .run("return document.getElementById('details').textContent")
                .as_str()
                .unwrap()
                .contains(empty),
            "{key}"
        );
    }
    browser.go("#tab=messages&selected=message:0");
    assert_eq!(browser.text(".row[aria-selected='true'] .gist"), "one");
    browser.must_be_content();
}

#[test]
fn address_restores_filters_beside_a_selected_agent() {
    let mut report = empty();
    let mut idle = letter(2, "bob", "alice", "{}");
    idle["automatic"] = json!(true);
    report["mail"]["messages"] =
        json!([letter(1, "alice", "bob", "one"), idle, letter(3, "carol", "bob", "three")]);
    let Some((browser, _dir)) = show(report) else { return };
    let rows = "return [...document.querySelectorAll('.row-head, .row .when')].map((row) => row.textContent).toSorted()";
    for hash in [
        "tab=messages&search=alice&automatic=true&grouped=false&selected=agent:bob",
        "tab=board",
        "tab=messages&selected=agent:bob&automatic=true&grouped=false&search=alice",
    ] {
        browser.go(&format!("#{hash}"));
        if hash != "tab=board" {
            assert_eq!(browser.run(rows), json!(["0:01", "0:02"]), "{hash}");
        }
    }
    browser.must_be_content();
}

#[test]
fn narrow_window_shows_the_list_and_the_text_of_a_message() {
    let mut report = empty();
    report["overview"]["team"] = json!("t".repeat(200));
    report["mail"]["messages"] =
        (0..100).map(|one| letter(one, "alice", "bob", &format!("text {one}"))).collect();
    let Some((browser, _dir)) = show(report) else { return };
    for width in [1400, 900, 390] {
        let size = json!({ "width": width, "height": 844, "deviceScaleFactor": 1, "mobile": false });
        browser.command("Emulation.setDeviceMetricsOverride", size);
        tab(&browser, "messages");
        let fits = browser.run(
            "const boxes = ['list', 'reading'].map((id) => document.getElementById(id).getBoundingClientRect()); \
             return boxes.every((box) => box.width >= 250 && box.height >= 100 && box.right <= innerWidth) \
             && document.documentElement.scrollWidth <= innerWidth",
        );
        assert_eq!(fits, true, "{width}");
    }
    browser.must_be_content();
}
