//! Which segments retention keeps because they are not shipped yet, and which it removed all the same.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Shipping, ShippingState};
use crate::log::{Segment, SegmentName};
use teamkeep_config::Ship;
use teamkeep_model::time::Timestamp;
use teamkeep_system::fs::JsonDocument;

/// From this age on, no process writes to a segment of a single line any more.
const SINGLE_LINE_AGE: Duration = Duration::from_secs(60);

impl Shipping {
    /// The segments that do not change any more, the oldest of each log first. Those of imported runs are not shipped.
    pub fn closed_segments(&self) -> io::Result<Vec<Segment>> {
        let mut closed = Vec::new();
        for log in self.logs.all()? {
            closed.extend(log.segments()?);
        }
        closed.retain(|segment| match segment.name {
            SegmentName::Closed(_) => true,
            SegmentName::Current | SegmentName::Imported => false,
            SegmentName::Single(_) => segment.age() > SINGLE_LINE_AGE,
        });
        Ok(closed)
    }
}

/// The segments that some destination does not have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnshippedSegments {
    /// The newest, up to `ship.keep-unshipped`: retention keeps them.
    kept: BTreeSet<PathBuf>,
    kept_bytes: u64,
    /// Older ones, for which the limit has no room.
    beyond: BTreeSet<PathBuf>,
    beyond_bytes: u64,
}

impl UnshippedSegments {
    /// Finds those of the closed segments, and of the others of sessions; none while `[ship]` is not configured. With a damaged state nothing is shipped.
    pub fn find(shipping: &Shipping, ship: &Ship) -> io::Result<UnshippedSegments> {
        if !ship.is_configured() {
            return Ok(UnshippedSegments::default());
        }
        let (state, _) = shipping.read()?;
        let mut segments = shipping.closed_segments()?;
        // Without a shipper, the others are not closed.
        for log in shipping.logs.of_sessions()? {
            let current = log.segments()?.into_iter();
            segments.extend(current.filter(|one| one.name == SegmentName::Current && one.size > 0));
        }
        Ok(UnshippedSegments::of(&state, ship, &segments))
    }

    pub fn of(state: &ShippingState, ship: &Ship, segments: &[Segment]) -> UnshippedSegments {
        let mut unshipped = state.unshipped(&state.configured(ship), segments);
        unshipped.sort_by_key(|segment| segment.modified);
        let mut found = UnshippedSegments::default();
        for segment in unshipped.into_iter().rev() {
            let (path, size) = (segment.path(), segment.size);
            // Without gaps: segments older than one that is given up are given up, too.
            if found.beyond.is_empty() && found.kept_bytes.saturating_add(size) <= ship.keep_unshipped {
                found.kept_bytes += size;
                found.kept.insert(path);
            } else {
                found.beyond_bytes += size;
                found.beyond.insert(path);
            }
        }
        found
    }

    /// Whether retention keeps a segment.
    pub fn keeps(&self, segment: &Segment) -> bool {
        self.kept.contains(&segment.path())
    }

    /// Notes which of these segments were removed although they are not shipped.
    pub fn note_removed(
        &self,
        shipping: &Shipping,
        removed: &[Segment],
        now: Timestamp,
    ) -> io::Result<Option<RemovedUnshipped>> {
        let lost = removed.iter().filter(|segment| self.beyond.contains(&segment.path()));
        let (segments, bytes) = lost.fold((0, 0), |(count, bytes), one| (count + 1, bytes + one.size));
        if segments == 0 {
            return Ok(None);
        }
        let removed = RemovedUnshipped { v: 1, at: now, segments, bytes };
        shipping.add_removed(removed.clone())?;
        Ok(Some(removed))
    }

    pub fn count(&self) -> usize {
        self.kept.len() + self.beyond.len()
    }

    pub fn bytes(&self) -> u64 {
        self.kept_bytes + self.beyond_bytes
    }
}

/// `marks/shipping-removed.json`: the segments that were removed before they were shipped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemovedUnshipped {
    /// Format version: 1.
    pub v: u32,
    /// The time of the last removal.
    pub at: Timestamp,
    pub segments: u64,
    pub bytes: u64,
}

impl JsonDocument for RemovedUnshipped {
    fn check(&self) -> Result<(), String> {
        if self.v == 1 { Ok(()) } else { Err(format!("unknown version {}", self.v)) }
    }
}

impl RemovedUnshipped {
    pub(super) fn plus(self, more: RemovedUnshipped) -> RemovedUnshipped {
        RemovedUnshipped {
            segments: self.segments.saturating_add(more.segments),
            bytes: self.bytes.saturating_add(more.bytes),
            ..more
        }
    }
}
