//! One round of shipping: the closed segments of the log and the ended runs that a destination does not have.

use std::time::Duration;

use teamkeep_core::error::{Error, Result};
use teamkeep_core::store::log::{self, ExclusiveLog, Head, Segment};
use teamkeep_core::store::shipping::{Destination, DestinationKind, Last, ShipLock, Shipping, ShippingState};
use teamkeep_core::sys::clock::Timestamp;

use crate::event_shipping;
use crate::identity::Identity;
use crate::objects::Objects;
use crate::receiver_shipping;
use crate::run_shipping;
use crate::setup::{Setup, profiles};

/// The data that a round has sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sent {
    pub segments: usize,
    pub events: usize,
    /// Lines that are not events.
    pub damaged: usize,
    pub runs: usize,
    /// Objects that were not there before, and their size.
    pub objects: usize,
    pub bytes: u64,
}

/// The outcome of a round: the data that was sent, and the reasons why not everything was.
#[derive(Debug, Default)]
pub struct Round {
    pub sent: Sent,
    pub errors: Vec<Error>,
    /// Problems that do not keep anything from being sent.
    pub notes: Vec<String>,
}

/// The state that the parts of a round share.
pub struct Shipper<'a> {
    pub setup: &'a Setup,
    pub lock: &'a ShipLock,
    pub runtime: tokio::runtime::Runtime,
    pub identity: Identity,
    pub destinations: Vec<Destination>,
}

impl<'a> Shipper<'a> {
    pub fn new(setup: &'a Setup, lock: &'a ShipLock) -> Result<Shipper<'a>> {
        let state = lock.update(|_| ())?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Shipper {
            identity: setup.identity(&state)?,
            destinations: state.configured(&setup.context.config.ship),
            setup,
            lock,
            runtime,
        })
    }

    /// Sends the data that each destination lacks. One that is out of reach does not keep the other from getting its data.
    pub fn round(&self) -> Result<Round> {
        self.lock.begin()?;
        let head = self.close_segment()?;
        let mut round = Round::default();
        for destination in &self.destinations {
            if let Err(error) = self.ship_to(destination, head.as_ref(), &mut round) {
                round.errors.push(error);
            }
        }
        Ok(round)
    }

    /// The state of shipping, as the last update left it.
    pub fn state(&self) -> Result<ShippingState> {
        Ok(Shipping::of(&self.setup.context.paths).read().map(|(state, _)| state)?)
    }

    /// Ends the current segment, so that its lines never change after they are sent. Returns the head of the log's hash chain, which is then
    /// the end of a segment.
    fn close_segment(&self) -> Result<Option<Head>> {
        let patience = self.setup.context.config.log.lock_patience.max(Duration::from_secs(5));
        let log = ExclusiveLog::take(&self.setup.log(), patience)?;
        // The segment is sent next time if writers hold the lock as long as that.
        let Some(log) = log else { return Ok(None) };
        log.close_current(self.setup.context.clock.now())?;
        Ok(log::head(&self.setup.log()))
    }

    fn ship_to(&self, destination: &Destination, head: Option<&Head>, round: &mut Round) -> Result<()> {
        match destination.kind {
            DestinationKind::Store => {
                let objects = Objects::open(&destination.address, &profiles(&self.setup.context.env))?;
                event_shipping::ship(self, destination, &objects, round)?;
                event_shipping::ship_head(self, &objects, head, round)?;
                run_shipping::to_objects(self, destination, &objects, round)
            }
            DestinationKind::Otlp => receiver_shipping::ship(self, destination, round),
        }
    }
}

/// The closed segments that the store does not have, oldest first.
pub fn unshipped_segments(
    setup: &Setup,
    state: &ShippingState,
    destination: &Destination,
) -> Result<Vec<Segment>> {
    let closed = log::closed_segments(&setup.log(), setup.context.clock.now())?;
    Ok(closed.into_iter().filter(|segment| state.lacks_segment(&destination.id, segment)).collect())
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Ships until nothing more is requested. Returns the last round; `None` if another process ships.
pub fn ship(setup: &Setup, since: Option<Timestamp>) -> Result<Option<Round>> {
    let shipping = Shipping::of(&setup.context.paths);
    let mut last = None;
    loop {
        let Some(lock) = shipping.lock(Duration::ZERO)? else { return Ok(last) };
        let (_, damage) = shipping.read()?;
        if let Some(since) = since {
            lock.update(|state| state.set_since(&setup.context.config.ship, since))?;
        }
        let round = Shipper::new(setup, &lock).and_then(|shipper| shipper.round());
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
