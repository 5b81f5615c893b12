//! Which segments retention keeps because they are not shipped yet, and which it removed all the same.

use std::collections::BTreeSet;
use std::io;

use serde::{Deserialize, Serialize};

use super::{Shipping, ShippingState};
use crate::config::Ship;
use crate::store::log::{Segment, SegmentName, closed_segments};
use crate::sys::clock::Timestamp;
use crate::sys::fs::{Document, Layout};

/// The segments that some destination does not have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnshippedSegments {
    /// The newest, up to `ship.keep-unshipped`: retention keeps them.
    pub kept: BTreeSet<SegmentName>,
    pub kept_bytes: u64,
    /// Older ones, for which the limit has no room.
    pub beyond: BTreeSet<SegmentName>,
    pub beyond_bytes: u64,
}

impl UnshippedSegments {
    /// Finds those of the closed segments; none while `[ship]` is not configured. With a damaged state nothing is shipped.
    pub fn find(shipping: &Shipping, ship: &Ship, now: Timestamp) -> io::Result<UnshippedSegments> {
        if !ship.is_configured() {
            return Ok(UnshippedSegments::default());
        }
        let (state, _) = shipping.read()?;
        Ok(UnshippedSegments::of(&state, ship, &closed_segments(&shipping.log, now)?))
    }

    pub fn of(state: &ShippingState, ship: &Ship, segments: &[Segment]) -> UnshippedSegments {
        let mut unshipped = state.unshipped(&state.configured(ship), segments);
        unshipped.sort_by(|one, other| other.name.cmp(&one.name));
        let mut found = UnshippedSegments::default();
        for Segment { name, size } in unshipped {
            // Without gaps: segments older than one that is given up are given up, too.
            if found.beyond.is_empty() && found.kept_bytes.saturating_add(size) <= ship.keep_unshipped {
                found.kept_bytes += size;
                found.kept.insert(name);
            } else {
                found.beyond_bytes += size;
                found.beyond.insert(name);
            }
        }
        found
    }

    /// Notes which of these segments, planned for removal, were removed or shortened although they are not shipped. The caller
    /// holds the lock of retention.
    pub fn note_removed(
        &self,
        shipping: &Shipping,
        planned: &[&Segment],
        now: Timestamp,
    ) -> io::Result<Option<RemovedUnshipped>> {
        let lost = |segment: &&&Segment| {
            let size = segment.path(&shipping.log).symlink_metadata().map_or(0, |metadata| metadata.len());
            let size = segment.size.saturating_sub(size);
            (size > 0).then(|| Segment { name: segment.name.clone(), size })
        };
        let unshipped = planned.iter().filter(|segment| self.beyond.contains(&segment.name));
        let removed: Vec<Segment> = unshipped.filter_map(|segment| lost(&segment)).collect();
        let removed = RemovedUnshipped::of(&removed, now);
        removed.iter().try_for_each(|removed| shipping.add_removed(removed.clone()))?;
        Ok(removed)
    }

    pub fn count(&self) -> usize {
        self.kept.len() + self.beyond.len()
    }

    pub fn bytes(&self) -> u64 {
        self.kept_bytes + self.beyond_bytes
    }
}

/// `ship/removed.json`: the segments that were removed before they were shipped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemovedUnshipped {
    /// Format version: 1.
    pub v: u32,
    /// The time of the last removal.
    pub at: Timestamp,
    pub segments: u64,
    pub bytes: u64,
    pub oldest: SegmentName,
    pub newest: SegmentName,
}

impl Document for RemovedUnshipped {
    const MAX_BYTES: u64 = 64 << 10;
    const LAYOUT: Layout = Layout::Line;

    fn check(&self) -> Result<(), String> {
        if self.v == 1 { Ok(()) } else { Err(format!("unknown version {}", self.v)) }
    }
}

impl RemovedUnshipped {
    /// The sum of these segments; `None` if there are none.
    pub fn of(segments: &[Segment], at: Timestamp) -> Option<RemovedUnshipped> {
        let names = || segments.iter().map(|segment| segment.name.clone());
        let bytes = segments.iter().map(|segment| segment.size).sum();
        let (oldest, newest) = (names().min()?, names().max()?);
        Some(RemovedUnshipped { v: 1, at, segments: segments.len() as u64, bytes, oldest, newest })
    }

    pub(super) fn plus(self, more: RemovedUnshipped) -> RemovedUnshipped {
        RemovedUnshipped {
            segments: self.segments.saturating_add(more.segments),
            bytes: self.bytes.saturating_add(more.bytes),
            oldest: self.oldest.min(more.oldest),
            newest: self.newest.max(more.newest),
            ..more
        }
    }
}
