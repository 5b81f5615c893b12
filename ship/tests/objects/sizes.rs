//! A large shipment is split between runs, never in one.

use std::time::Duration;

use serde_json::{Value, json};
use teamkeep_model::time::Timestamp;
use teamkeep_store::log::Appending;

use super::delivery::assert_complete;
use crate::support::{Machine, parsed};

/// From this size on, a part of a shipment is delivered.
const PART_BYTES: usize = 32 << 20;

#[test]
fn a_large_shipment_is_several_objects_and_no_run_is_split_between_two() {
    let machine = Machine::new();
    machine.record("v328-inprocess");
    machine.record("v328-panes");
    machine.configure_lake("privacy = \"full\"");
    // An event that is as large as it takes for the limit to be in the middle of the first run.
    let lines = machine.dry_run();
    let size = |is_counted: &dyn Fn(&Value) -> bool| -> usize {
        let rows = lines.split_inclusive('\n').zip(parsed(&lines));
        rows.filter(|(_, row)| is_counted(row)).map(|(line, _)| line.len()).sum()
    };
    let first = parsed(&lines).into_iter().find(|row| row["table"] == "runs").unwrap()["run"].clone();
    let (events, run) =
        (size(&|row| row["table"] == "events"), size(&|row| row["table"] != "events" && row["run"] == first));
    assert!(run > 10_000, "{run}");
    let filler = "x".repeat(PART_BYTES - events - run / 2);
    let line =
        json!({"v": 1, "at": "2026-02-03T04:05:06.789Z", "id": "i", "event": "E", "payload": {"x": filler}});
    let how = Appending { segment_size: 1 << 30, patience: Duration::from_secs(60), durable: false };
    machine.logs().session(None).append(line.to_string().as_bytes(), Timestamp::default(), how).unwrap();
    machine.ship_all();

    let texts: Vec<String> = machine.objects().iter().map(|name| machine.object(name)).collect();
    assert_eq!(texts.len(), 2);
    let (large, rest): (Vec<&String>, Vec<&String>) = texts.iter().partition(|text| text.len() > PART_BYTES);
    let (large, rest) = (parsed(large[0]), parsed(rest[0]));
    let before = texts.iter().map(|text| text.len()).max().unwrap() - PART_BYTES;
    assert!(before > run / 4 && before < run, "the limit is in the middle of the run: {before} of {run}");
    // Each object ends with the row of the machine, which has the heads of the logs in it.
    let [.., last, host] = large.as_slice() else { panic!("{large:?}") };
    assert_eq!((&last["table"], &last["run"], &host["table"]), (&json!("runs"), &first, &json!("hosts")));
    assert!(!host["heads"].as_array().unwrap().is_empty());
    assert_eq!(rest.last().unwrap()["table"], "hosts");
    let is_of_first = |row: &&Value| row["table"] != "events" && row["run"] == first;
    assert_eq!(
        (rest.iter().filter(is_of_first).count(), rest.iter().filter(|row| row["table"] == "runs").count()),
        (0, 1)
    );
    assert_complete(&machine);
}
