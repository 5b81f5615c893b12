//! The report as a page by keyboard, by mouse, in both themes and in a narrow window.

use serde_json::json;

use super::html::{DOWN, at, empty, letter, show, tab, task};

const TAB: &str = "\u{e004}";
const ENTER: &str = "\u{e007}";
const ESCAPE: &str = "\u{e00c}";
const HOME: &str = "\u{e011}";
const RIGHT: &str = "\u{e014}";

#[test]
fn mouse_shows_details_and_zooms_and_pans_the_timeline() {
    let mut report = empty();
    report["tasks"] = json!([task(1, "Draft", &[])]);
    report["turns"] = json!([{
        "agent": "bob", "instance": null, "from": at(0), "to": at(100), "for_idlers": false,
    }]);
    report["observations"] = json!([{
        "code": "blocked", "at": at(50), "who": "bob", "task": null, "what": "blocked: why",
    }]);
    let Some((browser, _dir)) = show(report) else { return };
    browser.run("document.getElementById('time').scrollIntoView({ behavior: 'instant' })");
    let place = |part: &str| {
        let script =
            "const c = document.getElementById('canvas').getBoundingClientRect(); return Math.round(";
        browser.run(&format!("{script}{part})")).as_i64().unwrap()
    };
    let (middle, lane) = (place("c.left + c.width / 2"), place("c.top + 10"));
    let tip = || browser.text("#tip");
    browser.mouse(&[json!({"type": "pointerMove", "x": middle, "y": lane, "duration": 0})]);
    assert!(tip().starts_with("Blocked by a gate"), "{}", tip());
    browser.mouse(&[json!({"type": "pointerMove", "x": middle + 100, "y": lane, "duration": 0})]);
    assert_eq!(tip(), "bob workingfrom 0:00.000 to 1:40.000, 1 min 40 s");
    let span =
        || browser.run("return Number(document.getElementById('canvas').getAttribute('data-span'))").as_i64();
    let whole = span();
    browser.run(&format!(
        "const c = document.getElementById('canvas'); c.dispatchEvent(new WheelEvent('wheel', \
         {{ ctrlKey: true, deltaY: -100, clientX: {middle}, clientY: {lane}, cancelable: true }}))"
    ));
    assert!(span() < whole, "{whole:?}");
    let (down, up) = (json!({"type": "pointerDown", "button": 0}), json!({"type": "pointerUp", "button": 0}));
    let moment = browser.text("#moment");
    let before = span();
    let drag = json!({"type": "pointerMove", "x": middle + 200, "y": lane, "duration": 20});
    browser.mouse(&[
        json!({"type": "pointerMove", "x": middle, "y": lane, "duration": 0}),
        down.clone(),
        drag,
        up.clone(),
    ]);
    assert!(span() < before, "dragging zooms into a range: {before:?} to {:?}", span());
    assert_eq!(browser.text("#moment"), moment);
    browser.mouse(&[down.clone(), up.clone()]);
    let clicked = browser.text("#moment");
    assert_ne!(clicked, moment);
    assert_eq!(browser.text("#details h3"), "bob working");
    // The axis is the scrubber.
    let axis = browser
        .run("return Math.round(document.getElementById('axis').getBoundingClientRect().top) + 8")
        .as_i64();
    browser.mouse(&[json!({"type": "pointerMove", "x": middle - 200, "y": axis, "duration": 0}), down, up]);
    assert_ne!(browser.text("#moment"), clicked);
    browser.must_be_content();
}

#[test]
fn keyboard_reaches_all_important_controls() {
    let mut report = empty();
    report["overview"]["team"] = json!("parsers");
    report["mail"]["messages"] = json!([letter(1, "alice", "bob", "one"), letter(2, "bob", "alice", "two")]);
    report["tasks"] = json!([task(1, "Draft", &[]), task(2, "Review", &["1"])]);
    report["observations"] = json!([{
        "code": "unfinished", "at": at(20), "who": "alice", "task": "2", "what": "lost",
    }]);
    let Some((browser, _dir)) = show(report) else { return };
    let name = "const a = document.activeElement; return a.id || a.getAttribute('class') || a.getAttribute('href') || a.type || a.tagName";
    let mut reached = Vec::new();
    for _ in 0..90 {
        browser.press(&[TAB]);
        reached.push(browser.run(name).as_str().unwrap().to_owned());
    }
    let wanted = [
        "skip",
        "radio",
        "#observations",
        "link",
        "show-automatic",
        "zoom-in",
        "slider",
        "lane-name",
        "canvas",
        "step-back",
        "step-on",
        "tab-board",
        "card",
        "details",
        "scroll",
    ];
    for one in wanted {
        assert!(reached.iter().any(|name| name == one), "{one} is not among {reached:?}");
    }
    browser.focus("#tab-board");
    browser.press(&[RIGHT]);
    assert_eq!(browser.run(name), "tab-messages");
    let mut reached = Vec::new();
    for _ in 0..9 {
        browser.press(&[TAB]);
        reached.push(browser.run(name).as_str().unwrap().to_owned());
    }
    for one in ["search", "search-help", "automatic", "grouped", "in-view", "list", "reading"] {
        assert!(reached.iter().any(|name| name == one), "{one} is not among {reached:?}");
    }
    browser.focus("#list");
    browser.press(&[DOWN]);
    assert_eq!(browser.text("#reading .text"), "two");
    browser.press(&[HOME]);
    assert_eq!(browser.text("#reading .text"), "one");

    let scale = "const c = document.getElementById('canvas'); return c.getAttribute('data-span')";
    browser.focus("#canvas");
    let whole = browser.run(scale);
    browser.press(&["+", "+"]);
    assert_ne!(browser.run(scale), whole);
    browser.press(&["0", DOWN]);
    assert_eq!(browser.run(scale), whole);
    assert_eq!(browser.text("#lane-live"), "bob → alice, two, message, 3 characters, 0:02.000");
    browser.press(&[ENTER]);
    assert_eq!(browser.run("return document.activeElement.id"), "list");

    tab(&browser, "graph");
    browser.focus(".node[tabindex='0']");
    browser.press(&[RIGHT, ENTER]);
    assert_eq!(browser.text("#details-title"), "Task #2 Review");
    assert!(browser.run(name).as_str().unwrap().starts_with("node"));
    browser.press(&["?"]);
    assert_eq!(browser.run("return document.getElementById('keys').open"), true);
    browser.press(&[ESCAPE]);
    assert_eq!(browser.run("return document.getElementById('keys').open"), false);
    browser.must_be_content();
}

