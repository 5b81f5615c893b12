//! What is not shipped is kept, up to a limit.

use std::time::{Duration, SystemTime};

use serde_json::json;
use teamkeep_store::log::{Segment, SegmentName};
use teamkeep_store::shipping::{Shipped, ShippingState};

use super::ship_sandbox::{SESSION, SHIP, ShipSandbox};
use crate::support::client_files::Lead;
use crate::support::sandbox::feed;

const SMALL: &str = "[log]\nlock-patience = \"5m\"\nsegment-size = \"4 KiB\"\nkeep-size = \"1 B\"\n";

/// A log of this many segments of a session without a team, one an hour; the last one is current.
fn with_segments(count: usize) -> ShipSandbox {
    let ship = ShipSandbox::bare();
    ship.sandbox.configure(SMALL);
    for number in 0..count {
        let prompt = format!("{number}{}", "x".repeat(4_000));
        ship.hook("UserPromptSubmit", json!({"prompt": prompt}));
    }
    let all = segments(&ship);
    assert_eq!(all.len(), count);
    // Retention goes by the time of a file.
    for (age, segment) in all.iter().rev().enumerate() {
        let file = std::fs::File::options().write(true).open(segment.path()).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(age as u64 * 3_600)).unwrap();
    }
    ship
}

fn segments(ship: &ShipSandbox) -> Vec<Segment> {
    ship.sandbox.logs().segments()
}

fn names(segments: &[Segment]) -> Vec<SegmentName> {
    segments.iter().map(|segment| segment.name.clone()).collect()
}

/// Notes that the object store has these segments.
fn ship_segments(ship: &ShipSandbox, segments: &[&Segment]) {
    // It takes the lock itself.
    let destination = ship.destination();
    let right = ship.shipping().lock(Duration::from_secs(60)).unwrap().unwrap();
    let add = |state: &mut ShippingState| {
        segments.iter().for_each(|segment| state.add_segment(&destination, segment));
    };
    right.update(add).unwrap();
}

fn finish(ship: &ShipSandbox, more: &str) -> String {
    ship.sandbox.configure(&format!("{SMALL}{SHIP}{more}"));
    ship.run(&["finish"]);
    ship.sandbox.diagnostics()
}

#[test]
fn segments_are_kept_until_every_destination_has_them() {
    let ship = with_segments(6);
    let all = segments(&ship);
    finish(&ship, "");
    assert_eq!(names(&segments(&ship)), names(&all));
    ship_segments(&ship, &[&all[0], &all[1], &all[2]]);
    finish(&ship, "otlp = \"http://127.0.0.1:9\"\n");
    assert_eq!(names(&segments(&ship)), names(&all), "the receiver has none of them");
    finish(&ship, "");
    assert_eq!(names(&segments(&ship)), names(&all[3..]));
    assert_eq!(ship.shipping().removed(), None);
    let pruned = ship.run(&["prune", "--yes"]);
    assert_eq!((pruned.code, segments(&ship).len()), (Some(0), 3), "{}", pruned.out);
    ship.sandbox.configure(SMALL);
    ship.run(&["finish"]);
    assert_eq!(names(&segments(&ship)), names(&all[5..]), "without [ship] the limits of the log apply");
}

#[test]
fn the_oldest_are_removed_beyond_the_limit_which_is_reported() {
    let ship = with_segments(6);
    let all = segments(&ship);
    let noted = finish(&ship, "keep-unshipped = \"9 KiB\"\n");
    assert!(noted.contains("1 MiB of the logs were removed before they were shipped"), "{noted}");
    // The one that is written to is not shipped either.
    assert_eq!(names(&segments(&ship)), names(&all[4..]));
    let removed = ship.shipping().removed().unwrap();
    let bytes = all[..4].iter().map(|segment| segment.size).sum();
    assert_eq!((removed.segments, removed.bytes), (4, bytes));
    let doctor = ship.run(&["doctor", "--verbose"]).out;
    assert!(doctor.contains("4 log segments were removed before they were shipped"), "{doctor}");
    finish(&ship, "keep-unshipped = \"9 KiB\"\n");
    assert_eq!(ship.shipping().removed().unwrap().segments, 4, "once more changes nothing");
}

#[test]
fn a_damaged_state_means_that_nothing_is_shipped() {
    let ship = with_segments(3);
    let all = segments(&ship);
    ship_segments(&ship, &[&all[0]]);
    let state = ship.sandbox.keep("shipping.json");
    let whole = std::fs::read_to_string(&state).unwrap();
    std::fs::write(&state, &whole[..whole.len() / 2]).unwrap();
    finish(&ship, "");
    assert_eq!(names(&segments(&ship)), names(&all));
    std::fs::write(&state, whole).unwrap();
    finish(&ship, "");
    assert_eq!(names(&segments(&ship)), names(&all[1..]));
}

#[test]
fn prune_mentions_runs_that_are_not_shipped_and_deletes_them() {
    let ship = ShipSandbox::bare();
    ship.sandbox.configure(SHIP);
    let lead = Lead::of(&ship.sandbox, SESSION);
    lead.roster(1_000, &["alice"]);
    let hook = |event: &str, fields| {
        feed(&mut ship.command(&["hook"]), lead.payload(event, fields).to_string().as_bytes());
    };
    hook("SessionStart", json!({"source": "startup"}));
    lead.erase();
    hook("SessionEnd", json!({"reason": "other"}));
    ship.sandbox.finish();
    let run = ship.sandbox.library().runs[0].clone();
    let dry = ship.run(&["prune", "--keep", "0", "--dry-run"]);
    assert!(dry.out.contains("1 run not shipped;"), "{}{}", dry.out, dry.err);
    let destination = ship.destination();
    let right = ship.shipping().lock(Duration::from_secs(60)).unwrap().unwrap();
    let ended = run.ended_at.unwrap().millis();
    let dry_after = |change: &dyn Fn(&mut Shipped)| {
        right.update(|state| change(state.destinations.entry(destination.id.clone()).or_default())).unwrap();
        ship.run(&["prune", "--keep", "0", "--dry-run"]).out
    };
    let dry = dry_after(&|shipped| {
        shipped.runs.insert(run.run.clone(), ended);
    });
    assert!(!dry.contains("not shipped"), "{dry}");
    assert_eq!(ship.run(&["prune", "--keep", "0", "--yes"]).code, Some(0));
    assert!(ship.sandbox.library().runs.is_empty());
}
