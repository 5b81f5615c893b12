//! The report as a page: what stands in it, and what it does in a real browser.

use std::path::PathBuf;

use serde_json::{Value, json};
use teamkeep::view::page;
use teamkeep_history::report::Report;
use tempfile::TempDir;

use crate::history::traces::{ALL, play_again};
use crate::support::browser::Browser;
use crate::support::reenact::Trace;

pub const DOWN: &str = "\u{e015}";

/// A moment of the run, in seconds after its start.
pub fn at(second: usize) -> String {
    format!("2026-02-03T04:{:02}:{:02}.000Z", second / 60, second % 60)
}

/// A report of a run in which nothing is on record.
pub fn empty() -> Value {
    json!({
        "v": 1,
        "overview": {
            "run": "0123456789abcdef", "team": null, "lead_session": null, "started_at": at(0), "ended_at": null,
            "duration_ms": null, "ended_by": null, "ended_reason": null, "client_versions": [],
            "topology": "no-team", "members": [],
            "count": {
                "members": 0, "messages": 0, "automatic": 0, "refused": 0, "tasks": 0, "completed": 0, "turns": 0, "events": 0,
                "snapshots": 0,
            },
        },
        "phases": [], "agents": [], "turns": [], "mail": { "messages": [], "by_sender": [], "by_pair": [], "late_after_ms": 900_000 },
        "tasks": [], "tools": { "by_agent": [], "total": {} },
        "work": { "agents": [], "worked_ms": null, "busy_ms": null, "saved_ms": null },
        "spending": { "agents": [], "unknown": [], "total": null, "cost": null },
        "observations": [],
    })
}

pub fn letter(second: usize, from: &str, to: &str, text: &str) -> Value {
    json!({
        "at": at(second), "from": from, "to": to, "kind": "message", "chars": text.chars().count(),
        "summary": null, "text": text, "automatic": false, "delivered": true, "refused": null,
    })
}

/// A task that is made, taken by alice and completed, three seconds after each other.
pub fn task(id: usize, subject: &str, blocked_by: &[&str]) -> Value {
    let steps = [
        (at(10 * id), "task-created", Value::Null, "pending", Value::Null),
        (at(10 * id + 3), "task-changed", json!("pending"), "in_progress", json!("alice")),
        (at(10 * id + 6), "task-completed", json!("in_progress"), "completed", json!("alice")),
    ];
    let change = |(at, kind, from, to, owner): (String, &str, Value, &str, Value)| {
        json!({
            "at": at, "by": "alice", "kind": kind, "from": from, "to": to, "owner_from": null, "owner": owner,
            "subject": subject,
        })
    };
    json!({
        "id": id.to_string(), "subject": subject, "description": null, "status": "completed", "owner": "alice",
        "removed_at": null, "blocked_by": blocked_by, "changes": steps.map(change),
    })
}

/// A page on the disk, and the browser that shows it; `None` where there is to be no browser.
pub fn show(report: Value) -> Option<(Browser, TempDir)> {
    let report: Report = serde_json::from_value(report).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("report.html");
    std::fs::write(&path, page(&report)).unwrap();
    let mut browser = Browser::start()?;
    browser.open(&path);
    Some((browser, dir))
}

/// The subjects of the cards in a column of the board.
pub fn column(browser: &Browser, name: &str) -> Value {
    let cards = format!("[...document.querySelectorAll('.column.{name} .card .number')]");
    browser.run(&format!("return {cards}.map((card) => card.textContent)"))
}

/// Opens a tab of the pane: "board", "messages", "graph".
pub fn tab(browser: &Browser, name: &str) {
    browser.run(&format!("document.getElementById('tab-{name}').click()"));
}

fn sources() -> Vec<(PathBuf, String)> {
    let room = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/view/html");
    let files = crate::support::sandbox::below(&room).into_iter().filter(|path| path.is_file());
    files.map(|path| (path.clone(), std::fs::read_to_string(path).unwrap())).collect()
}

#[test]
fn page_never_parses_text_as_html_and_fetches_nothing() {
    let forbidden =
        ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "fetch("];
    let mut seen = 0;
    for (path, text) in sources() {
        seen += 1;
        let text = text.replace("http://www.w3.org/2000/svg", "");
        for word in forbidden.iter().chain(&["http:", "https:", "@import", "url("]) {
            assert!(!text.contains(word), "{word} in {}", path.display());
        }
        let is_part = path.extension().is_some_and(|kind| kind == "js" || kind == "css");
        assert!(!is_part || !(text.contains("</") || text.contains("<!--")), "{}", path.display());
        assert!(text.lines().count() < 300, "{}", path.display());
    }
    assert!(seen > 10);
}