#[test]
fn printed_page_has_the_verdict_and_no_screen_controls() {
    let mut report = empty();
    report["mail"]["messages"] =
        (0..300).map(|one| letter(one, "alice", "bob", &format!("text {one}"))).collect();
    report["tasks"] = json!([task(1, "Draft", &[])]);
    let Some((browser, _dir)) = show(report) else { return };
    let paper = browser.command("Page.printToPDF", json!({}));
    assert!(paper["data"].as_str().unwrap().len() > 10_000);
    browser.command("Emulation.setEmulatedMedia", json!({ "media": "print" }));
    let shown = |parts: &str| {
        browser.run(&format!("return {parts}.filter((part) => document.querySelector(part).offsetParent)"))
    };
    assert_eq!(shown("['#time', '#reader', '#filters', '#slider', 'nav', '#numbers']"), json!([]));
    let parts = json!(["#incidents", "#unfinished", "#people", "#figures"]);
    assert_eq!(shown(&parts.to_string()), parts);
    // The whole timeline is a picture, which is gone after the print.
    browser.run("dispatchEvent(new Event('beforeprint'))");
    assert_eq!(shown("['.paper-lanes']"), json!([".paper-lanes"]));
    let painted = "const c = document.querySelector('.paper-lanes'); \
        return c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some((value) => value > 0)";
    assert_eq!(browser.run(painted), true);
    browser.run("dispatchEvent(new Event('afterprint'))");
    assert_eq!(browser.run("return document.querySelector('.paper')"), serde_json::Value::Null);
    browser.must_be_content();
}

/// The least contrast of text on what is behind it, by the formula of WCAG 2, in both themes.
const CONTRAST: &str = r##"
const light = (colour) => {
  const parts = colour.match(/[\d.]+/g).slice(0, 3).map((part) => part / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
};
const probe = document.body.appendChild(document.createElement("span"));
const read = (name) => { probe.style.color = "var(--" + name + ")"; return light(getComputedStyle(probe).color); };
const ratio = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
const low = [];
for (const theme of ["light", "dark"]) {
  document.querySelector("#themes [value=" + theme + "]").click();
  const pairs = ["text", "muted", "accent", "bad", "warn", "held"].flatMap((text) =>
    ["page", "surface", "stripe"].map((behind) => [text, behind]));
  pairs.push(["text", "tint"], ["muted", "tint"], ["text", "mark"]);
  pairs.push(["on-task", "task"], ["on-task", "task-next"]);
  for (const [text, behind] of pairs) {
    const found = ratio(read(text), read(behind));
    if (found < 4.5) low.push([theme, text, behind, found]);
  }
}
return low;
"##;

#[test]
fn page_is_readable_in_both_themes_and_in_a_narrow_window() {
    let mut report = empty();
    report["overview"]["team"] = json!("a-team-with-a-name-that-is-much-longer-than-forty-columns-of-text");
    report["mail"]["messages"] = json!([letter(1, "alice", "bob", &"wide".repeat(60))]);
    report["tasks"] = json!([task(1, &"Draft".repeat(20), &[]), task(2, "Review", &["1"])]);
    let Some((browser, _dir)) = show(report) else { return };
    assert_eq!(browser.run(CONTRAST), json!([]));
    let colour = "return getComputedStyle(document.body).backgroundColor";
    let dark = browser.run(colour);
    browser.run("document.querySelector('#themes [value=light]').click()");
    assert_ne!(browser.run(colour), dark);
    let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": "dark" }] });
    browser.command("Emulation.setEmulatedMedia", features);
    assert_ne!(browser.run(colour), dark);
    browser.run("document.querySelector('#themes [value=auto]').click()");
    assert_eq!(browser.run(colour), dark);
    let narrow = json!({ "width": 320, "height": 640, "deviceScaleFactor": 1, "mobile": false });
    browser.command("Emulation.setDeviceMetricsOverride", narrow);
    assert_eq!(browser.run("return document.documentElement.scrollWidth <= innerWidth"), true);
    browser.must_be_content();
}
