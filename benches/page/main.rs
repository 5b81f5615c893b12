//! Measures a browser with the page of a large report: until it is complete and painted, and from each user action to the next frame.
//! Asserts nothing, because frame times depend on the machine.
//!
//! `cargo bench --bench page [-- MESSAGES]` writes the big run of the tests (13 agents, 150 tasks, 3,091 messages) and
//! creates its page.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods
)]

#[allow(dead_code)]
#[path = "../../tests/it/support/big_run.rs"]
mod big_run;
#[allow(dead_code)]
#[path = "../../tests/it/support/browser.rs"]
mod browser;

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use big_run::{BigRun, Course, MESSAGES};
use browser::Browser;

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
    return ['p', 'pa', 'par', 'part', 'part 1', 'part 10', 'part 100', 'part 1000'].map((text) => () => { \
      box.value = text; box.dispatchEvent(new Event('input')); })";
const SLIDE: &str = "const box = document.getElementById('slider'); \
    return Array.from({ length: 20 }, (_, step) => () => { \
      box.value = (box.max * step) / 20; box.dispatchEvent(new Event('input')); })";
const ZOOM: &str = "const box = document.getElementById('canvas'); \
    return [...'++++++', ...Array(10).fill('ArrowLeft')].map((key) => () => \
      box.dispatchEvent(new KeyboardEvent('keydown', { key })))";
const STEP: &str = "const box = document.getElementById('canvas'); \
    return Array(20).fill('ArrowDown').map((key) => () => box.dispatchEvent(new KeyboardEvent('keydown', { key })))";
const SCROLL: &str = "const box = document.getElementById('list'); \
    return Array.from({ length: 20 }, (_, step) => () => { box.scrollTop = step * 1700; })";

fn main() {
    let messages = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(MESSAGES);
    let dir = tempfile::tempdir().unwrap();
    BigRun::with_messages(&dir.path().join("keep"), &dir.path().join(".claude"), Course::Stall, messages);
    let path = dir.path().join("report.html");
    create(dir.path(), &path);
    println!("{messages} messages");
    let Some(mut browser) = Browser::start() else { return };
    for _ in 0..3 {
        browser.open(&path);
        let times = "const page = performance.getEntriesByType('navigation')[0]; \
            const paint = performance.getEntriesByName('first-contentful-paint')[0]; \
            return [paint ? paint.startTime : NaN, page.domContentLoadedEventEnd]";
        println!("first paint and document complete: {}", spell(&browser, times));
    }
    for (what, part, acts) in [
        ("a keystroke in the search", "messages", SEARCH),
        ("the time moved, with the board", "board", SLIDE),
        ("the timeline zoomed and panned", "board", ZOOM),
        ("items selected one after the other", "board", STEP),
        ("the list of messages scrolled", "messages", SCROLL),
    ] {
        browser.run(&format!(
            "document.getElementById('tab-{part}').click(); document.getElementById('time').scrollIntoView({{ behavior: 'instant' }})"
        ));
        let script = format!("return (async () => {{ {} }})()", ACTS.replace("ACTS", acts));
        println!("{what}, to the next frame: {}", spell(&browser, &script));
    }
}

/// Creates the page of the run in this home directory.
fn create(home: &Path, page: &Path) {
    let other = std::env::var_os("TEAMKEEP_BENCH_BINARY");
    let mut command = Command::new(other.unwrap_or_else(|| env!("CARGO_BIN_EXE_teamkeep").into()));
    command.env_clear().env("HOME", home).env("TEAMKEEP_HOME", home.join("keep"));
    let start = Instant::now();
    let output = command.args(["report", "--format", "html", "-o"]).arg(page).output().unwrap();
    let took = start.elapsed().as_secs_f64() * 1e3;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let size = std::fs::metadata(page).unwrap().len() as f64 / 1e6;
    println!("teamkeep report --format html: {size:.1} MB in {took:.0} ms");
}

/// The result of a script, in whole milliseconds.
fn spell(browser: &Browser, script: &str) -> String {
    let times = browser.run(script);
    let times =
        times.as_array().unwrap().iter().map(|time| format!("{:.0}", time.as_f64().unwrap_or(f64::NAN)));
    times.collect::<Vec<_>>().join(" ") + " ms"
}
