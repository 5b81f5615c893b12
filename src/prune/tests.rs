use std::path::Path;

use super::*;
use teamkeep_model::event::SafeName;
use teamkeep_model::time;
use teamkeep_store::archive::{Archive, RunRecord, SessionRecord, SessionRole};
use teamkeep_store::log::{Appending, Logs};
use teamkeep_system::fs;
use teamkeep_system::paths::Paths;

const DAY: u64 = 86_400;
const PATIENCE: Duration = Duration::from_secs(60);

fn now() -> Timestamp {
    time::parse("2026-03-01T00:00:00Z").unwrap()
}

/// A run of this size that ended this many days ago.
fn held(name: &str, days: i64, bytes: u64) -> Candidate {
    let since = now() - TimeDelta::days(days);
    let session = SessionRecord::new(format!("session-of-{name}"), SessionRole::Lead);
    let run = RunRecord {
        v: 1,
        run: name.to_owned(),
        started_at: since,
        ended_at: Some(since),
        sessions: vec![session],
        ..RunRecord::default()
    };
    Candidate { run, since: Some(since), bytes, journal: 0 }
}

/// Three runs, the last of which ended a day ago.
fn scene() -> Vec<Candidate> {
    vec![held("a", 90, 300), held("b", 60, 500), held("c", 1, 230)]
}

fn planned(bounds: Bounds) -> PrunePlan {
    plan(scene(), &bounds, now(), |_| Ok(None)).unwrap()
}

fn names(plan: &PrunePlan) -> Vec<&str> {
    plan.runs.iter().map(|(gone, _)| gone.run.run.as_str()).collect()
}

fn older(days: u64) -> Bounds {
    Bounds { older_than: Some(Duration::from_secs(days * DAY)), ..Bounds::default() }
}

#[test]
fn without_bounds_no_run_goes() {
    let plan = planned(Bounds::default());
    assert!(plan.is_empty() && (plan.bytes, plan.left) == (0, 1_030));
}

#[test]
fn age_count_and_size_each_have_the_oldest_go() {
    let size = |most| Bounds { max_size: Some(most), ..Bounds::default() };
    let keep = |most| Bounds { keep: Some(most), ..Bounds::default() };
    for (bounds, gone) in [
        (older(30), vec!["a", "b"]),
        (older(60), vec!["a"]),
        (older(0), vec!["a", "b", "c"]),
        (keep(1), vec!["a", "b"]),
        (keep(0), vec!["a", "b", "c"]),
        (keep(3), vec![]),
        (size(1_030), vec![]),
        (size(1_029), vec!["a"]),
        (size(700), vec!["a", "b"]),
        (size(0), vec!["a", "b", "c"]),
        (Bounds { keep: Some(2), ..older(60) }, vec!["a"]),
        (Bounds { keep: Some(1), ..older(60) }, vec!["a", "b"]),
    ] {
        assert_eq!(names(&planned(bounds)), gone, "{bounds:?}");
    }
}

#[test]
fn what_is_alive_unfinished_or_damaged_stays_and_is_listed() {
    for why in [Obstacle::Alive, Obstacle::Unfinished, Obstacle::Damaged] {
        let planned =
            |bounds| plan(scene(), &bounds, now(), |run| Ok((run.run == "a").then_some(why))).unwrap();
        let plan = planned(older(30));
        assert_eq!(names(&plan), ["b"]);
        assert_eq!((plan.kept[0].0.run.as_str(), plan.kept[0].1, plan.kept.len()), ("a", why, 1));
        assert_eq!((plan.bytes, plan.left), (500, 530));
        assert!(planned(older(100)).kept.is_empty(), "not if no limit reaches it");
        let size = planned(Bounds { max_size: Some(600), ..Bounds::default() });
        assert_eq!(names(&size), ["b"], "the next one goes in its place");
    }
}

