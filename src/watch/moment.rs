//! The state of a run at a time.

use crate::report::{BurnRate, Severity};
use crate::status::{AgentState, Board};
use teamkeep_core::sys::clock::Timestamp;

#[derive(Debug)]
pub struct Moment {
    pub at: Timestamp,
    /// Whether it is the end of the run, or now.
    pub is_end: bool,
    /// The agents are sorted, worst first.
    pub board: Board,
    pub alerts: Vec<Alert>,
    pub burn: Option<BurnRate>,
    /// Number of the messages that were sent until then.
    pub messages: usize,
}

/// An incident that has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alert {
    /// Its place in the report's incidents.
    pub place: usize,
    pub id: String,
    pub severity: Severity,
    /// Whether it has ended since.
    pub is_over: bool,
}

impl Moment {
    /// Number of incidents of this severity that last.
    pub fn lasting(&self, severity: Severity) -> usize {
        self.alerts.iter().filter(|alert| !alert.is_over && alert.severity == severity).count()
    }

    pub fn over(&self) -> usize {
        self.alerts.iter().filter(|alert| alert.is_over).count()
    }

    /// Number of agents that need attention.
    pub fn attention(&self) -> usize {
        self.board.members.iter().filter(|member| member.state.needs_attention()).count()
    }

    /// Number of agents in each state that some are in, worst first.
    pub fn states(&self) -> Vec<(AgentState, usize)> {
        let counts = AgentState::ALL.map(|state| (state, self.board.count(state)));
        counts.into_iter().filter(|(_, count)| *count > 0).collect()
    }
}