#[test]
fn report_page_loads_without_errors_or_requests() {
    let told = play_again(Trace::read(ALL[2].0, ALL[2].1), 1);
    let path = told.sandbox.home().join("report.html");
    assert_eq!(told.sandbox.printed(&["report", "--format", "html", "-o", path.to_str().unwrap()]), "");
    let report: Value = serde_json::from_str(&told.sandbox.printed(&["report", "--json"])).unwrap();
    assert_eq!(
        told.sandbox.printed(&["report", "--format", "html"]),
        std::fs::read_to_string(&path).unwrap()
    );
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&path);
    assert_eq!(browser.text("h1"), report["verdict"]["title"].as_str().unwrap());
    assert!(browser.text("#verdict").ends_with(report["verdict"]["sentence"].as_str().unwrap()));
    let [incident] = report["incidents"].as_array().unwrap().as_slice() else { panic!("{report}") };
    assert_eq!(browser.text("#incidents-count"), "1");
    let row = browser.text(&format!("#incident-{}", incident["id"].as_str().unwrap()));
    assert!(row.contains(incident["summary"].as_str().unwrap()), "{row}");
    assert!(browser.text("#unfinished").contains("#2 Review the parser"));
    assert!(browser.text("#people").contains("alice"));
    browser.press(&["n"]);
    let focused = browser.run("return document.activeElement.id");
    assert_eq!(focused, format!("incident-{}", incident["id"].as_str().unwrap()));
    let observations = report["observations"].as_array().unwrap();
    assert_eq!(browser.text("#observations-count"), observations.len().to_string());
    let page = browser.text("main");
    assert!(observations.iter().all(|observation| page.contains(observation["what"].as_str().unwrap())));
    let members = report["overview"]["members"].as_array().unwrap();
    let lanes = browser.text("#lane-names");
    assert!(members.iter().all(|member| lanes.contains(member["name"].as_str().unwrap())), "{lanes}");
    let painted = "const c = document.getElementById('canvas'); \
        return c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some((value) => value > 0)";
    assert_eq!(browser.run(painted), true);
    browser.run("document.getElementById('slider').value = 1e12");
    browser.run("document.getElementById('slider').dispatchEvent(new Event('input'))");
    assert_eq!(column(&browser, "completed"), json!(["#1", "#3"]));
    browser.must_be_content();
}

#[test]
fn agent_text_is_shown_as_text_and_never_runs() {
    let attacks = [
        "<script>alert(1)</script>",
        "</script><img src=x onerror=\"window.ran = 1\">",
        "<!--<script>",
        "</script a",
        "<!-- <script a",
        "]]></style><svg onload=alert(2)>",
        "{{script}} &lt;b&gt;",
    ];
    let mut report = empty();
    let letters = attacks.iter().enumerate().map(|(second, text)| letter(second, "<b>bob</b>", text, text));
    report["mail"]["messages"] = letters.collect();
    report["tasks"] = json!([task(1, attacks[1], &[attacks[0]])]);
    report["overview"]["team"] = json!(attacks[1]);
    report["overview"]["ended_reason"] = json!(attacks[0]);
    report["observations"] = json!([{
        "code": "unfinished", "at": at(5), "who": attacks[3], "task": "1", "what": attacks[1],
    }]);
    let Some((browser, _dir)) = show(report) else { return };
    tab(&browser, "messages");
    for text in attacks {
        assert_eq!(browser.text("#reading .text"), text);
        browser.focus("#list");
        browser.press(&[DOWN]);
    }
    assert_eq!(browser.text("h1"), attacks[1]);
    browser.run("document.querySelector('.card').click()");
    assert!(browser.text("#details-title").contains(attacks[1]));
    assert_eq!(browser.run("return window.ran === undefined"), true);
    assert_eq!(
        browser.run("return document.querySelectorAll('img, b, iframe, [onload], [onerror]').length"),
        0
    );
    assert!(!browser.is_alerted());
    browser.must_be_content();
}

#[test]
fn content_security_policy_blocks_other_scripts_and_connections() {
    let Some((browser, _dir)) = show(empty()) else { return };
    browser.run(
        "window.refused = []; \
         addEventListener('securitypolicyviolation', (event) => refused.push(event.effectiveDirective)); \
         const add = (tag, look) => document.body.append(Object.assign(document.createElement(tag), look)); \
         add('script', { textContent: 'window.ran = 1' }); \
         add('img', { src: 'http://127.0.0.1:9/x' }); \
         add('style', { textContent: 'body { display: none }' }); \
         fetch('http://127.0.0.1:9/').catch(() => {});",
    );
    let start = std::time::Instant::now();
    let refused = || browser.run("return refused.toSorted().join()");
    while refused() != "connect-src,img-src,script-src-elem,style-src-elem" {
        assert!(start.elapsed().as_secs() < 20, "{}", refused());
    }
    assert_eq!(browser.run("return window.ran === undefined"), true);
}

