//! The activity of an agent. Only this module decides whether an agent works, is idle or has left: the [`Ledger`] of the gates
//! follows it with each hook call, and a timeline with each entry.
//!
//! [`Ledger`]: super::Ledger

use serde::Serialize;

/// The state of an agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Activity {
    Works,
    /// It approved its shutdown.
    Stops,
    /// It has joined, and had no turn yet.
    #[default]
    Here,
    #[serde(rename = "idle")]
    Idles,
    /// It left, its session ended, or its work as a subagent is done.
    Gone,
}

/// A sign of an agent's state. Signs of one moment are in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sign {
    Joins,
    StartsTurn,
    /// It changes a task or sends a message. The start of a turn is not always recorded.
    Acts,
    EndsTurn,
    ApprovesShutdown,
    Leaves,
}

impl Activity {
    /// The state after a sign; `None` for an agent that was and stays unknown. The start of a session or a roster entry
    /// does not interrupt an agent's work, and a turn can end after its agent left.
    pub fn after(before: Option<Activity>, sign: Sign) -> Option<Activity> {
        match (sign, before) {
            (Sign::Joins, None | Some(Activity::Gone)) => Some(Activity::Here),
            (Sign::StartsTurn, _) => Some(Activity::Works),
            (Sign::Acts, Some(Activity::Here | Activity::Idles)) => Some(Activity::Works),
            (Sign::EndsTurn | Sign::ApprovesShutdown, Some(Activity::Gone)) => before,
            (Sign::EndsTurn, _) => Some(Activity::Idles),
            (Sign::ApprovesShutdown, _) => Some(Activity::Stops),
            (Sign::Leaves, _) => Some(Activity::Gone),
            (Sign::Joins | Sign::Acts, _) => before,
        }
    }
}
