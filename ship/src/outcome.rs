//! The outcome of a round.

use std::ops::AddAssign;

use teamkeep_system::error::Error;

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
