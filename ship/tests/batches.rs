//! Runs are opened in groups, and a run that is too large for the memory is not opened.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../benches/replay/long.rs"]
#[allow(dead_code)]
mod long;
mod support;

use std::collections::BTreeSet;

use long::Long;
use support::Machine;
use teamkeep_ship::batches::Batches;

#[test]
fn a_run_with_too_many_events_is_left_out() {
    let machine = Machine::new();
    Long::write(&machine.store(), 1, 400);
    let large = Long::write(&machine.store(), 2, 4_000).events;
    let catalog = machine.catalog();
    let runs: Vec<_> = catalog.runs.iter().collect();
    let with = |most| {
        let Batches { batches, too_large } = Batches::of(&catalog, runs.clone(), most).unwrap();
        (batches.concat().len(), too_large.into_iter().map(|(_, events)| events).collect::<Vec<_>>())
    };
    assert_eq!(with(large - 1), (1, vec![large]));
    assert_eq!(with(large), (2, vec![]));
}

#[test]
fn a_batch_has_at_most_eight_runs_and_all_runs_are_in_a_batch() {
    let machine = Machine::new();
    for number in 1..=20 {
        Long::write(&machine.store(), number, 60);
    }
    let catalog = machine.catalog();
    let batches = Batches::of(&catalog, catalog.runs.iter().collect(), 1_000).unwrap().batches;
    assert!(batches.len() >= 3 && batches.iter().all(|batch| (1..=8).contains(&batch.len())));
    let runs: BTreeSet<&str> = batches.iter().flatten().map(|run| run.run.as_str()).collect();
    assert_eq!((runs.len(), batches.concat().len()), (20, 20));
}
