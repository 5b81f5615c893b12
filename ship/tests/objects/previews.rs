//! `--dry-run --json` prints the rows that are shipped.

use serde_json::Value;

use super::without_time;
use crate::support::{Machine, TRACES, parsed};

/// The lines without the time of the shipment, which is the only value that differs. Those of `hosts`, which has other numbers before
/// the shipment, are left out.
fn compared(lines: &str) -> Vec<String> {
    let rows = lines.lines().filter(|line| !line.starts_with("{\"table\":\"hosts\""));
    rows.map(|line| {
        let row: Value = serde_json::from_str(line).unwrap();
        line.replace(&format!(",\"shipped_at\":{}", row["shipped_at"]), "")
    })
    .collect()
}

#[test]
fn a_dry_run_sends_nothing_and_prints_byte_for_byte_what_is_shipped() {
    for privacy in ["metadata", "redacted", "full"] {
        let machine = Machine::new();
        TRACES.iter().for_each(|trace| machine.record(trace));
        machine.configure_lake(&format!("privacy = \"{privacy}\""));
        let shown = machine.dry_run();
        assert!(!machine.lake().exists() && !machine.state().exists());
        machine.ship_all();
        let objects = machine.objects();
        let shipped = compared(&machine.object(objects.first().unwrap()));
        assert!(shipped.len() > 400, "{}", shipped.len());
        assert_eq!(compared(&shown).len(), shipped.len());
        compared(&shown).iter().zip(&shipped).for_each(|(shown, shipped)| assert_eq!(shown, shipped));
    }
}

#[test]
fn each_destination_gets_the_same_rows() {
    let machine = Machine::new();
    TRACES.iter().for_each(|trace| machine.record(trace));
    machine.configure_lake(&format!("directory = \"{}\"", machine.directory().display()));
    machine.ship_all();
    let objects = machine.objects();
    let in_store = parsed(&machine.object(objects.first().unwrap()));
    let comparable = |rows: Vec<Value>| -> Vec<Value> {
        rows.into_iter().filter(|row| row["table"] != "hosts").map(without_time).collect()
    };
    assert_eq!(comparable(in_store), comparable(machine.directory_rows()));
    assert_eq!(machine.directory_rows().last().unwrap()["table"], "hosts");
    machine.ship_all();
    assert_eq!(machine.directory_rows().iter().filter(|row| row["table"] == "hosts").count(), 1);
}

#[test]
fn a_dry_run_for_people_shows_each_table_with_its_first_row() {
    let machine = Machine::new();
    machine.record("v328-inprocess");
    machine.configure_lake("");
    let text = String::from_utf8(machine.ship(&["--dry-run"]).stdout).unwrap();
    let lines = machine.log_lines().len();
    assert!(
        text.starts_with(&format!("store file://{} (org=acme host=m1)\n", machine.lake().display())),
        "{text}"
    );
    assert!(
        text.contains(&format!("\nevents: {lines} rows, the first one:\n{{\n  \"table\": \"events\",")),
        "{text}"
    );
    assert!(text.contains("\nhosts: 1 rows, the first one:\n"), "{text}");
}
