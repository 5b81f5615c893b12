use std::collections::BTreeMap;
use std::time::Duration;

use super::*;
use crate::archive::{Imported, RunRecord};
use crate::chain::{ChainHash, ChainPoint};
use crate::log::{EventLog, Segment, SegmentName};
use teamkeep_config::{Ship, StoreAddress};
use teamkeep_model::time::{Timestamp, parse};

fn paths(dir: &Path) -> Paths {
    Paths { store: dir.to_owned(), config: PathBuf::new(), client: None, warning: None }
}

fn shipping(dir: &Path) -> Shipping {
    Shipping::of(&paths(dir))
}

fn ship(keep_unshipped: u64) -> Ship {
    let store = StoreAddress::parse("s3://bucket").unwrap();
    Ship { store, otlp: "http://h".to_owned(), keep_unshipped, ..Ship::default() }
}

fn log(dir: &Path) -> EventLog {
    Logs::of(&paths(dir)).run("r").unwrap()
}

/// Writes a segment of ten bytes, which is so many hours old.
fn write(log: &EventLog, name: &SegmentName, hours: u64) {
    let path = log.dir().join(name.to_string());
    std::fs::create_dir_all(log.dir()).unwrap();
    std::fs::write(&path, "0123456789").unwrap();
    let file = std::fs::File::options().write(true).open(path).unwrap();
    let now = file.metadata().unwrap().modified().unwrap();
    file.set_modified(now - Duration::from_secs(hours * 3_600)).unwrap();
}

/// A log with so many closed segments of ten lines, one an hour.
fn segments(dir: &Path, count: u64) -> Vec<Segment> {
    let log = log(dir);
    for number in 1..=count {
        let end = ChainPoint { count: number * 10, hash: ChainHash::START };
        write(&log, &SegmentName::Closed(end), count - number);
    }
    log.segments().unwrap()
}

fn lock(shipping: &Shipping) -> ShipLock {
    shipping.lock(Duration::from_secs(10)).unwrap().unwrap()
}

/// Notes that a destination has a segment.
fn add_segment(right: &ShipLock, destination: &Destination, segment: &Segment) -> ShippingState {
    right.update(|state| state.add_segment(destination, segment)).unwrap()
}

#[test]
fn a_segment_is_shipped_once_the_object_store_has_it() {
    let dir = tempfile::tempdir().unwrap();
    let (shipping, ship, all) = (shipping(dir.path()), ship(1 << 30), segments(dir.path(), 3));
    let (state, damage) = shipping.read().unwrap();
    assert!(damage.is_none() && state == ShippingState::default());
    let right = lock(&shipping);
    assert!(shipping.lock(Duration::ZERO).unwrap().is_none() && shipping.is_running().unwrap());
    let destinations = right.update(|_| ()).unwrap().configured(&ship);
    let state = add_segment(&right, &destinations[0], &all[0]);
    assert_eq!(state.unshipped(&destinations[..1], &all), all[1..]);
    assert!(!state.lacks_segment(&destinations[0], &all[0]));
    assert_eq!(state.unshipped(&destinations[1..], &all), all, "the receiver has none of them");
    assert_eq!(shipping.read().unwrap().0, state);
}

#[test]
fn a_run_is_sent_again_when_it_ends_again() {
    use RunDelivery::{Excluded, NotEnded, Sent, Unsent};
    let at = |millis| Timestamp::from_millis(millis).unwrap();
    let mut run = RunRecord { run: "r".to_owned(), started_at: at(5), ..RunRecord::default() };
    let mut state = ShippingState::default();
    let mut destination = state.configured(&ship(0)).remove(0);
    let delivery = |state: &ShippingState, run: &RunRecord| state.delivery(&destination, run);
    assert_eq!(delivery(&state, &run), NotEnded);
    run.ended_at = Some(at(7));
    assert_eq!(delivery(&state, &run), Unsent);
    run.team = Some("team".to_owned());
    assert_eq!(delivery(&state, &run), Excluded, "no session took part in it");
    run.sessions.push(serde_json::from_str(r#"{"id": "s", "role": "lead"}"#).unwrap());
    state.set_since(&ship(0), at(6));
    assert_eq!(delivery(&state, &run), Excluded, "it began before that time");
    state.set_since(&ship(0), at(5));
    assert_eq!(delivery(&state, &run), Unsent);
    destination.since = Some(at(6));
    assert_eq!(state.delivery(&destination, &run), Excluded, "it began before the configured time");
    let shipped = state.destinations.entry(destination.id.clone()).or_default();
    shipped.runs.insert("r".to_owned(), 7);
    assert_eq!(state.delivery(&destination, &run), Sent);
    destination.since = None;
    run.ended_at = Some(at(9));
    assert_eq!(state.delivery(&destination, &run), Unsent);
    run.imported = Some(Imported::default());
    assert_eq!(state.delivery(&destination, &run), Excluded);
}

#[test]
fn a_segment_of_a_single_line_is_shipped_by_its_name_a_minute_after_it_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let (shipping, log, all) = (shipping(dir.path()), log(dir.path()), segments(dir.path(), 2));
    let single = |at: &str| SegmentName::single(parse(at).unwrap());
    let (old, young) = (single("2026-02-03T04:05:06Z"), single("2026-02-03T04:05:07Z"));
    write(&log, &SegmentName::Imported, 1);
    write(&log, &SegmentName::Current, 1);
    write(&log, &old, 1);
    write(&log, &young, 0);
    let names = |segments: &[Segment]| segments.iter().map(|one| one.name.clone()).collect::<Vec<_>>();
    let closed = shipping.closed_segments().unwrap();
    assert_eq!(names(&closed), [all[0].name.clone(), all[1].name.clone(), old.clone()]);
    let right = lock(&shipping);
    let destination = right.update(|_| ()).unwrap().configured(&ship(0)).remove(0);
    let lacks = |state: &ShippingState| names(&state.unshipped(std::slice::from_ref(&destination), &closed));
    let state = add_segment(&right, &destination, &closed[2]);
    assert_eq!(lacks(&state), [all[0].name.clone(), all[1].name.clone()]);
    let state = add_segment(&right, &destination, &all[1]);
    assert_eq!(lacks(&state), [], "all lines before are there");
    assert_eq!(lacks(&add_segment(&right, &destination, &all[0])), [], "the number does not decrease");
}

#[test]
fn removed_logs_are_forgotten_and_a_damaged_state_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let (shipping, all) = (shipping(dir.path()), segments(dir.path(), 2));
    let right = lock(&shipping);
    let destination = right.update(|_| ()).unwrap().configured(&ship(0)).remove(0);
    let logs = |state: &ShippingState| state.destinations[&destination.id].logs.clone();
    let sent = BTreeMap::from([("r".to_owned(), ShippedLines { lines: 20, ..ShippedLines::default() })]);
    assert_eq!(logs(&add_segment(&right, &destination, &all[1])), sent);
    let begin = || {
        right.begin().unwrap();
        logs(&right.update(|_| ()).unwrap())
    };
    std::fs::remove_file(all[0].path()).unwrap();
    assert_eq!(begin(), sent);
    std::fs::remove_dir_all(log(dir.path()).dir()).unwrap();
    assert_eq!(begin(), BTreeMap::new());
    for damaged in ["{\"v\":1,\"desti", "{\"v\":2}", "{\"v\":1,\"destinations\":{\"x\":{\"logs\":[]}}}"] {
        std::fs::write(dir.path().join("shipping.json"), damaged).unwrap();
        let (state, damage) = shipping.read().unwrap();
        assert!(damage.is_some() && state == ShippingState::default(), "{damaged}");
    }
    assert!(right.update(|_| ()).unwrap().destinations.is_empty());
    assert!(shipping.read().unwrap().1.is_none());
}

