//! Rounds of shipping: each sends the closed segments of the log and the ended runs that a destination does not have.

use std::time::Duration;

use teamkeep_core::error::Result;
use teamkeep_core::store::log::{self, ExclusiveLog, Head};
use teamkeep_core::store::shipping::{Destination, DestinationKind, Last, Shipping};
use teamkeep_core::sys::clock::Timestamp;

use crate::objects::Objects;
use crate::setup::{Setup, profiles};
use crate::shipper::{RoundOutcome, Shipper};
use crate::{event_objects, run_objects, run_telemetry};

/// Ships until nothing more is requested. Returns the last round; `None` if another process ships.
pub fn ship(setup: &Setup, since: Option<Timestamp>) -> Result<Option<RoundOutcome>> {
    let shipping = Shipping::of(&setup.context.paths);
    let mut last = None;
    loop {
        let Some(lock) = shipping.lock(Duration::ZERO)? else { return Ok(last) };
        let (_, damage) = shipping.read()?;
        if let Some(since) = since {
            lock.update(|state| state.set_since(&setup.context.config.ship, since))?;
        }
        let round = Shipper::new(setup, &lock).and_then(|shipper| round(&shipper));
        let error = match &round {
            Ok(round) => round.errors.first().map(ToString::to_string),
            Err(error) => Some(error.to_string()),
        };
        let at = setup.context.clock.now();
        lock.update(|state| state.last = Some(Last { at, error: error.as_deref().map(one_line) }))?;
        let mut round = round?;
        // The first change of the state has replaced it.
        round.notes.extend(damage.map(|damage| {
            format!("the state of shipping was lost: everything is sent again, and the time of --since is forgotten: {damage}")
        }));
        let failed = !round.errors.is_empty();
        last = Some(round);
        drop(lock);
        if failed || !shipping.is_requested() {
            return Ok(last);
        }
    }
}

/// Sends the data that each destination lacks. An unreachable destination does not block the others.
fn round(shipper: &Shipper<'_>) -> Result<RoundOutcome> {
    shipper.lock.begin()?;
    let head = close_segment(shipper.setup)?;
    let mut round = RoundOutcome::default();
    for destination in &shipper.destinations {
        if let Err(error) = ship_to(shipper, destination, head.as_ref(), &mut round) {
            round.errors.push(error);
        }
    }
    Ok(round)
}

fn ship_to(
    shipper: &Shipper<'_>,
    destination: &Destination,
    head: Option<&Head>,
    round: &mut RoundOutcome,
) -> Result<()> {
    match destination.kind {
        DestinationKind::ObjectStore => {
            let objects = Objects::open(&destination.address, &profiles(&shipper.setup.context.env))?;
            event_objects::ship(shipper, destination, &objects, round)?;
            let runs = run_objects::ship(shipper, destination, &objects, round);
            round.errors.extend(runs.err());
            head.map_or(Ok(()), |head| event_objects::ship_head(shipper, destination, &objects, head, round))
        }
        DestinationKind::Otlp => run_telemetry::ship(shipper, destination, round),
    }
}

/// Ends the current segment, so that its lines never change after they are sent. Returns the head of the log's hash chain, which is then
/// the end of a segment.
fn close_segment(setup: &Setup) -> Result<Option<Head>> {
    let patience = setup.context.config.log.lock_patience.max(Duration::from_secs(5));
    let log = ExclusiveLog::take(&setup.log(), patience)?;
    // The segment is sent next time if writers hold the lock as long as that.
    let Some(log) = log else { return Ok(None) };
    log.close_current(setup.context.clock.now())?;
    Ok(log::head(&setup.log()))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
