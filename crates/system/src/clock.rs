//! The clock, read in one place.

use chrono::Utc;
use teamkeep_model::time::{Timestamp, parse};

#[derive(Debug, Clone, Copy, Default)]
pub struct Clock {
    pinned: Option<Timestamp>,
}

impl Clock {
    /// The system's clock, or with `pinned` (RFC 3339) this fixed time.
    pub fn new(pinned: Option<&str>) -> Clock {
        Clock { pinned: pinned.and_then(parse) }
    }

    pub fn at(time: Timestamp) -> Clock {
        Clock { pinned: Some(time) }
    }

    #[allow(clippy::disallowed_methods, reason = "the one place that reads the clock")]
    pub fn now(&self) -> Timestamp {
        self.pinned.unwrap_or_else(|| Utc::now().into())
    }
}

/// The clock that the disk stamps files with, in nanoseconds since 1970. It cannot be pinned.
#[allow(clippy::disallowed_methods, reason = "the one place that reads the clock")]
pub fn file_time() -> i64 {
    Utc::now().timestamp_nanos_opt().unwrap_or(i64::MAX)
}