/// A store with the runs of the scene, and a log for the session of each and for `other`, written so many days ago.
fn store(dir: &Path, written: &[(&str, u64)]) -> RunCatalog {
    let store = dir.to_owned();
    let paths = Paths { config: store.clone(), store, client: None, warning: None };
    let archive = Archive::new(paths.store.clone(), 1 << 20, PATIENCE);
    for held in &scene() {
        let path = archive.run_dir(&held.run.run).unwrap().join("run.json");
        fs::write_atomic(&path, &serde_json::to_vec(&held.run).unwrap()).unwrap();
    }
    let logs = Logs::of(&paths);
    for (name, days) in written {
        let log = logs.session(SafeName::new(name).as_ref());
        let how = Appending { segment_size: 1 << 20, patience: PATIENCE, durable: false };
        log.append(br#"{"v":1,"at":"2026-02-03T04:05:06Z","payload":{}}"#, now(), how).unwrap();
        let file = std::fs::OpenOptions::new().write(true).open(log.dir().join("events.jsonl")).unwrap();
        let written = file.metadata().unwrap().modified().unwrap();
        file.set_modified(written - Duration::from_secs(days * DAY)).unwrap();
    }
    RunCatalog::open(archive, logs)
}

/// The logs whose lines go.
fn sessions(catalog: &RunCatalog, bounds: Bounds, limits: &config::Log) -> Vec<String> {
    let mut plan = planned(bounds);
    plan.add_sessions(catalog, &bounds, limits, &UnshippedSegments::default()).unwrap();
    assert_eq!(plan.is_empty(), plan.runs.is_empty() && plan.sessions.segments.is_empty());
    let mut names: Vec<String> =
        plan.sessions.segments.iter().map(|segment| segment.log.to_string()).collect();
    names.sort();
    names
}

#[test]
fn the_lines_of_a_session_go_when_they_are_old_and_no_run_that_stays_names_it() {
    let dir = tempfile::tempdir().unwrap();
    let written = [("session-of-a", 91), ("session-of-b", 61), ("session-of-c", 50), ("other", 40)];
    let catalog = store(dir.path(), &written);
    let limits = config::Log { keep: Duration::from_secs(1_000 * DAY), ..config::Log::default() };
    let gone = |bounds| sessions(&catalog, bounds, &limits);
    assert_eq!(gone(Bounds::default()), [""; 0]);
    assert_eq!(gone(older(70)), ["session-session-of-a"]);
    assert_eq!(gone(older(30)), ["session-other", "session-session-of-a", "session-session-of-b"]);
    assert_eq!(gone(older(0)).len(), 4);
    // The run goes by count, its lines only by their own age.
    assert_eq!(gone(Bounds { keep: Some(0), ..Bounds::default() }), [""; 0]);
    assert_eq!(gone(Bounds { keep: Some(3), ..older(30) }).len(), 3);
}

#[test]
fn the_limits_of_the_log_hold_here_as_well() {
    let dir = tempfile::tempdir().unwrap();
    let catalog = store(dir.path(), &[("session-of-a", 91), ("old", 40), ("new", 2)]);
    let limits = |days, keep_size| config::Log {
        keep: Duration::from_secs(days * DAY),
        keep_size,
        ..config::Log::default()
    };
    let gone = |limits| sessions(&catalog, Bounds::default(), &limits);
    assert_eq!(gone(limits(30, u64::MAX)), ["session-old"]);
    assert_eq!(gone(limits(1_000, 0)), ["session-new", "session-old"]);
    assert_eq!(sessions(&catalog, older(100), &limits(30, u64::MAX)), ["session-old"], "the stricter one");
}

#[test]
fn no_lines_of_sessions_go_as_long_as_a_run_cannot_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let catalog = store(dir.path(), &[("session-of-a", 91), ("old", 91)]);
    let limits = config::Log::default();
    assert_eq!(sessions(&catalog, older(70), &limits).len(), 2);
    let path = catalog.archive.run_dir("c").unwrap().join("run.json");
    std::fs::write(path, "{").unwrap();
    assert_eq!(sessions(&catalog, older(70), &limits), [""; 0]);
}