#[test]
fn invisible_and_bidi_characters_are_shown_and_regular_scripts_are_unchanged() {
    let mut report = empty();
    let text =
        "bell\u{7} escape\u{1b}[31m turned \u{202e}live\u{202c} none\u{200b}wide שלום e\u{301} 👩\u{200d}🔬";
    report["mail"]["messages"] = json!([letter(1, "ali\u{202e}ce", "bob", text)]);
    let Some((browser, _dir)) = show(report) else { return };
    tab(&browser, "messages");
    let shown = "bell␇ escape␛[31m turned ⟨U+202E⟩live⟨U+202C⟩ none⟨U+200B⟩wide שלום e\u{301} 👩\u{200d}🔬";
    assert_eq!(browser.text("#reading .text"), shown);
    assert_eq!(browser.text("#reading h3"), "ali⟨U+202E⟩ce → bob");
    assert_eq!(browser.run("return document.querySelector('#reading .piece').dir"), "auto");
    browser.must_be_content();
}

#[test]
fn cyclic_and_missing_task_dependencies_are_drawn() {
    let mut report = empty();
    report["tasks"] = json!([
        task(1, "One", &["3"]),
        task(2, "Two", &["1"]),
        task(3, "Three", &["2"]),
        task(4, "Itself", &["4"]),
        task(5, "Lost", &["99"]),
        task(6, "Alone", &[]),
    ]);
    let Some((browser, _dir)) = show(report) else { return };
    let nodes =
        "return [...document.querySelectorAll('.node .number')].map((node) => node.textContent).toSorted()";
    assert_eq!(browser.run(nodes), json!(["#1", "#2", "#3", "#4", "#5", "#99"]));
    tab(&browser, "graph");
    let circles = browser.text("#circles");
    assert_eq!(circles, "Circular dependencies: #2 depends on #1, #4 depends on #4.");
    assert_eq!(browser.run("return document.querySelectorAll('.edge.back').length"), 2);
    assert!(browser.text("#graph-note").contains("Not shown: 1 task without dependencies."));
    browser.focus(".node");
    assert_eq!(browser.run("return document.querySelectorAll('.edge.lit').length"), 2);
    browser.must_be_content();
}

#[test]
fn long_chain_of_tasks_is_drawn() {
    let mut report = empty();
    let link = |id: usize| task(id, "link", &[(id - 1).to_string().as_str()]);
    // They stand in the wrong order: each waits for one that comes after it.
    let mut tasks: Vec<Value> = (2..=300).map(link).collect();
    tasks.reverse();
    report["tasks"] = json!(tasks);
    let Some((browser, _dir)) = show(report) else { return };
    tab(&browser, "graph");
    assert!(browser.text("#graph-note").contains("Only open tasks and the critical path are shown."));
    browser.run("document.getElementById('graph-all').click()");
    let columns = "return new Set([...document.querySelectorAll('.node')].map((node) => node.getAttribute('transform'))).size";
    assert_eq!(browser.run(columns), 300);
    browser.must_be_content();
}

#[test]
fn run_without_recorded_data_is_drawn() {
    let Some((browser, _dir)) = show(empty()) else { return };
    assert_eq!(browser.text("h1"), "Session without a team");
    assert_eq!(browser.text("#observations-list"), "None.");
    let shown = browser.run("return document.querySelector('main').innerText");
    for words in ["No turns, messages or tasks were recorded.", "No messages were recorded."] {
        assert!(shown.as_str().unwrap().contains(words), "{words}");
    }
    let of_tasks = "#tab-board, #tab-graph, #unfinished-part, #step-on, [href=\"#board-part\"]";
    let count = format!(
        "return [...document.querySelectorAll('{of_tasks}')].filter((one) => one.offsetParent).length"
    );
    assert_eq!(browser.run(&count), 0);
    assert!(!browser.text("#figures").contains("Tasks completed"));
    assert!(browser.text("#figures").contains("Durationunknown"));
    assert!(browser.text("#figures").contains("Costunknown"));
    browser.must_be_content();
}

#[test]
fn a_run_that_is_still_running_has_no_unknown_end_and_a_resolved_incident_says_so() {
    let mut report = empty();
    report["verdict"] = json!({"kind": "running", "title": "Session", "sentence": "It runs."});
    report["incidents"] = json!([{"id": "0123456789", "kind": "lost-work", "severity": "low", "agents": ["bob"],
        "tasks": [], "from": at(1), "to": at(2), "summary": "bob was shut down", "evidence": [], "chain": [],
        "cost": {"tasks_lost": 0, "tokens": null, "usd": null, "seconds": 1}, "remedy": null, "resolved": true}]);
    let Some((browser, _dir)) = show(report) else { return };
    let text = |place: &str| {
        let script = format!("return document.querySelector({place:?}).textContent");
        browser.run(&script).as_str().unwrap().to_owned()
    };
    let subtitle = text("#subtitle");
    assert!(subtitle.ends_with(", still running") && !subtitle.contains("unknown"), "{subtitle}");
    assert!(text("#facts").contains("Ended bystill running"), "{}", text("#facts"));
    assert_eq!(text(".incident .chip"), "resolved");
}
