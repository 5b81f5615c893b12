//! The state of shipping: the segments and runs that each destination has. `teamkeep-ship` writes it; retention, `doctor` and
//! `prune` read it. And the segments that are not shipped yet, which retention keeps.
//!
//! The unit of events is a closed segment of the log, and the unit of a run's data is a run that has ended. A state that is
//! lost or damaged means that everything is sent again, in other shipments.

mod state;

use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::log::{Logs, Segment, SegmentName};
use teamkeep_config::Ship;
use teamkeep_model::time::Timestamp;
use teamkeep_system::fs::{self, Damage, JsonDocument, JsonFile};
use teamkeep_system::paths::Paths;
use teamkeep_system::process;
use teamkeep_system::store_lock::StoreLock;

pub use state::{
    Destination, DestinationId, DestinationKind, Last, RunDelivery, Shipped, ShippedLines, ShippingState,
};

const STORE_ID_CHARS: usize = 16;
/// The program that ships.
pub const PROGRAM: &str = "teamkeep-ship";
/// From this age on, no process writes to a segment of a single line any more.
const SINGLE_LINE_AGE: Duration = Duration::from_secs(60);

/// The files of shipping in the store.
#[derive(Debug, Clone)]
pub struct Shipping {
    paths: Paths,
    logs: Logs,
}

impl Shipping {
    pub fn of(paths: &Paths) -> Shipping {
        Shipping { paths: paths.clone(), logs: Logs::of(paths) }
    }

    fn file(&self) -> JsonFile<ShippingState> {
        JsonFile::at(self.paths.shipping())
    }

    /// Reads the state. A damaged file means an empty state and the damage.
    pub fn read(&self) -> io::Result<(ShippingState, Option<Damage>)> {
        Ok(match self.file().read()? {
            Ok(state) => (state.unwrap_or_default(), None),
            Err(damage) => (ShippingState::default(), Some(damage)),
        })
    }

    /// The right to ship: one process at a time. `None` if another process has it.
    pub fn lock(&self, patience: Duration) -> io::Result<Option<ShipLock>> {
        let lock = StoreLock::Shipping.take(&self.paths.store, patience)?;
        Ok(lock.map(|lock| ShipLock { shipping: self.clone(), _lock: lock }))
    }

    /// Whether a shipper runs.
    pub fn is_running(&self) -> io::Result<bool> {
        StoreLock::Shipping.is_held(&self.paths.store)
    }

    /// The file whose modification time is that of the last start by a hook.
    fn started(&self) -> PathBuf {
        self.paths.marks().join("ship-started")
    }

    /// Whether the last start by a hook was longer ago than `interval`, or in the future. Costs one system call.
    pub fn is_due(&self, interval: Duration) -> bool {
        is_older(&self.started(), interval)
    }

    /// Notes that a hook starts a shipper now. After an error, none may be started: every call would start one.
    pub fn note_start(&self) -> io::Result<()> {
        fs::write_atomic(&self.started(), b"")
    }

    fn request_path(&self) -> PathBuf {
        self.paths.marks().join("ship-requested")
    }

    /// Asks for another round of shipping, also of a shipper that runs and may not see what was just recorded.
    pub fn request(&self) -> io::Result<()> {
        fs::write_atomic(&self.request_path(), b"")
    }

    /// Whether a round was requested that has not begun. A shipper checks it after it has released its lock.
    pub fn is_requested(&self) -> bool {
        self.request_path().symlink_metadata().is_ok()
    }

    /// Whether to report a missing program: not within a day of the last report.
    pub fn should_report_missing(&self) -> bool {
        let reported = self.paths.marks().join("ship-missing");
        is_older(&reported, Duration::from_secs(86_400)) && fs::write_atomic(&reported, b"").is_ok()
    }

    /// The ID of this store in its rows: 16 random hexadecimal digits, made once. Two machines can have one host and user name. It is
    /// not in the state: a lost state must not make other runs of the same ones.
    pub fn store_id(&self) -> io::Result<String> {
        let file = self.paths.marks().join("store-id");
        let read = fs::if_exists(fs::read_regular(&file, 64))?;
        let known = read.and_then(|(bytes, _)| String::from_utf8(bytes).ok()).unwrap_or_default();
        if known.len() == STORE_ID_CHARS && known.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(known);
        }
        let new = format!("{:016x}", RandomState::new().hash_one(std::process::id()));
        fs::write_synced(&file, new.as_bytes())?;
        Ok(new)
    }

    fn removed_file(&self) -> JsonFile<RemovedUnshipped> {
        JsonFile::at(self.paths.marks().join("shipping-removed.json"))
    }

    /// The segments that retention removed before they were shipped; `None` if there were none.
    pub fn removed(&self) -> Option<RemovedUnshipped> {
        self.removed_file().known()
    }

    /// Adds segments that were removed before they were shipped.
    fn add_removed(&self, more: RemovedUnshipped) -> io::Result<()> {
        let all = match self.removed() {
            Some(before) => before.plus(more),
            None => more,
        };
        self.removed_file().write(&all)
    }

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

/// Whether a file is missing, was modified longer ago than `age`, or in the future.
fn is_older(file: &Path, age: Duration) -> bool {
    let modified = std::fs::symlink_metadata(file).and_then(|metadata| metadata.modified());
    let since = modified.ok().and_then(|time: SystemTime| time.elapsed().ok());
    since.is_none_or(|since| since >= age)
}

/// The right to ship and to change the state.
#[derive(Debug)]
pub struct ShipLock {
    shipping: Shipping,
    _lock: fs::Lock,
}

impl ShipLock {
    /// Begins a round: a request from now on needs another one, and logs that were removed are forgotten. To be called before the
    /// logs are closed.
    pub fn begin(&self) -> io::Result<()> {
        fs::allow_missing(fs_err::remove_file(self.shipping.request_path()))?;
        let logs = self.shipping.logs.all()?;
        self.update(|state| state.forget_removed(&logs)).map(drop)
    }

    /// Changes the state and writes it to disk. A damaged state is replaced.
    pub fn update(&self, change: impl FnOnce(&mut ShippingState)) -> io::Result<ShippingState> {
        let (mut state, _) = self.shipping.read()?;
        state.host.get_or_insert_with(process::host_name);
        change(&mut state);
        self.shipping.file().write_synced(&state)?;
        Ok(state)
    }
}

// Which segments retention keeps because they are not shipped yet, and which it removed all the same.

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
    /// Finds those of the closed segments, and of the others of sessions; none while `[ship]` is not configured. With a damaged
    /// state nothing is shipped.
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
    fn plus(self, more: RemovedUnshipped) -> RemovedUnshipped {
        RemovedUnshipped {
            segments: self.segments.saturating_add(more.segments),
            bytes: self.bytes.saturating_add(more.bytes),
            ..more
        }
    }
}

#[cfg(test)]
mod tests;
