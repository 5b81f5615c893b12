//! Rows that are delivered together, and the outcome of a round that delivers them.

use std::ops::AddAssign;

use teamkeep_model::time::Timestamp;
use teamkeep_system::error::{Error, Result};

use crate::rows::day;
use crate::setup::Identity;

/// Rows, each with a line break.
pub struct Part<'a> {
    pub lines: &'a [u8],
    /// The time of the shipment.
    pub at: Timestamp,
    pub identity: &'a Identity,
}

/// How many hexadecimal digits of the content's hash are in the name of an object.
const HASH_CHARS: usize = 16;
impl Part<'_> {
    /// The name of the object with these rows. It has the hash of the rows, so an object with this name has these rows.
    pub fn object_name(&self) -> String {
        let Identity { organization, host, .. } = self.identity;
        let (day, time) = (day(self.at), compact(self.at));
        let hash = blake3::hash(self.lines).to_hex();
        format!("rows/org={organization}/date={day}/host={host}/{time}-{}.jsonl.gz", &hash[..HASH_CHARS])
    }
}

/// A time as a name, such as `20261120T120000123Z`.
pub fn compact(at: Timestamp) -> String {
    at.utc().format("%Y%m%dT%H%M%S%3fZ").to_string()
}

/// A destination, or a preview.
pub trait Deliver {
    /// Delivers the rows and returns the number of bytes that were sent. After an error, some of them can have been delivered.
    fn deliver(&mut self, part: &Part<'_>) -> Result<u64>;
}

/// The data that a round has sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sent {
    pub events: usize,
    /// Lines that are not events.
    pub damaged: usize,
    pub runs: usize,
    pub rows: usize,
    /// The size of the parts as they were sent.
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

impl AddAssign for Sent {
    fn add_assign(&mut self, more: Sent) {
        self.events += more.events;
        self.damaged += more.damaged;
        self.runs += more.runs;
        self.rows += more.rows;
        self.bytes += more.bytes;
    }
}
