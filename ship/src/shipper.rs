//! The state that the parts of a round of shipping share, and its outcome.

use teamkeep_core::error::{Error, Result};
use teamkeep_core::store::log::Segment;
use teamkeep_core::store::shipping::{Destination, ShipLock, Shipping, ShippingState};

use crate::identity::Identity;
use crate::setup::Setup;

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
pub struct RoundOutcome {
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

    /// The state of shipping, as the last update left it.
    pub fn state(&self) -> Result<ShippingState> {
        Ok(Shipping::of(&self.setup.context.paths).read().map(|(state, _)| state)?)
    }
}

/// The closed segments that the store does not have, the oldest of each log first.
pub fn unshipped_segments(
    setup: &Setup,
    state: &ShippingState,
    destination: &Destination,
) -> Result<Vec<Segment>> {
    let closed = Shipping::of(&setup.context.paths).closed_segments()?;
    Ok(closed.into_iter().filter(|segment| state.lacks_segment(destination, segment)).collect())
}
