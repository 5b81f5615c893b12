//! Runs are opened in groups, and a run that is too large for the memory is not opened.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../benches/replay/long.rs"]
#[allow(dead_code)]
mod long;
mod support;

use std::collections::BTreeSet;

use long::Long;
use serde_json::{Value, json};
use support::Machine;
use teamkeep_ship::batches::{Batches, MAX_RUN_BYTES};

#[test]
fn a_run_that_is_too_large_is_left_out() {
    let machine = Machine::new();
    Long::write(&machine.store(), 1, 400);
    let large = Long::write(&machine.store(), 2, 4_000).events as u64;
    let catalog = machine.catalog();
    let runs: Vec<_> = catalog.runs.iter().collect();
    let with = |most| {
        let Batches { batches, too_large } = Batches::of(&catalog, runs.clone(), most).unwrap();
        (batches.concat().len(), too_large.into_iter().map(|(_, size)| size).collect::<Vec<_>>())
    };
    let (opened, too_large) = with(large << 10);
    assert_eq!((opened, too_large.len()), (1, 1), "its journal counts, too");
    assert_eq!(with(too_large[0]), (2, vec![]));
    assert_eq!(with(10).0, 0);
}

#[test]
fn a_run_that_is_too_large_does_not_count_as_sent_and_is_reported_once() {
    let machine = Machine::new();
    machine.configure_lake("");
    machine.record("v328-gc");
    let catalog = machine.catalog();
    let run = &catalog.runs[0].run;
    let huge = machine.store().join("archive/runs").join(run).join("huge");
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
    let state = machine.store().join("ship/state.json");
    let mut value: Value = serde_json::from_slice(&std::fs::read(&state).unwrap()).unwrap();
    for destination in value["destinations"].as_object_mut().unwrap().values_mut() {
        destination["too_large"][run] = json!(1);
    }
    std::fs::write(&state, value.to_string()).unwrap();
    machine.ship_all();
    assert_eq!(machine.rows("runs").len(), 1);
    assert!(!status().contains("too large"), "{}", status());
}

#[test]
fn a_batch_has_a_bounded_number_of_runs_and_bytes() {
    let machine = Machine::new();
    for number in 1..=40 {
        Long::write(&machine.store(), number, if number == 7 { 40_000 } else { 60 });
    }
    let catalog = machine.catalog();
    let batches = Batches::of(&catalog, catalog.runs.iter().collect(), MAX_RUN_BYTES).unwrap().batches;
    assert_eq!(batches.iter().map(Vec::len).collect::<Vec<_>>(), [6, 1, 32, 1]);
    let runs: BTreeSet<&str> = batches.iter().flatten().map(|run| run.run.as_str()).collect();
    assert_eq!(runs.len(), 40);
}