#[test]
fn the_first_host_name_is_kept() {
    let first = ShippingState { host: Some("one".to_owned()), ..ShippingState::default() };
    assert_eq!(first.host(&Ship::default()), "one");
    assert_eq!(first.host(&Ship { host: "named".to_owned(), ..Ship::default() }), "named");
}

#[test]
fn a_request_during_a_round_is_kept_for_the_next_one() {
    let dir = tempfile::tempdir().unwrap();
    let shipping = shipping(dir.path());
    assert!(!shipping.is_requested() && shipping.is_due(Duration::from_secs(900)));
    shipping.request().unwrap();
    shipping.note_start().unwrap();
    assert!(shipping.is_requested() && !shipping.is_due(Duration::from_secs(900)));
    let right = lock(&shipping);
    right.begin().unwrap();
    assert!(!shipping.is_requested());
    shipping.request().unwrap();
    drop(right);
    assert!(shipping.is_requested());
    let started = fs_err::File::options().write(true).open(shipping.started()).unwrap();
    let now = started.metadata().unwrap().modified().unwrap();
    for modified in [now - Duration::from_secs(1_000), now + Duration::from_secs(3_600)] {
        started.file().set_modified(modified).unwrap();
        assert!(shipping.is_due(Duration::from_secs(900)), "long ago, or with a clock that was set back");
    }
}

#[test]
fn the_newest_unshipped_segments_are_kept_up_to_the_limit() {
    let dir = tempfile::tempdir().unwrap();
    let all = segments(dir.path(), 5);
    let kept = |limit| {
        let found = UnshippedSegments::of(&ShippingState::default(), &ship(limit), &all);
        assert_eq!((found.count(), found.bytes()), (5, 50));
        all.iter().map(|segment| found.keeps(segment)).collect::<Vec<_>>()
    };
    assert_eq!(kept(35), [false, false, true, true, true]);
    assert_eq!((kept(50), kept(0)), (vec![true; 5], vec![false; 5]));
    write(&log(dir.path()), &SegmentName::Current, 0);
    let off = Ship { store: None, otlp: String::new(), ..ship(35) };
    let find = |ship: &Ship| UnshippedSegments::find(&shipping(dir.path()), ship).unwrap();
    assert_eq!(find(&off), UnshippedSegments::default());
    assert_eq!(find(&ship(35)).count(), 5, "not the current one");
}

#[test]
fn removed_segments_are_added_up() {
    let dir = tempfile::tempdir().unwrap();
    let (shipping, all) = (shipping(dir.path()), segments(dir.path(), 4));
    let at = parse("2026-02-03T04:05:06Z").unwrap();
    let unshipped = UnshippedSegments::of(&ShippingState::default(), &ship(10), &all);
    let note = |removed: &[Segment]| unshipped.note_removed(&shipping, removed, at).unwrap();
    assert_eq!((note(&all[3..]), shipping.removed()), (None, None), "it is not beyond the limit");
    assert_eq!(note(&all[..2]).map(|removed| (removed.segments, removed.bytes)), Some((2, 20)));
    assert_eq!(note(&all[2..]).map(|removed| (removed.segments, removed.bytes)), Some((1, 10)));
    let removed = shipping.removed().unwrap();
    assert_eq!(removed, RemovedUnshipped { v: 1, at, segments: 3, bytes: 30 });
    let damaged = RemovedUnshipped { segments: u64::MAX, bytes: u64::MAX, ..removed.clone() };
    shipping.removed_file().write(&damaged).unwrap();
    shipping.add_removed(removed).unwrap();
    assert_eq!(shipping.removed(), Some(damaged));
}
