use chrono::TimeDelta;

use super::*;
use crate::prune::RunInventory;
use crate::prune::inventory::Closed;
use teamkeep_core::store::archive::{RunRecord, SessionRecord, SessionRole};
use teamkeep_core::store::log;
use teamkeep_core::sys::clock::{self, Timestamp};

const DAY: u64 = 86_400;

fn now() -> Timestamp {
    clock::parse("2026-03-01T00:00:00Z").unwrap()
}

/// A run of this size that ended this many days ago.
fn held(name: &str, days: i64, bytes: u64) -> RunInventory {
    let since = now() - TimeDelta::days(days);
    let session = SessionRecord {
        id: format!("session of {name}"),
        role: SessionRole::Lead,
        name: None,
        transcript: None,
        process: None,
        gone_at: None,
    };
    let run = RunRecord {
        run: name.to_owned(),
        started_at: since,
        ended_at: Some(since),
        sessions: vec![session],
        ..RunRecord::default()
    };
    RunInventory { run, state: RunState::Over, since: Some(since), bytes, journal: 0 }
}

/// Three runs, the last of which ended a day ago.
fn scene() -> Inventory {
    Inventory {
        runs: vec![held("a", 90, 300), held("b", 60, 500), held("c", 1, 230)],
        ..Inventory::default()
    }
}

fn planned(survey: &Inventory, bounds: Bounds) -> Plan {
    plan(survey, &bounds, &config::Log::default(), now())
}

fn names<'a>(survey: &'a Inventory, plan: &Plan) -> Vec<&'a str> {
    plan.runs.iter().map(|(index, _)| survey.runs[*index].run.run.as_str()).collect()
}

fn older(days: u64) -> Bounds {
    Bounds { older_than: Some(Duration::from_secs(days * DAY)), ..Bounds::default() }
}

#[test]
fn without_bounds_no_run_goes() {
    let survey = scene();
    let plan = planned(&survey, Bounds::default());
    assert!(plan.is_empty() && (plan.bytes, plan.left) == (0, 1_030));
}

#[test]
fn age_count_and_size_each_have_the_oldest_go() {
    let survey = scene();
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
        assert_eq!(names(&survey, &planned(&survey, bounds)), gone, "{bounds:?}");
    }
}

#[test]
fn what_is_alive_unfinished_or_damaged_stays_and_is_told() {
    for state in [RunState::Alive, RunState::Unfinished, RunState::Damaged] {
        let mut survey = scene();
        survey.runs[0].state = state;
        let plan = planned(&survey, older(30));
        assert_eq!(names(&survey, &plan), ["b"]);
        assert_eq!(plan.kept, [0]);
        assert_eq!((plan.bytes, plan.left), (500, 530));
        assert!(planned(&survey, older(100)).kept.is_empty(), "not when nobody would have it go");
    }
}

fn segment(day: u32, runs: &[&str], sessions: &[&str], loose: Option<i64>) -> Closed {
    let name = format!("2026-02-{day:02}T000000000Z-1a2b3c4d.jsonl");
    let contents = log::Contents {
        runs: runs.iter().map(|name| (*name).to_owned()).collect(),
        sessions: sessions.iter().map(|name| ((*name).to_owned(), 1)).collect(),
        loose: loose.map(|days| now() - TimeDelta::days(days)),
        ..log::Contents::default()
    };
    Closed { segment: log::Segment { name: log::SegmentName::parse(&name).unwrap(), size: 1_000 }, contents }
}

/// The days of the segments to delete.
fn days(plan: &Plan) -> Vec<u32> {
    plan.segments.iter().map(|removal| chrono::Datelike::day(&removal.segment.name.day())).collect()
}

#[test]
fn a_segment_goes_when_it_tells_of_nothing_that_stays() {
    let mut survey = scene();
    survey.segments = vec![
        segment(1, &["a"], &[], None),
        segment(2, &["a", "b"], &[], None),
        segment(3, &["a"], &["session of c"], Some(80)),
        segment(4, &["a"], &["nobody's"], Some(80)),
        segment(5, &["a"], &["nobody's"], Some(20)),
        segment(6, &["lost"], &[], None),
        segment(7, &[], &[], None),
        {
            let mut damaged = segment(8, &["a"], &[], None);
            damaged.contents.unreadable = true;
            damaged
        },
    ];
    assert_eq!(days(&planned(&survey, older(80))), [1, 6, 7], "the fourth is as young as what stays");
    assert_eq!(days(&planned(&survey, older(70))), [1, 4, 6, 7]);
    assert_eq!(days(&planned(&survey, older(30))), [1, 2, 4, 6, 7]);
    assert_eq!(days(&planned(&survey, Bounds { keep: Some(1), ..Bounds::default() })), [1, 2, 6, 7]);
    survey.damaged.push("lost".to_owned());
    assert_eq!(days(&planned(&survey, older(80))), [1, 7], "what cannot be read is not gone");
    assert_eq!(days(&planned(&survey, older(70))), [1, 7], "nor are lines that may be its own");
}

#[test]
fn the_bounds_of_the_log_hold_here_as_well() {
    let mut survey = scene();
    survey.segments = vec![segment(1, &["c"], &[], None), segment(28, &["c"], &[], None)];
    survey.log = survey.segments.iter().map(|segment| segment.segment.clone()).collect();
    let limits = config::Log { keep: Duration::from_secs(10 * DAY), ..config::Log::default() };
    assert_eq!(days(&plan(&survey, &Bounds::default(), &limits, now())), [1]);
}
