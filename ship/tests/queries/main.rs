//! The documented queries run in the engines that can run here, and their results are those of the reports.
//!
//! The engines are Python packages (`duckdb`, `chdb`).

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

#[path = "../support/engines.rs"]
mod engines;
#[path = "../support/mod.rs"]
mod support;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use engines::{Engine, S3, engine};
use serde_json::{Map, Value};
use support::{Machine, TRACES};
use teamkeep_history::report::{Incident, IncidentKind};

/// Runs the queries: engine, then query, then rows.
fn run(python: &Path, machine: &Machine) -> Map<String, Value> {
    let ship = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(python)
        .arg(ship.join("tests/queries/run.py"))
        .args([machine.lake(), ship.join("../docs/organization")])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let Value::Object(results) = serde_json::from_slice(&output.stdout).unwrap() else { panic!("no object") };
    results
}

/// Whether two engines print the same value. They print the fraction of times differently.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            (one.as_f64().unwrap() - other.as_f64().unwrap()).abs() < 1e-6
        }
        (Value::String(one), Value::String(other)) => time(one) == time(other),
        _ => one == other,
    }
}

/// A time without its zone, which is UTC, and without zeros at the end of its fraction.
fn time(text: &str) -> &str {
    let is_time = text.len() >= 19 && text.is_char_boundary(19) && text[10..].starts_with(' ');
    if !is_time {
        return text;
    }
    let text = text.trim_end_matches("+00");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

fn rows<'a>(results: &'a Map<String, Value>, engine: &str, query: &str) -> &'a [Value] {
    results[engine][query].as_array().unwrap_or_else(|| panic!("{engine} has no query {query}"))
}

fn sum(rows: &[Value], key: &str) -> f64 {
    rows.iter().filter_map(|row| row[key].as_f64()).sum()
}

#[test]
fn documented_queries_have_the_results_of_the_reports_in_every_engine() {
    let Some(python) = engine(Engine::Python) else { return };
    let machine = Machine::new();
    // The headless run is of 1970, where the dates of ClickHouse begin.
    TRACES.iter().filter(|trace| **trace != "v328-headless").for_each(|trace| machine.record(trace));
    machine.configure_lake("");
    machine.ship_all();
    // Everything arrives a second time, in another shipment.
    std::fs::remove_file(machine.store().join("shipping.json")).unwrap();
    machine.ship_all();
    let failed = machine.rows("tools").iter().filter_map(|row| row["failed"].as_i64()).sum::<i64>();
    let results = run(&python, &machine);

    assert_same_in_all_engines(&results);
    assert_like_reports(&results, &machine);
    let tools = rows(&results, "duckdb", "failing-tools");
    assert_eq!((sum(tools, "failed_calls") as i64, failed > 0), (failed, true));
    let newest = rows(&results, "duckdb", "newest-heads")
        .iter()
        .map(|row| row["newest_head"].as_str().unwrap().to_owned());
    assert_eq!(newest.collect::<BTreeSet<String>>(), machine.heads().into_iter().collect());
    assert_eq!(rows(&results, "duckdb", "altered-logs").len(), 0);
    assert_dashboard(&results);
}

#[test]
fn the_lake_withstands_bad_repeated_late_and_interrupted_data_in_a_directory() {
    attack(&[]);
}

#[test]
fn the_lake_withstands_bad_repeated_late_and_interrupted_data_in_s3() {
    let Some(weed) = engine(Engine::Weed) else { return };
    let dir = tempfile::tempdir().unwrap();
    let s3 = S3::start(&weed, dir.path());
    attack(&s3.environment());
}

