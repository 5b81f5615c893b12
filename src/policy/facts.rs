//! The facts that a gate can use. The recorder collects them at a hook call, the backtest from recorded data.

use super::TeamState;
use crate::event::Actor;
use crate::payload::{Kind, Payload};

/// The event that is judged.
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    /// Its id in the log.
    pub id: &'a str,
    /// RFC 3339.
    pub at: &'a str,
    /// The event's kind.
    pub kind: Kind,
    /// The session.
    pub session: Option<&'a str>,
    /// The actor, as far as known. It is a label and never grants a right.
    pub actor: &'a Actor,
    /// The payload.
    pub payload: &'a Payload,
}

/// Everything that a gate can use.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The event.
    pub event: Judged<'a>,
    /// The team.
    pub team: &'a TeamState,
}
