//! Projects of which nothing is sent.

use std::collections::BTreeSet;

use serde_json::Value;

use super::texts;
use crate::support::Machine;

const PROJECT: &str = "/home/dev/parser";

/// Ships two runs, of which this change of its record moves the second into a project that is excluded.
fn ship_with_excluded(change: fn(String) -> String) -> Machine {
    let machine = Machine::new();
    machine.record("v328-inprocess");
    let sessions = sessions(&machine);
    machine.record_with("v328-panes", change);
    machine.configure_lake("exclude-projects = [\"*/private\"]");
    let sent = machine.ship_all();
    assert!(sent.contains(" and 1 run ("), "{sent}");
    let rows: Vec<Value> = machine.rows("events");
    let sent: BTreeSet<String> = texts(&rows, "session").into_iter().collect();
    assert_eq!(sent, sessions, "only those of the other run");
    for table in ["runs", "agents", "tasks", "messages", "turns", "tools"] {
        let runs: BTreeSet<String> = texts(&machine.rows(table), "run").into_iter().collect();
        assert_eq!(runs.len(), 1, "{table}");
    }
    assert!(machine.status().contains("not sent: nothing"), "{}", machine.status());
    machine
}

fn sessions(machine: &Machine) -> BTreeSet<String> {
    texts(&machine.log_lines(), "session").into_iter().collect()
}

#[test]
fn nothing_of_an_excluded_project_is_sent_and_its_data_counts_as_sent() {
    let machine = ship_with_excluded(|text| text.replace(PROJECT, "/home/dev/private/x"));
    machine.configure_lake("");
    machine.ship_all();
    assert_eq!(machine.rows("runs").len(), 1);
}

#[test]
fn a_run_is_excluded_if_its_session_began_in_an_excluded_project() {
    ship_with_excluded(|text| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let start = lines.iter_mut().find(|line| line.contains("SessionStart")).unwrap();
        *start = start.replace(PROJECT, "/home/dev/private/x");
        lines.join("\n") + "\n"
    });
}

#[test]
fn without_a_home_directory_a_project_below_it_keeps_everything_from_being_sent() {
    let machine = Machine::new();
    machine.record("v328-headless");
    machine.configure_lake("exclude-projects = [\"~/private\"]");
    let output = machine.shipper(&["--once"]).env_remove("HOME").output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && message.contains("HOME is not set"), "{message}");
    assert!(machine.objects().is_empty());
}
