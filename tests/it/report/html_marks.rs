//! What the page adds to the timeline: equal incidents as one row, the figures of a range, the cost, and marks.

use serde_json::{Value, json};

use super::html::{at, empty, letter, show, task};

fn incident(id: &str, agent: &str, from: usize, command: &str) -> Value {
    json!({"id": id, "kind": "lost-work", "severity": "high", "agents": [agent], "tasks": [id], "from": at(from), "to": at(from),
        "summary": format!("{agent} was lost"), "evidence": [], "chain": [], "remedy": {"command": command},
        "cost": {"tasks_lost": 1, "tokens": null, "usd": 0.25, "seconds": 0}})
}

#[test]
fn equal_incidents_are_one_row_that_opens_to_its_members() {
    let mut report = empty();
    report["mail"]["messages"] =
        json!([letter(1, "alice", "bob", "one"), letter(900, "bob", "alice", "two")]);
    report["incidents"] = json!([
        incident("1", "m2", 10, "a"),
        incident("2", "m4", 11, "a"),
        incident("3", "m6", 11, "b"),
        incident("4", "m8", 12, "a"),
        incident("5", "m10", 500, "a"),
    ]);
    let Some((browser, _dir)) = show(report) else { return };
    let rows = || {
        browser.run(
            "return [...document.querySelectorAll('#incidents-list .incident')].filter((row) => row.offsetParent) \
             .map((row) => row.querySelector('.what').textContent)",
        )
    };
    let group = "3 × lost work: m2, m4, m8";
    assert_eq!(rows(), json!([group, "m6 was lost", "m10 was lost"]));
    assert_eq!(browser.text("#incidents-count"), "5");
    assert_eq!(browser.text(".several"), format!("high0:10{group}#1 #2 … +1$0.75›"));
    // The page opens with the first member.
    assert_eq!(browser.text("#details > p"), "m2 was lost");
    assert_eq!(browser.text(".incident[aria-current] .what"), group);
    browser.run("document.querySelector('.several').click()");
    assert_eq!(
        rows(),
        json!([group, "m2 was lost", "m4 was lost", "m8 was lost", "m6 was lost", "m10 was lost"])
    );
    browser.run("document.getElementById('incident-4').click()");
    assert_eq!(browser.text("#details > p"), "m8 was lost");
    browser.run("document.querySelector('.several').click()");
    assert_eq!(rows(), json!([group, "m6 was lost", "m10 was lost"]));
    // The key for the next incident goes through the members, and an address selects one.
    browser.press(&["n"]);
    browser.press(&["n"]);
    assert_eq!(browser.run("return document.activeElement.id"), "incident-2");
    browser.go("#selected=incident:2");
    assert_eq!(browser.text("#details > p"), "m4 was lost");
    browser.must_be_content();
}

#[test]
fn range_has_the_figures_of_the_visible_time() {
    let mut report = empty();
    report["tasks"] = json!([task(1, "Draft", &[]), task(2, "Review", &[])]);
    let mut refused = letter(12, "alice", "bob", "three");
    refused["refused"] = json!("no");
    report["mail"]["messages"] =
        json!([letter(1, "alice", "bob", "one"), refused, letter(300, "bob", "alice", "two")]);
    report["spending"]["curve"] = json!([
        {"at": at(2), "tokens": 1000, "cost": 0.5}, {"at": at(15), "tokens": 3000, "cost": 1.5},
        {"at": at(299), "tokens": 5000, "cost": 4.0},
    ]);
    report["spending"]["cost"] = json!(4.0);
    report["blocks"] = json!([{"at": at(12), "agent": "alice", "gate": "premature-shutdown"}]);
    let Some((browser, _dir)) = show(report) else { return };
    let figures = || {
        browser.run(
            "return new Promise((seen) => requestAnimationFrame(() => setTimeout(() => \
        seen(document.getElementById('range-figures').textContent), 0)))",
        )
    };
    assert_eq!(figures(), "Whole run: 2 messages · 2 tasks completed · 5,000 tokens · $4.00 · 1 block");
    browser.go("#view=10000~20000");
    assert_eq!(figures(), "0:10 to 0:20: 0 messages · 1 task completed · 2,000 tokens · $1.00 · 1 block");
    assert_eq!(browser.text("#cost-name"), "Cost $4.00");
    browser.go("#view=100000~200000");
    assert_eq!(figures(), "1:40 to 3:20: 0 messages · 0 tasks completed · $0.00");
    browser.must_be_content();
}

