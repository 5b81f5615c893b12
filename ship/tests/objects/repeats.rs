//! Shipping is at least once. Of what was sent again, one copy counts.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use super::delivery::assert_complete;
use super::{texts, without_time};
use crate::support::{Machine, TRACES, counting};

const TABLES: [&str; 10] =
    ["runs", "agents", "turns", "tasks", "messages", "verdicts", "incidents", "usage", "tools", "events"];

/// The rows that count, without the times of their shipments, sorted.
fn counted(machine: &Machine) -> Vec<String> {
    let rows = TABLES.iter().flat_map(|table| machine.rows(table));
    let mut rows: Vec<String> = rows.map(|row| without_time(row).to_string()).collect();
    rows.sort();
    rows
}

#[test]
fn a_lost_or_damaged_state_sends_everything_again_and_the_same_rows_count() {
    let machine = Machine::new();
    machine.record("v328-inprocess");
    machine.record("v328-panes");
    machine.configure_lake("");
    machine.ship_all();
    let (first, events) = (counted(&machine), machine.all_rows("events").len());
    std::fs::remove_file(machine.state()).unwrap();
    machine.ship_all();
    std::fs::write(machine.state(), "{\"v\":1,\"dest").unwrap();
    machine.ship_all();
    assert_eq!((machine.objects().len(), machine.all_rows("events").len()), (3, 3 * events));
    assert_eq!(counted(&machine), first);
    assert_complete(&machine);
}

#[test]
fn a_shipper_that_is_killed_at_any_point_loses_nothing_and_nothing_counts_twice() {
    let machine = Machine::new();
    TRACES.iter().for_each(|trace| machine.record(trace));
    machine.configure(
        "store = \"{lake}\"\ndirectory = \"{rows}\""
            .replace("{rows}", &machine.directory().display().to_string())
            .as_str(),
    );
    let mut killed = 0;
    for round in 0..40 {
        let mut child = machine.shipper(&["--once"]).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(round * 7));
        killed += usize::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(killed > 5, "only {killed} were killed at work");
    machine.ship_all();
    assert_complete(&machine);
    let directory = counting(machine.directory_rows());
    let of = |table: &str| directory.iter().filter(|row| row["table"] == table).count();
    TABLES.iter().for_each(|table| assert_eq!(of(table), machine.rows(table).len(), "{table}"));
}

#[test]
fn of_several_shippers_at_once_one_sends() {
    let machine = Machine::new();
    TRACES.iter().for_each(|trace| machine.record(trace));
    machine.configure_lake("");
    let spawn = || machine.shipper(&["--once"]).stderr(Stdio::piped()).spawn().unwrap();
    let children: Vec<_> = (0..4).map(|_| spawn()).collect();
    let mut messages = Vec::new();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        messages.push(String::from_utf8(output.stderr).unwrap());
    }
    // A shipper that starts after the one that sends finds nothing to send.
    let is_sender =
        |message: &&String| message.contains("runs (") && !message.contains("sent 0 events and 0 runs");
    assert_eq!(messages.iter().filter(is_sender).count(), 1, "{messages:?}");
    assert_eq!(machine.objects().len(), 1);
    assert_complete(&machine);
}

#[test]
fn a_resumed_run_counts_once_as_it_ended_last() {
    let machine = Machine::new();
    machine.record("v328-inprocess");
    machine.configure_lake("");
    machine.ship_all();
    let (first, messages) = (machine.rows("runs"), machine.rows("messages").len());
    let record = machine.store().join("runs").join(first[0]["run"].as_str().unwrap()).join("run.json");
    let mut run: Value = serde_json::from_slice(&std::fs::read(&record).unwrap()).unwrap();
    run["ended_at"] = json!("2099-01-01T00:00:00.000Z");
    std::fs::write(&record, run.to_string()).unwrap();
    assert!(machine.ship_all().starts_with("sent 0 events and 1 run "));
    let rows = machine.rows("runs");
    assert_eq!((machine.all_rows("runs").len(), rows.len()), (2, 1));
    assert_eq!(rows[0]["ended_at"], "2099-01-01T00:00:00.000Z");
    assert!(rows[0]["revision"].as_i64() > first[0]["revision"].as_i64());
    assert_eq!(
        (machine.all_rows("messages").len(), machine.rows("messages").len()),
        (2 * messages, messages)
    );
    // The earlier revision arrives last: it does not count.
    std::fs::remove_file(machine.state()).unwrap();
    run["ended_at"] = first[0]["ended_at"].clone();
    std::fs::write(&record, run.to_string()).unwrap();
    machine.ship_all();
    assert_eq!((machine.all_rows("runs").len(), machine.rows("runs")), (3, rows));
}

#[test]
fn two_stores_of_one_host_and_user_name_have_two_ids_that_a_lost_state_does_not_change() {
    let machines = [Machine::new(), Machine::new()];
    let ids = machines.each_ref().map(|machine| {
        machine.record("v328-inprocess");
        machine.configure_lake("");
        machine.ship_all();
        std::fs::remove_file(machine.state()).unwrap();
        machine.ship_all();
        let ids = texts(&machine.all_rows("events"), "store");
        assert_eq!(ids, texts(&machine.all_rows("hosts"), "store"));
        assert!(ids.len() == 1 && ids.iter().all(|id| id.len() == 16 && u64::from_str_radix(id, 16).is_ok()));
        ids
    });
    assert_ne!(ids[0], ids[1]);
    // Both have the same run: it counts for each.
    let rows = machines.iter().flat_map(|machine| machine.all_rows("runs")).collect();
    assert_eq!(counting(rows).len(), 2);
}
