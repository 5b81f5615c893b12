use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::*;
use crate::PATIENCE;
use crate::archive::{RunRecord, SessionRecord, SessionRole};
use crate::log::Appending;
use teamkeep_model::event::SafeName;
use teamkeep_model::time::{DAY, Timestamp};
use teamkeep_system::paths::Paths;

struct Store {
    dir: tempfile::TempDir,
    logs: Logs,
    archive: Archive,
}

impl Store {
    fn new() -> Store {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().to_owned();
        let paths = Paths { config: store.clone(), store, client: None, warning: None };
        let archive = Archive::new(paths.store.clone(), 1 << 20, PATIENCE);
        Store { logs: Logs::of(&paths), archive, dir }
    }

    fn session(&self, name: &str) -> EventLog {
        self.logs.session(SafeName::new(name).as_ref())
    }

    /// A session with lines in closed segments that were written so many days ago, and one in the current segment.
    fn write(&self, name: &str, closed_days: &[u64], current_days: Option<u64>) -> EventLog {
        let log = self.session(name);
        for days in closed_days {
            append(&log, false);
            assert!(log.close(PATIENCE).unwrap());
            set_age(&newest(&log), days * DAY.as_secs());
        }
        if let Some(days) = current_days {
            append(&log, false);
            set_age(&log.dir().join("events.jsonl"), days * DAY.as_secs());
        }
        log
    }

    fn add_run(&self, run: &str, sessions: &[&str]) {
        let session = |id: &&str| SessionRecord::new((*id).to_owned(), SessionRole::Lead);
        let sessions = sessions.iter().map(session).collect();
        let record = RunRecord { v: 1, run: run.to_owned(), sessions, ..RunRecord::default() };
        let bytes = serde_json::to_vec(&record).unwrap();
        fs::write_atomic(&self.archive.run_dir(run).unwrap().join("run.json"), &bytes).unwrap();
    }

    fn unneeded(&self, gone: &[&str]) -> Vec<EventLog> {
        let gone = gone.iter().map(|run| (*run).to_owned()).collect();
        unneeded(&self.logs, &self.archive, &gone).unwrap()
    }

    fn names(&self, gone: &[&str]) -> Vec<String> {
        self.unneeded(gone).iter().map(|log| log.owner.to_string()).collect()
    }

    fn plan(&self, keep_days: u64, keep_size: u64) -> Plan {
        plan(&self.unneeded(&[]), &limits(keep_days, keep_size), |_| false).unwrap()
    }

    fn prune(&self, plan: &Plan) -> Pruned {
        let pruned = apply(plan, &self.unneeded(&[]), PATIENCE);
        assert!(pruned.failures.is_empty(), "{:?}", pruned.failures);
        pruned
    }
}

fn limits(keep_days: u64, keep_size: u64) -> config::Log {
    config::Log { keep: Duration::from_secs(keep_days * DAY.as_secs()), keep_size, ..config::Log::default() }
}

fn append(log: &EventLog, is_single: bool) {
    let held = is_single.then(|| fs::lock(&log.dir().join("events.lock"), Duration::ZERO).unwrap().unwrap());
    let patience = if is_single { Duration::ZERO } else { PATIENCE };
    let how = Appending { segment_size: 1 << 20, patience, durable: false };
    let line = br#"{"v":1,"at":"2026-02-03T04:05:06Z","id":"x","event":"Stop","payload":{}}"#;
    assert_eq!(log.append(line, Timestamp::default(), how).unwrap().is_single, is_single);
    drop(held);
}

fn newest(log: &EventLog) -> PathBuf {
    log.segments().unwrap().iter().rfind(|segment| !segment.name.is_single()).unwrap().path()
}

fn set_age(path: &Path, seconds: u64) {
    let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    let now = SystemTime::UNIX_EPOCH + SystemTime::UNIX_EPOCH.elapsed().unwrap();
    file.set_modified(now - Duration::from_secs(seconds)).unwrap();
}

