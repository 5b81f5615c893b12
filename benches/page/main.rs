//! Measures a browser with the page of a large report: until it is drawn, and from each user action to the next frame.
//! Asserts nothing, because frame times depend on the machine.
//!
//! `cargo bench --bench page [-- MESSAGES]` generates the page of a run with 10 members and 200 tasks.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods
)]

mod big;
#[allow(dead_code)]
#[path = "../../tests/it/support/browser.rs"]
mod browser;

use std::time::Instant;

use browser::Browser;
use teamkeep::view::page;

/// Runs each action and returns the milliseconds until the frame after it.
const ACTS: &str = "
const acts = (() => { ACTS })();
const took = [];
for (const act of acts) {
  const start = performance.now();
  act();
  await new Promise((seen) => requestAnimationFrame(() => setTimeout(seen, 0)));
  took.push(performance.now() - start);
}
return took";

const SEARCH: &str = "const box = document.getElementById('search'); \
    return ['p', 'pa', 'par', 'pars', 'parse', 'parser', 'parser c', 'parser crash'].map((text) => () => { \
      box.value = text; box.dispatchEvent(new Event('input')); })";
const SLIDE: &str = "const box = document.getElementById('slider'); \
    return Array.from({ length: 20 }, (_, step) => () => { \
      box.value = (box.max * step) / 20; box.dispatchEvent(new Event('input')); })";
const ZOOM: &str = "const box = document.getElementById('canvas'); \
    return [...'++++++', ...Array(10).fill('ArrowLeft')].map((key) => () => \
      box.dispatchEvent(new KeyboardEvent('keydown', { key })))";
const SCROLL: &str = "const box = document.getElementById('list'); \
    return Array.from({ length: 20 }, (_, step) => () => { box.scrollTop = step * 1700; })";

fn main() {
    let messages = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(2_000);
    let report = big::report(messages);
    let start = Instant::now();
    let text = page(&report);
    let made = start.elapsed();
    println!(
        "{messages} messages: a page of {:.1} MB, made in {:.0} ms",
        text.len() as f64 / 1e6,
        made.as_secs_f64() * 1e3
    );
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("report.html");
    std::fs::write(&path, text).unwrap();
    let Some(mut browser) = Browser::start() else { return };
    for _ in 0..3 {
        browser.open(&path);
        let times = "const page = performance.getEntriesByType('navigation')[0]; \
            const paint = performance.getEntriesByName('first-contentful-paint')[0]; \
            return [paint ? paint.startTime : NaN, page.domContentLoadedEventEnd]";
        println!("first paint and everything drawn: {}", spell(&browser, times));
    }
    for (what, part, acts) in [
        ("a keystroke in the search", "messages", SEARCH),
        ("the slider moved", "time", SLIDE),
        ("the timeline zoomed and panned", "time", ZOOM),
        ("the list of messages scrolled", "messages", SCROLL),
    ] {
        browser.run(&format!("document.getElementById('{part}').scrollIntoView({{ behavior: 'instant' }})"));
        let script = format!("return (async () => {{ {} }})()", ACTS.replace("ACTS", acts));
        println!("{what}, to the next frame: {}", spell(&browser, &script));
    }
}

/// The result of a script, in whole milliseconds.
fn spell(browser: &Browser, script: &str) -> String {
    let times = browser.run(script);
    let times =
        times.as_array().unwrap().iter().map(|time| format!("{:.0}", time.as_f64().unwrap_or(f64::NAN)));
    times.collect::<Vec<_>>().join(" ") + " ms"
}
