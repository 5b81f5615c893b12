//! A run that is too large for the memory is not opened.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../benches/replay/long.rs"]
#[allow(dead_code)]
mod long;
mod support;

use long::Long;
use serde_json::{Value, json};
use support::Machine;
use teamkeep_ship::run_size::{MAX_RUN_BYTES, run_size};

#[test]
fn the_size_of_a_run_is_that_of_its_journal_and_the_weight_of_its_events() {
    let machine = Machine::new();
    let events = Long::write(&machine.store(), 1, 4_000).events as u64;
    let catalog = machine.catalog();
    let run = &catalog.runs[0];
    let size = run_size(&catalog, run).unwrap();
    let dir = machine.store().join("runs").join(&run.run);
    let journal = std::fs::metadata(dir.join("snapshots.jsonl")).unwrap().len();
    let weight = catalog.weigh_events(&[run]).unwrap()[&run.run];
    assert!(weight > events << 8 && size >= weight + journal, "{size}");
    // Events count once, compressed or not.
    machine.change_log(|text| text);
    assert_eq!(run_size(&catalog, run).unwrap(), size);
}

#[test]
fn a_run_that_is_too_large_does_not_count_as_sent_and_is_reported_once() {
    let machine = Machine::new();
    machine.configure_lake("");
    machine.record("v328-gc");
    let catalog = machine.catalog();
    let run = &catalog.runs[0].run;
    let huge = machine.store().join("runs").join(run).join("huge");
    std::fs::File::create(&huge).unwrap().set_len(MAX_RUN_BYTES + 1).unwrap();
    let note = format!("run {run} is too large to send");
    let dry = machine.ship(&["--dry-run"]);
    assert!(String::from_utf8_lossy(&dry.stderr).contains(&note), "{dry:?}");
    let first = machine.ship_all();
    assert!(first.contains(&note), "{first}");
    assert!(!machine.rows("events").is_empty() && machine.rows("runs").is_empty());
    let status = || String::from_utf8(machine.ship(&["status"]).stdout).unwrap();
    let expected = "  sent: 0 runs\n  too large to send: 1 run\n  not sent: nothing\n";
    assert!(status().contains(expected), "{}", status());
    std::fs::remove_file(huge).unwrap();
    let again = machine.ship_all();
    assert!(again.starts_with("sent 0 events and 0 runs") && !again.contains("too large"), "{again}");
    // After it was resumed and has ended again, its size is checked again.
    let state = machine.store().join("shipping.json");
    let mut value: Value = serde_json::from_slice(&std::fs::read(&state).unwrap()).unwrap();
    for destination in value["destinations"].as_object_mut().unwrap().values_mut() {
        destination["too_large"][run] = json!(1);
    }
    std::fs::write(&state, value.to_string()).unwrap();
    machine.ship_all();
    assert_eq!(machine.rows("runs").len(), 1);
    assert!(!status().contains("too large"), "{}", status());
}