/// Runs the attacks, in the object store of the environment, else in a directory.
fn attack(environment: &[(&'static str, String)]) {
    let Some(python) = engine(Engine::Python) else { return };
    let attacks = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/queries/attacks.py");
    let environment = environment.iter().map(|(name, value)| (name, value));
    let output = Command::new(python).arg(attacks).envs(environment).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
}

fn assert_same_in_all_engines(results: &Map<String, Value>) {
    let names = |engine: &str| -> Vec<&String> { results[engine].as_object().unwrap().keys().collect() };
    assert!(names("duckdb").len() >= 12, "{:?}", names("duckdb"));
    for engine in ["clickhouse"] {
        assert_eq!(names(engine), names("duckdb"));
        for query in names("duckdb") {
            let (expected, found) = (rows(results, "duckdb", query), rows(results, engine, query));
            assert_eq!(found.len(), expected.len(), "{query} in {engine}");
            for (found, expected) in found.iter().zip(expected) {
                let (found, expected) = (found.as_object().unwrap(), expected.as_object().unwrap());
                assert!(found.keys().eq(expected.keys()), "{query} in {engine}: {found:?}, not {expected:?}");
                let same = expected.iter().all(|(key, value)| is_same(value, &found[key]));
                assert!(same, "{query} in {engine}: {found:?}, not {expected:?}");
            }
        }
    }
}

/// Compares with the reports and the log.
fn assert_like_reports(results: &Map<String, Value>, machine: &Machine) {
    let reports = machine.reports();
    let cost: f64 = reports.iter().filter_map(|report| report.spending.cost).sum();
    for query in ["cost-per-team-and-week", "cost-per-user-and-project"] {
        let found = rows(results, "duckdb", query);
        assert!((sum(found, "cost") - cost).abs() < 0.01, "{query}: {found:?}, not {cost}");
        assert_eq!(sum(found, "runs") as usize, reports.len());
        let unknown = reports.iter().filter(|report| report.spending.cost.is_none()).count();
        assert_eq!(sum(found, "runs_without_cost") as usize, unknown, "{query}");
    }
    let lines = machine.log_lines();
    let is_block = |line: &&Value| line["verdict"]["decision"] == "block";
    let blocks: Vec<&Value> = lines.iter().filter(is_block).collect();
    let shutdowns = blocks.iter().filter(|line| line["verdict"]["gate"] == "premature-shutdown").count();
    assert!(shutdowns > 0);
    assert_eq!(rows(results, "duckdb", "blocked-shutdowns").len(), shutdowns);
    assert_eq!(sum(rows(results, "duckdb", "blocks-per-gate-and-week"), "blocked") as usize, blocks.len());
    let incidents: usize = reports.iter().map(|report| report.incidents.len()).sum();
    assert!(incidents > 0);
    let found = sum(rows(results, "duckdb", "incidents-per-kind"), "found") as usize;
    assert_eq!(found, incidents);
    let all = || reports.iter().flat_map(|report| &report.incidents);
    let stalls = all().filter(|incident| incident.kind == IncidentKind::StalledAgent).count();
    let loses =
        |incident: &&Incident| incident.cost.tasks_lost > 0 || incident.kind != IncidentKind::StalledAgent;
    assert_eq!(rows(results, "duckdb", "lost-work").len(), all().filter(loses).count());
    assert_eq!(sum(rows(results, "duckdb", "stalls-per-week"), "stalls") as usize, stalls);
    let tasks = reports.iter().flat_map(|report| &report.tasks);
    let unfinished = tasks.filter(|task| !["completed", "deleted"].contains(&task.status.as_str())).count();
    assert_eq!(rows(results, "duckdb", "unfinished-tasks").len(), unfinished);
    let messages = reports.iter().flat_map(|report| &report.mail.messages);
    let undelivered = messages.filter(|message| {
        !message.automatic && (message.delivered == Some(false) || message.refused.is_some())
    });
    assert_eq!(rows(results, "duckdb", "undelivered-messages").len(), undelivered.count());
}

/// The numbers of the dashboard are those of the queries.
fn assert_dashboard(results: &Map<String, Value>) {
    assert_eq!(results["grafana"]["org"], serde_json::json!([{"org": "acme"}]));
    for (panel, key, query, same) in [
        ("Runs per week", "runs", "cost-per-team-and-week", "runs"),
        ("Cost per week by team", "cost", "cost-per-team-and-week", "cost"),
        ("Cost per week by project", "cost", "cost-per-user-and-project", "cost"),
        ("Blocks per week by gate", "blocks", "blocks-per-gate-and-week", "blocked"),
        ("Incidents per week by kind", "found", "incidents-per-kind", "found"),
        ("Tools that fail most", "failed_calls", "failing-tools", "failed_calls"),
    ] {
        let (shown, queried) =
            (sum(rows(results, "grafana", panel), key), sum(rows(results, "duckdb", query), same));
        assert!((shown - queried).abs() < 0.01, "{panel}: {shown}, not {queried}");
    }
    assert_eq!(rows(results, "grafana", "Hosts by newest shipment").len(), 1);
    assert_eq!(rows(results, "grafana", "Logs that may have been altered").len(), 0);
}
