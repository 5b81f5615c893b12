//! Rounds of shipping: each sends the closed segments of the logs and the ended runs that a destination does not have.

use std::time::Duration;

use teamkeep_core::error::{Error, Result};
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
    let mut round = RoundOutcome { errors: close_segments(shipper.setup)?, ..RoundOutcome::default() };
    for destination in &shipper.destinations {
        if let Err(error) = ship_to(shipper, destination, &mut round) {
            round.errors.push(error);
        }
    }
    Ok(round)
}

fn ship_to(shipper: &Shipper<'_>, destination: &Destination, round: &mut RoundOutcome) -> Result<()> {
    match destination.kind {
        DestinationKind::ObjectStore => {
            let objects = Objects::open(&destination.address, &profiles(&shipper.setup.context))?;
            event_objects::ship(shipper, destination, &objects, round)?;
            run_objects::ship(shipper, destination, &objects, round)
        }
        DestinationKind::Otlp => run_telemetry::ship(shipper, destination, round),
    }
}

/// Closes the segments that are written to, so that their lines never change after they are sent. Returns the errors: another log can
/// be sent all the same.
fn close_segments(setup: &Setup) -> Result<Vec<Error>> {
    let patience = setup.context.config.log.lock_patience.max(Duration::from_secs(5));
    let mut errors = Vec::new();
    for log in setup.logs().all()? {
        // The segment is sent next time if writers hold the lock as long as that.
        if let Err(error) = log.close(patience) {
            errors.push(Error::caused(format!("the newest events of {} were not sent", log.owner), error));
        }
    }
    Ok(errors)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
