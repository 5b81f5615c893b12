//! Rounds of shipping: each sends the closed segments of the logs and the ended runs that a destination does not have.

use std::time::Duration;
use teamkeep_model::time::Timestamp;
use teamkeep_model::words::one_line;
use teamkeep_store::shipping::{Last, ShipLock, Shipping};
use teamkeep_system::error::{Error, Result};

use crate::delivery::Delivery;
use crate::part::RoundOutcome;
use crate::selection::ExcludedLogs;
use crate::setup::Setup;
use crate::shipment::Shipper;

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
        let round = round(setup, &lock);
        let error = match &round {
            Ok(round) => round.errors.first(),
            Err(error) => Some(error),
        };
        let last_round = Last {
            at: setup.context.clock.now(),
            error: error.map(|error| one_line(&error.to_string())),
            failed: error.and_then(Error::action).map(one_line),
        };
        lock.update(|state| state.last = Some(last_round))?;
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
fn round(setup: &Setup, lock: &ShipLock) -> Result<RoundOutcome> {
    lock.begin()?;
    let state = lock.update(|_| ())?;
    let identity = setup.identity(&state)?;
    let mut round = RoundOutcome { errors: close_segments(setup)?, ..RoundOutcome::default() };
    let excluded = ExcludedLogs::of(setup, &mut round)?;
    for destination in &state.configured(&setup.context.config.ship) {
        let now = setup.context.clock.now();
        let shipper =
            Shipper { setup, lock: Some(lock), destination, identity: &identity, excluded: &excluded, now };
        let shipped = Delivery::to(setup, destination).and_then(|mut delivery| {
            let shipped = shipper.ship(&state, &mut delivery, &mut round);
            round.notes.extend(delivery.notes());
            shipped
        });
        round.errors.extend(shipped.err());
    }
    Ok(round)
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
