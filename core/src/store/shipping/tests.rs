use std::time::Duration;

use super::*;
use crate::config::{Ship, StoreAddress};
use crate::store::archive::{Imported, RunRecord};
use crate::store::log::Segment;
use crate::sys::clock::{Timestamp, parse};

fn shipping(dir: &Path) -> Shipping {
    Shipping { dir: dir.join("ship"), log: dir.join("log") }
}

fn ship(keep_unshipped: u64) -> Ship {
    let store = StoreAddress::parse("s3://bucket").unwrap();
    Ship { store, otlp: "http://h".to_owned(), keep_unshipped, ..Ship::default() }
}

/// Segments of ten bytes, one a day.
fn segments(dir: &Path, count: u32) -> Vec<Segment> {
    std::fs::create_dir_all(dir.join("log")).unwrap();
    let names = (1..=count).map(|day| format!("2026-02-{day:02}T000000000Z-aaaaaaaa.jsonl"));
    for name in names {
        std::fs::write(dir.join("log").join(name), "0123456789").unwrap();
    }
    log::list(&dir.join("log")).unwrap()
}

fn lock(shipping: &Shipping) -> ShipLock {
    shipping.lock(Duration::from_secs(10)).unwrap().unwrap()
}

/// Notes that a destination has a segment.
fn add_segment(right: &ShipLock, id: &DestinationId, segment: &Segment) -> ShippingState {
    let add = |state: &mut ShippingState| {
        state.destinations.entry(id.clone()).or_default().segments.insert(segment.name.clone());
    };
    right.update(add).unwrap()
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
    let state = add_segment(&right, &destinations[0].id, &all[0]);
    assert_eq!(state.unshipped(&destinations, &all), all[1..]);
    assert!(!state.lacks_segment(&destinations[0], &all[0]));
    assert_eq!(state.unshipped(&destinations[1..], &all), [], "a receiver gets no events");
    assert_eq!(shipping.read().unwrap().0, state);
}

#[test]
fn a_run_is_sent_again_when_it_ends_again() {
    use RunDelivery::{Excluded, NotEnded, Sent, TooLarge, Unsent};
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
    let shipped = state.destinations.entry(destination.id.clone()).or_default();
    shipped.too_large.insert("r".to_owned(), 7);
    assert_eq!(delivery(&state, &run), TooLarge);
    run.ended_at = Some(at(8));
    assert_eq!(delivery(&state, &run), Unsent, "it can be smaller now");
    state.set_since(&ship(0), at(6));
    assert_eq!(delivery(&state, &run), Excluded, "it began before that time");
    state.set_since(&ship(0), at(5));
    assert_eq!(delivery(&state, &run), Unsent);
    destination.since = Some(at(6));
    assert_eq!(state.delivery(&destination, &run), Excluded, "it began before the configured time");
    let shipped = state.destinations.entry(destination.id.clone()).or_default();
    shipped.runs.insert("r".to_owned(), 8);
    assert_eq!(state.delivery(&destination, &run), Sent);
    destination.since = None;
    run.ended_at = Some(at(9));
    assert_eq!(state.delivery(&destination, &run), Unsent);
    run.imported = Some(Imported::default());
    assert_eq!(state.delivery(&destination, &run), Excluded);
}

#[test]
fn removed_segments_are_forgotten_and_a_damaged_state_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let (shipping, all) = (shipping(dir.path()), segments(dir.path(), 2));
    let right = lock(&shipping);
    let id = right.update(|_| ()).unwrap().configured(&ship(0))[0].id.clone();
    add_segment(&right, &id, &all[0]);
    let first = add_segment(&right, &id, &all[1]);
    assert_eq!(first.destinations[&id].segments.len(), 2);
    std::fs::remove_file(all[0].path(&dir.path().join("log"))).unwrap();
    assert_eq!(right.update(|_| ()).unwrap().destinations[&id].segments.len(), 1);
    for damaged in
        ["{\"v\":1,\"desti", "{\"v\":2}", "{\"v\":1,\"destinations\":{\"x\":{\"segments\":[\"../y\"]}}}"]
    {
        std::fs::write(dir.path().join("ship/state.json"), damaged).unwrap();
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
    let of = |limit| UnshippedSegments::of(&ShippingState::default(), &ship(limit), &all);
    let found = of(35);
    assert_eq!((found.kept_bytes, found.beyond_bytes), (30, 20));
    assert!(found.kept.contains(&all[2].name) && found.beyond.contains(&all[1].name));
    assert_eq!((of(50).beyond.len(), of(0).kept.len()), (0, 0));
    let off = Ship { store: None, otlp: String::new(), ..ship(35) };
    let now = parse("2026-03-01T00:00:00Z").unwrap();
    let find = |ship: &Ship| UnshippedSegments::find(&shipping(dir.path()), ship, now).unwrap();
    assert_eq!(find(&off), UnshippedSegments::default());
    assert_eq!(find(&ship(35)).count(), 4, "the newest is current");
}

#[test]
fn removed_segments_are_added_up() {
    let dir = tempfile::tempdir().unwrap();
    let (shipping, all) = (shipping(dir.path()), segments(dir.path(), 3));
    let at = parse("2026-02-03T04:05:06Z").unwrap();
    assert_eq!((shipping.removed(), RemovedUnshipped::of(&[], at)), (None, None));
    shipping.add_removed(RemovedUnshipped::of(&all[..2], at).unwrap()).unwrap();
    shipping.add_removed(RemovedUnshipped::of(&all[2..], at).unwrap()).unwrap();
    let removed = shipping.removed().unwrap();
    assert_eq!((removed.segments, removed.bytes), (3, 30));
    assert_eq!((&removed.oldest, &removed.newest), (&all[0].name, &all[2].name));
    let damaged = RemovedUnshipped { segments: u64::MAX, bytes: u64::MAX, ..removed.clone() };
    shipping.removed_file().write(&damaged).unwrap();
    shipping.add_removed(removed).unwrap();
    assert_eq!(shipping.removed(), Some(damaged));
}
