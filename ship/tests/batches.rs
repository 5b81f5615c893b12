//! Runs are opened in groups, and a run that is too large for the memory is not opened.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../benches/replay/long.rs"]
#[allow(dead_code)]
mod long;
mod support;

use std::collections::BTreeSet;

use long::Long;
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
