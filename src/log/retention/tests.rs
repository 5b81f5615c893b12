use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::clock::parse;
use crate::log::{self, Log};

fn noon() -> Time {
    parse("2026-02-03T12:00:00Z").unwrap()
}

fn limits(days: u64, keep_size: u64) -> config::Log {
    config::Log { keep: Duration::from_secs(days * 86_400), keep_size, ..config::Log::default() }
}

fn segment(days_ago: i64, minutes: i64, solo: bool, size: u64) -> Segment {
    let at = noon() - TimeDelta::days(days_ago) - TimeDelta::minutes(minutes);
    Segment { name: if solo { Name::solo(at) } else { Name::after(None, at) }, size }
}

#[test]
fn old_segments_go_by_age_then_the_oldest_by_size() {
    let segments = [
        segment(100, 0, false, 5),
        segment(90, 0, false, 5),
        segment(2, 0, false, 5),
        segment(0, 0, false, 5),
    ];
    let plan = plan(&segments, None, &limits(90, 10), noon());
    let gone: Vec<_> = plan.removals.iter().map(|gone| (gone.segment.clone(), gone.why)).collect();
    assert_eq!(gone, [(segments[0].clone(), Why::Age), (segments[1].clone(), Why::Size)]);
    assert_eq!((plan.kept, plan.kept_bytes), (2, 10));
}

#[test]
fn the_current_segment_is_never_deleted_whatever_the_plan_says() {
    let dir = tempfile::tempdir().unwrap();
    let log = Log::open(dir.path(), &limits(1, 0));
    let old = log.append(b"old", noon() - TimeDelta::days(9)).unwrap().segment;
    let planned = plan(&log::list(dir.path()).unwrap(), None, &limits(1, 0), noon());
    assert_eq!(planned.removals, []);
    let new = log.append(b"new", noon()).unwrap().segment;
    let segments = log::list(dir.path()).unwrap();
    let removals = segments.into_iter().map(|segment| Removal { segment, why: Why::Age }).collect();
    let exclusive = Exclusive::take(dir.path(), Duration::from_secs(60)).unwrap().unwrap();
    let pruned = apply(&Plan { removals, kept: 0, kept_bytes: 0 }, &exclusive);
    assert_eq!((pruned.count, pruned.bytes), (1, 4));
    assert!(pruned.failures.is_empty());
    let left: Vec<Name> = log::list(dir.path()).unwrap().into_iter().map(|segment| segment.name).collect();
    assert_eq!(left, std::slice::from_ref(&new));
    assert_ne!(old, new);
}

#[test]
fn while_somebody_prunes_nobody_else_may() {
    let dir = tempfile::tempdir().unwrap();
    let held = Exclusive::take(dir.path(), Duration::ZERO).unwrap();
    assert!(held.is_some());
    assert!(Exclusive::take(dir.path(), Duration::ZERO).unwrap().is_none());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn after_a_plan_the_bounds_hold_or_only_what_is_in_use_is_left(
        drawn in proptest::collection::vec((0i64..200, 0i64..720, any::<bool>(), 0u64..100), 0..30),
        (days, size, choice) in (0u64..200, 0u64..1000, any::<prop::sample::Index>()),
    ) {
        let mut segments: Vec<Segment> = drawn.into_iter().map(|(d, m, solo, size)| segment(d, m, solo, size)).collect();
        segments.sort_by(|one, other| one.name.cmp(&other.name));
        let many: Vec<&Segment> = segments.iter().filter(|segment| !segment.name.is_solo()).collect();
        let current = (!many.is_empty()).then(|| choice.get(&many).name.clone());
        let limits = limits(days, size);
        let plan = plan(&segments, current.as_ref(), &limits, noon());

        let gone = |segment: &Segment| plan.removals.iter().any(|gone| gone.segment == *segment);
        let left: Vec<&Segment> = segments.iter().filter(|segment| !gone(segment)).collect();
        prop_assert_eq!((plan.kept, plan.kept_bytes), (left.len(), left.iter().map(|s| s.size).sum()));
        prop_assert!(current.is_none() || left.iter().any(|segment| Some(&segment.name) == current.as_ref()));
        let in_use = |name: &Name| Some(name) == current.as_ref()
            || (name.is_solo() && name.start() > noon() - TimeDelta::hours(1));
        let free: Vec<&&Segment> = left.iter().filter(|segment| !in_use(&segment.name)).collect();
        prop_assert!(free.iter().all(|segment| !is_over(&segment.name, &limits, noon())));
        prop_assert!(plan.kept_bytes <= size || free.is_empty());
    }
}
