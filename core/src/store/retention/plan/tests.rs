use chrono::TimeDelta;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::sys::clock::{Timestamp, parse};

fn noon() -> Timestamp {
    parse("2026-02-03T12:00:00Z").unwrap()
}

fn limits(days: u64, keep_size: u64) -> config::Log {
    config::Log { keep: Duration::from_secs(days * 86_400), keep_size, ..config::Log::default() }
}

fn segment(days_ago: i64, minutes: i64, solo: bool, size: u64) -> Segment {
    let at = noon() - TimeDelta::days(days_ago) - TimeDelta::minutes(minutes);
    Segment { name: if solo { SegmentName::single_line(at) } else { SegmentName::after(None, at) }, size }
}

fn loose(session: &str, bytes: u64) -> Facts {
    Facts { is_held: false, loose: [(session.to_owned(), bytes)].into() }
}

fn gone(plan: &Plan) -> Vec<(Segment, RemovalReason)> {
    plan.removals.iter().map(|gone| (gone.segment.clone(), gone.why)).collect()
}

#[test]
fn old_segments_go_by_age_then_the_oldest_by_size() {
    let segments = [
        segment(100, 0, false, 5),
        segment(90, 0, false, 5),
        segment(2, 0, false, 5),
        segment(0, 0, false, 5),
    ];
    let plan = plan(&segments, None, &limits(90, 10), noon(), &mut |_| loose("s", 5));
    assert_eq!(
        gone(&plan),
        [(segments[0].clone(), RemovalReason::Age), (segments[1].clone(), RemovalReason::Size)]
    );
    assert_eq!((plan.kept, plan.kept_bytes), (2, 10));
}

#[test]
fn what_a_running_run_needs_stays_and_does_not_count() {
    let all: Vec<Segment> = [200, 4, 3, 2, 0].map(|days| segment(days, 0, false, 10)).to_vec();
    let held = [all[0].clone(), all[2].clone()];
    let mut facts = |segment: &Segment| Facts { is_held: held.contains(segment), ..loose("s", 1) };
    let plan = plan(&all, None, &limits(90, 20), noon(), &mut facts);
    assert_eq!(gone(&plan), [(all[1].clone(), RemovalReason::Size)]);
    assert_eq!((plan.kept_bytes, plan.held_bytes), (40, 20));
}

#[test]
fn by_size_goes_first_what_is_closed_into_runs_then_what_a_flood_left_then_the_oldest() {
    let all: Vec<Segment> = (1..8).rev().map(|days| segment(days, 0, false, 10)).collect();
    let mut facts = |segment: &Segment| match all.iter().position(|one| one == segment) {
        Some(2) => Facts::default(),
        Some(3 | 4) => Facts { loose: [("flood".to_owned(), 9), ("s".to_owned(), 1)].into(), is_held: false },
        _ => loose("s", 1),
    };
    let mut order = |keep| -> Vec<(usize, usize)> {
        let plan = plan(&all, None, &limits(90, keep), noon(), &mut facts);
        let place = |gone: &Removal| all.iter().position(|one| *one == gone.segment).unwrap();
        let order = plan.removals.iter().map(|gone| (place(gone), gone.only.len())).collect();
        // The newest segment, of 10 bytes, always stays.
        assert!(plan.kept_bytes <= keep.max(10));
        order
    };
    assert_eq!(order(60), [(2, 0)]);
    assert_eq!(order(35), [(0, 0), (2, 0), (3, 1), (4, 1)], "of more than half of 35 bytes the flood has 18");
    assert_eq!(order(40), [(0, 0), (1, 0), (2, 0)], "who has no more than half floods nothing");
    assert_eq!(
        order(5),
        [0, 1, 2, 3, 4, 5].map(|place| (place, 0)),
        "what is thinned goes as a whole at last"
    );
}

#[test]
fn nothing_is_asked_of_a_log_within_its_bounds() {
    let all = [segment(2, 0, false, 10), segment(1, 0, false, 10)];
    let plan = plan(&all, None, &limits(90, 20), noon(), &mut |_| panic!("it costs a reading"));
    assert_eq!((plan.removals, plan.kept), (vec![], 2));
}

/// The facts of the proptest's segments, derived from their sizes.
fn facts(segment: &Segment) -> Facts {
    Facts { is_held: segment.size.is_multiple_of(5), ..loose("s", segment.size % 3) }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn after_a_plan_the_bounds_hold_or_only_what_is_in_use_or_needed_is_left(
        drawn in proptest::collection::vec((0i64..200, 0i64..720, any::<bool>(), 0u64..100), 0..30),
        (days, size, choice) in (0u64..200, 0u64..1000, any::<prop::sample::Index>()),
    ) {
        let mut segments: Vec<Segment> = drawn.into_iter().map(|(d, m, solo, size)| segment(d, m, solo, size)).collect();
        segments.sort_by(|one, other| one.name.cmp(&other.name));
        let many: Vec<&Segment> = segments.iter().filter(|segment| !segment.name.is_single_line()).collect();
        let current = (!many.is_empty()).then(|| choice.get(&many).name.clone());
        let limits = limits(days, size);
        let plan = plan(&segments, current.as_ref(), &limits, noon(), &mut |segment| facts(segment));

        let gone = |segment: &Segment| plan.removals.iter().any(|gone| gone.segment == *segment);
        let left: Vec<&Segment> = segments.iter().filter(|segment| !gone(segment)).collect();
        prop_assert_eq!((plan.kept, plan.kept_bytes), (left.len(), left.iter().map(|s| s.size).sum()));
        prop_assert!(current.is_none() || left.iter().any(|segment| Some(&segment.name) == current.as_ref()));
        let newest = many.last().map(|segment| &segment.name);
        let in_use = |name: &SegmentName| Some(name) == current.as_ref() || Some(name) == newest
            || (name.is_single_line() && name.start() > noon() - TimeDelta::hours(1));
        prop_assert!(plan.removals.iter().all(|gone| !facts(&gone.segment).is_held));
        let is_free = |segment: &&&Segment| !in_use(&segment.name) && !facts(segment).is_held;
        let free: Vec<&&Segment> = left.iter().filter(is_free).collect();
        prop_assert!(free.iter().all(|segment| !is_over(&segment.name, &limits, noon())));
        prop_assert!(plan.kept_bytes - plan.held_bytes <= size || free.is_empty());
    }
}