/// The segments to delete: the log, and its age in days.
fn gone(plan: &Plan) -> Vec<(String, u64)> {
    let show = |segment: &Segment| (segment.log.to_string(), segment.age().as_secs() / DAY.as_secs());
    plan.segments.iter().map(show).collect()
}

fn count(log: &EventLog) -> usize {
    log.own_segments().unwrap().iter().map(|segment| segment.open().unwrap().count()).sum()
}

fn named(log: &str, days: u64) -> (String, u64) {
    (format!("session-{log}"), days)
}

#[test]
#[cfg_attr(windows, ignore = "wine keeps the name of a removed file that is open")]
fn old_segments_go_by_age_and_then_the_oldest_by_size() {
    let store = Store::new();
    store.write("a", &[100, 50, 2], Some(0));
    store.write("b", &[95, 60], None);
    let size = store.session("b").segments().unwrap()[0].size;
    let all = 6 * size;
    assert_eq!(gone(&store.plan(90, u64::MAX)), [named("a", 100), named("b", 95)]);
    assert_eq!(gone(&store.plan(1_000, all + 1_000)), []);
    let plan = store.plan(90, 3 * size);
    let expected = [named("a", 100), named("b", 95), named("b", 60)];
    assert_eq!((gone(&plan), plan.bytes() + plan.kept_bytes), (expected.to_vec(), total(&store)));
    assert!(plan.kept_bytes <= 3 * size);
    let plan = store.plan(90, 0);
    assert_eq!(gone(&plan).len(), 5, "all but what is written to");
    assert_eq!(store.prune(&plan).segments.len(), 5);
    assert_eq!((count(&store.session("a")), count(&store.session("b"))), (1, 0));
}

fn total(store: &Store) -> u64 {
    store.logs.segments().iter().map(|segment| segment.size).sum()
}

#[test]
#[cfg_attr(windows, ignore = "wine keeps the name of a removed file that is open")]
fn what_an_active_session_writes_to_stays_and_what_an_idle_one_wrote_to_goes() {
    let store = Store::new();
    store.write("active", &[], Some(0));
    let idle = store.write("idle", &[], Some(0));
    set_age(&newest(&idle), 3_601);
    for name in ["active", "idle"] {
        append(&store.session(name), true);
    }
    let [_, single] = &idle.segments().unwrap()[..] else { panic!() };
    set_age(&single.path(), 3_700);
    let plan = store.plan(1_000, 0);
    assert_eq!(gone(&plan), [named("idle", 0), named("idle", 0)]);
    assert_eq!(store.prune(&plan).segments.len(), 2);
    assert!(!idle.dir().exists());
    assert_eq!(count(&store.session("active")), 2);
}

#[test]
fn a_segment_that_is_not_shipped_stays_and_counts() {
    let store = Store::new();
    let log = store.write("a", &[100, 50, 40], None);
    let held = log.segments().unwrap()[1].path();
    let plan = plan(&store.unneeded(&[]), &limits(90, 0), |segment| segment.path() == held).unwrap();
    assert_eq!(gone(&plan), [named("a", 100)], "what comes after it stays, too");
    assert_eq!(plan.kept_bytes, log.segments().unwrap()[1..].iter().map(|segment| segment.size).sum::<u64>());
    store.prune(&plan);
    assert!(held.exists());
}

#[test]
fn a_time_in_the_future_is_not_an_age() {
    let store = Store::new();
    let log = store.write("a", &[100], None);
    let file = std::fs::OpenOptions::new().write(true).open(newest(&log)).unwrap();
    let now = SystemTime::UNIX_EPOCH + SystemTime::UNIX_EPOCH.elapsed().unwrap();
    file.set_modified(now + DAY).unwrap();
    assert_eq!(gone(&store.plan(0, u64::MAX)), []);
}

