use std::path::Path;
use std::time::Duration;

use super::*;
use teamkeep_model::event::SafeName;
use teamkeep_model::time;
use teamkeep_store::archive::{Imported, SessionRecord};
use teamkeep_store::log::Appending;
use teamkeep_system::fs;
use teamkeep_system::paths::Paths;

fn at(seconds: i64) -> Timestamp {
    time::parse("2026-02-03T04:00:00Z").unwrap() + TimeDelta::seconds(seconds)
}

fn logs(dir: &Path) -> Logs {
    Logs::of(&Paths { store: dir.to_owned(), config: dir.to_owned(), client: None, warning: None })
}

/// A run that started then.
fn run(name: &str, seconds: i64, sessions: &[&str]) -> RunRecord {
    let session = |id: &&str| SessionRecord::new((*id).to_owned(), SessionRole::Lead);
    let sessions = sessions.iter().map(session).collect();
    RunRecord { run: name.to_owned(), started_at: at(seconds), sessions, ..RunRecord::default() }
}

fn line(id: &str, seconds: i64, session: &str, run: Option<&str>) -> String {
    let (at, run) = (at(seconds), serde_json::to_string(&run).unwrap());
    format!(
        r#"{{"v":1,"at":"{at}","id":"{id}","event":"SessionStart","session":"{session}","run":{run},"actor":{{"name":null,"id":null,"kind":"lead"}},"payload":{{}}}}"#
    )
}

fn append(log: &EventLog, line: &str, segment_size: u64) {
    let how = Appending { segment_size, patience: Duration::from_secs(60), durable: false };
    assert!(!log.append(line.as_bytes(), at(0), how).unwrap().is_single);
}

fn append_single(log: &EventLog, line: &str) {
    let _held = fs::lock(&log.dir().join("events.lock"), Duration::ZERO).unwrap().unwrap();
    let how = Appending { segment_size: 1, patience: Duration::ZERO, durable: false };
    assert!(log.append(line.as_bytes(), at(0), how).unwrap().is_single);
}

fn session(logs: &Logs, name: &str) -> EventLog {
    logs.session(SafeName::new(name).as_ref())
}

/// The events of a run in the order of their logs.
fn ids(logs: &Logs, all: &[RunRecord], wanted: &str) -> Vec<String> {
    let (mut events, problems) = by_run(logs, all, |run| run == wanted, DetailLevel::Whole).unwrap();
    assert!(problems.is_empty(), "{problems:?}");
    let mut found = events.remove(wanted).unwrap_or_default();
    assert!(events.is_empty(), "only of the wanted run");
    assert!(found.is_sorted_by_key(|event| (event.at, event.place)));
    found.sort_by_key(|event| event.place);
    found.iter().map(|event| event.id().to_owned()).collect()
}

#[test]
fn the_lines_of_each_log_stay_in_their_order_although_the_clock_was_set_back() {
    let dir = tempfile::tempdir().unwrap();
    let logs = logs(dir.path());
    let all = [run("r", 0, &["s", "t"])];
    for (id, seconds) in [("a", 10), ("b", 40), ("c", 20), ("d", 50)] {
        append(&logs.run("r").unwrap(), &line(id, seconds, "s", Some("r")), 1);
    }
    for (id, seconds) in [("s1", -20), ("s2", 15)] {
        append(&session(&logs, "s"), &line(id, seconds, "s", None), 1);
    }
    append(&session(&logs, "t"), &line("t1", 30, "t", None), 1);
    append_single(&logs.run("r").unwrap(), &line("x", 12, "s", Some("r")));
    assert_eq!(ids(&logs, &all, "r"), ["s1", "a", "x", "s2", "t1", "b", "c", "d"]);
}

#[test]
fn a_line_from_before_its_session_had_a_run_is_of_the_next_run_of_the_session_only() {
    let dir = tempfile::tempdir().unwrap();
    let logs = logs(dir.path());
    let all = [run("one", 100, &["s"]), run("two", 200, &["s"]), run("other", 50, &["t"])];
    for (id, seconds) in [("before", 10), ("between", 150), ("after", 300)] {
        append(&session(&logs, "s"), &line(id, seconds, "s", None), 1 << 20);
    }
    append(&session(&logs, "u"), &line("without run", 20, "u", None), 1 << 20);
    append(&logs.session(None), &line("without a session", 20, "s", None), 1 << 20);
    append(&logs.run("one").unwrap(), &line("in one", 120, "s", Some("one")), 1 << 20);
    assert_eq!(ids(&logs, &all, "one"), ["before", "in one"]);
    assert_eq!(ids(&logs, &all, "two"), ["between", "after"]);
    assert_eq!(ids(&logs, &all, "other"), [""; 0]);
}

#[test]
fn the_log_of_an_imported_run_is_its_own_and_its_sessions_are_those_of_another_machine() {
    let dir = tempfile::tempdir().unwrap();
    let logs = logs(dir.path());
    let imported = Some(Imported { at: at(1_000), ..Imported::default() });
    let all = [RunRecord { imported, ..run("r", 100, &["s"]) }];
    append(&session(&logs, "s"), &line("here", 10, "s", None), 1);
    let events = [line("before", 20, "s", None), line("in it", 120, "s", Some("r"))].join("\n") + "\n";
    let log = logs.run("r").unwrap();
    fs::write_atomic(&log.dir().join("events-imported.jsonl"), events.as_bytes()).unwrap();
    assert_eq!(ids(&logs, &all, "r"), ["before", "in it"]);
}

#[test]
fn a_closed_and_compressed_log_is_read_and_damage_is_counted() {
    let dir = tempfile::tempdir().unwrap();
    let logs = logs(dir.path());
    let all = [run("r", 0, &["s"]), run("other", 0, &[])];
    let log = logs.run("r").unwrap();
    for place in 0..100 {
        append(&log, &line(&place.to_string(), place, "s", Some("r")), 1 << 20);
    }
    assert!(log.close(Duration::from_secs(60)).unwrap());
    log.compress().unwrap();
    append(&log, &line("100", 100, "s", Some("r")), 1 << 20);
    append(&log, "damaged", 1 << 20);
    append(&logs.run("other").unwrap(), "of another run", 1);
    let (events, problems) = by_run(&logs, &all, |run| run == "r", DetailLevel::Whole).unwrap();
    assert_eq!((events["r"].len(), problems.count), (101, 1));
    assert!((0..).zip(&events["r"]).all(|(place, event)| event.id() == place.to_string()));
}
