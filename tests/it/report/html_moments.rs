//! The time axis of the page shows the same tasks as `show --at`.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use serde_json::{Value, json};
use teamkeep_history::timeline::state;
use teamkeep_model::time;

use crate::history::traces::{ALL, play};
use crate::support::browser::Browser;

/// The number of times in each run.
const MOMENTS: u64 = 50;

/// Moves the axis and returns the status of each task on the board.
const MOVE: &str = "const slider = document.getElementById('slider'); \
    return TIMES.map((time) => { \
      slider.value = time; slider.dispatchEvent(new Event('input')); \
      return Object.fromEntries(['pending', 'in_progress', 'completed'].flatMap((name) => \
        [...document.querySelectorAll('.column.' + name + ' .card .number')].map((card) => [card.textContent.slice(1), name]))); })";

#[test]
fn board_equals_show_at_any_time_of_every_recorded_run() {
    let Some(mut browser) = Browser::start() else { return };
    let mut seen = 0;
    for run in ALL {
        let told = play(run, 1);
        let path = told.sandbox.home().join("moments.html");
        told.sandbox.printed(&["report", "--format", "html", "-o", path.to_str().unwrap()]);
        let overview: Value = serde_json::from_str(&told.sandbox.printed(&["report", "--json"])).unwrap();
        let start = time::parse(overview["overview"]["started_at"].as_str().unwrap()).unwrap();
        let duration = overview["overview"]["duration_ms"].as_u64().unwrap();
        // A linear congruential generator: the same times in each test run.
        let mut random = 20_261_123_u64;
        let times: Vec<u64> = (0..MOMENTS)
            .map(|_| {
                random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (random >> 33) % duration
            })
            .collect();
        browser.open(&path);
        let shown = browser.run(&MOVE.replace("TIMES", &json!(times).to_string()));
        let library = told.sandbox.library();
        let opened = library.open_runs(&[library.find("latest").unwrap()]).unwrap();
        for (time, board) in times.iter().zip(shown.as_array().unwrap()) {
            let at = start + TimeDelta::milliseconds(i64::try_from(*time).unwrap());
            let state = serde_json::to_value(state(&library.archive, &opened.runs[0], Some(at))).unwrap();
            let tasks: BTreeMap<&String, &Value> =
                state["tasks"].as_object().unwrap().iter().map(|(id, task)| (id, &task["status"])).collect();
            seen += tasks.len();
            assert_eq!(json!(tasks), *board, "{} at {time} ms", run.0);
        }
    }
    assert!(seen > 100, "{seen}");
}