#[test]
fn the_log_of_a_session_stays_as_long_as_a_run_names_it() {
    let store = Store::new();
    for name in ["a", "b", "c"] {
        store.write(name, &[100], None);
    }
    append(&store.logs.session(None), false);
    append(&store.logs.run("run").unwrap(), false);
    store.add_run("run", &["a", "b"]);
    store.add_run("other", &["b"]);
    assert_eq!(store.names(&[]), ["session-c", "session-no-session"]);
    assert_eq!(store.names(&["run"]), ["session-a", "session-c", "session-no-session"]);
    assert_eq!(store.names(&["run", "other"]).len(), 4);
    let plan = store.plan(0, 0);
    assert!(plan.segments.iter().all(|segment| segment.log != LogOwner::Session("a".to_owned())));
}

#[test]
fn nothing_goes_as_long_as_a_run_cannot_be_read() {
    let store = Store::new();
    store.write("a", &[100], None);
    store.add_run("run", &["b"]);
    assert_eq!(store.names(&[]), ["session-a"]);
    let description = store.archive.run_dir("run").unwrap().join("run.json");
    for content in ["", "{\"v\":1", "{\"v\":1,\"run\":\"other\"}"] {
        std::fs::write(&description, content).unwrap();
        assert_eq!(store.names(&[]), [""; 0], "{content}");
    }
    std::fs::remove_file(&description).unwrap();
    append(&store.logs.run("run").unwrap(), false);
    assert_eq!(store.names(&[]), ["session-a"], "a late call left its line in the directory of a pruned run");
    std::fs::write(description.with_file_name("snapshots.jsonl"), "").unwrap();
    assert_eq!(store.names(&[]), [""; 0], "its description is missing");
}

#[test]
#[cfg_attr(windows, ignore = "wine keeps the name of a removed file that is open")]
fn a_line_that_arrives_after_the_plan_is_kept() {
    let store = Store::new();
    let [written, closed, both] = ["written", "closed", "both"].map(|name| store.write(name, &[], Some(100)));
    let plan = store.plan(90, u64::MAX);
    assert_eq!(plan.segments.len(), 3);
    append(&written, false);
    assert!(closed.close(PATIENCE).unwrap());
    // The new segment has the size of the planned one.
    assert!(both.close(PATIENCE).unwrap());
    append(&both, false);
    assert_eq!(store.prune(&plan).segments, []);
    assert_eq!((count(&written), count(&closed), count(&both)), (2, 1, 2));
    let plan = store.plan(90, u64::MAX);
    store.prune(&plan);
    assert_eq!((count(&written), count(&closed), count(&both)), (2, 0, 1));
    assert!(written.dir().exists() && !closed.dir().exists());
}

#[test]
#[cfg_attr(windows, ignore = "wine keeps the name of a removed file that is open")]
fn a_segment_that_is_being_written_stays_and_is_tried_again() {
    let store = Store::new();
    let log = store.write("a", &[100], None);
    let plan = store.plan(90, u64::MAX);
    let held = fs::lock(&log.dir().join("events.lock"), Duration::ZERO).unwrap().unwrap();
    let pruned = apply(&plan, &store.unneeded(&[]), Duration::ZERO);
    assert!(pruned.segments.is_empty() && pruned.failures.is_empty());
    drop(held);
    assert_eq!(store.prune(&plan).segments.len(), 1);
    assert!(!log.dir().exists());
    assert_eq!(store.prune(&plan).segments.len(), 0);
}

#[test]
#[cfg_attr(windows, ignore = "wine keeps the name of a removed file that is open")]
fn the_directory_of_a_session_goes_with_its_state() {
    let store = Store::new();
    let log = store.write("a", &[100], None);
    std::fs::write(log.dir().join("state.json"), "").unwrap();
    let beside = store.dir.path().join("sessions/a.json");
    std::fs::write(&beside, "").unwrap();
    assert_eq!(store.prune(&store.plan(90, 0)).segments.len(), 1);
    assert!(!log.dir().exists() && beside.exists());
}