#[test]
fn without_a_known_cost_there_is_no_curve() {
    let mut report = empty();
    report["mail"]["messages"] = json!([letter(1, "alice", "bob", "one"), letter(9, "bob", "alice", "two")]);
    report["spending"]["curve"] = json!([{"at": at(2), "tokens": 1000, "cost": null}]);
    let Some((browser, _dir)) = show(report) else { return };
    assert_eq!(browser.run("return document.getElementById('cost').hidden"), true);
    assert!(browser.text("#range-figures").ends_with("2 messages · 1,000 tokens"));
    browser.must_be_content();
}

/// The number of pixels of a canvas in the color of a style variable.
const PIXELS: &str = "const probe = document.createElement('span'); probe.style.color = `var(--${COLOR})`; \
    document.body.append(probe); const wanted = getComputedStyle(probe).color.match(/\\d+/g).map(Number); probe.remove(); \
    const c = document.getElementById('canvas'); \
    const data = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; let many = 0; \
    for (let at = 0; at < data.length; at += 4) if (wanted.every((one, place) => data[at + place] === one)) many += 1; return many";

#[test]
fn lanes_show_how_each_task_ended() {
    let mut report = empty();
    report["tasks"] = json!([task(1, "Draft", &[])]);
    report["overview"]["ended_at"] = json!(at(60));
    report["overview"]["duration_ms"] = json!(60_000);
    let pixels = |report: Value, color: &str| {
        let (browser, _dir) = show(report)?;
        browser.must_be_content();
        browser.run(&format!("const COLOR = '{color}'; {PIXELS}")).as_u64()
    };
    let Some(done) = pixels(report.clone(), "good") else { return };
    assert!(done > 0);
    assert_eq!(pixels(report.clone(), "bad"), Some(0));
    report["tasks"][0]["status"] = json!("in_progress");
    report["tasks"][0]["changes"].as_array_mut().unwrap().pop();
    assert_eq!(pixels(report.clone(), "good"), Some(0));
    assert!(pixels(report, "bad") > Some(0));
}

#[test]
fn found_messages_are_marked_on_the_timeline_up_to_a_limit() {
    let mut report = empty();
    report["mail"]["messages"] =
        (0..520).map(|one| letter(one, "alice", "bob", if one < 510 { "word" } else { "other" })).collect();
    report["mail"]["late_after_ms"] = json!(90_000);
    let Some((browser, _dir)) = show(report) else { return };
    // Each mark is an arc.
    browser.run(
        "window.arcs = 0; const arc = CanvasRenderingContext2D.prototype.arc; \
         CanvasRenderingContext2D.prototype.arc = function (...all) { window.arcs += 1; return arc.apply(this, all); }",
    );
    let marks = |text: &str| {
        browser.run(&format!(
            "const s = document.getElementById('search'); s.value = {text:?}; window.arcs = 0; s.dispatchEvent(new Event('input')); \
             return new Promise((seen) => setTimeout(() => requestAnimationFrame(() => setTimeout(() => seen(window.arcs), 0)), 300))"
        ))
    };
    assert_eq!(marks("other"), 10);
    assert!(!browser.text("#found").contains("timeline"));
    assert_eq!(marks("word"), 500);
    assert!(
        browser.text("#found").ends_with("; on the timeline 500 and 10 more"),
        "{}",
        browser.text("#found")
    );
    assert_eq!(marks("nothing"), 0);
    assert_eq!(browser.text("#late-after"), "1 min 30 s");
    browser.must_be_content();
}

#[test]
fn selected_message_has_names_at_the_ends_of_its_arrow() {
    let mut report = empty();
    report["mail"]["messages"] =
        (0..20).map(|one| letter(one, &format!("agent-{one}"), "bob", "hello")).collect();
    let Some((browser, _dir)) = show(report) else { return };
    // The names are drawn, so the test listens to the canvas.
    browser.run(
        "window.drawn = []; const fill = CanvasRenderingContext2D.prototype.fillText; \
         CanvasRenderingContext2D.prototype.fillText = function (text, ...at) { drawn.push(text); return fill.call(this, text, ...at); }",
    );
    browser.go("#view=0~5000&selected=message:3");
    let drawn =
        "return new Promise((seen) => requestAnimationFrame(() => setTimeout(() => seen(window.drawn), 0)))";
    let drawn = browser.run(drawn);
    for name in ["agent-3", "\u{2192} bob"] {
        assert!(drawn.as_array().unwrap().contains(&json!(name)), "{drawn}");
    }
    browser.must_be_content();
}
