//! One file for each gate. A gate with mode "off" is not evaluated.

pub mod completion_check;
mod idle_teammate;
mod idle_with_work;
mod is_working;
mod lead_stops_early;
pub(super) mod premature_shutdown;
mod protect_lead;
mod report_before_idle;
pub mod rules;
mod shutdown_request;
mod team_size;
pub mod undecided;
mod unfinished_dependencies;
pub mod unreadable;

use super::{Case, Facts, Finding, Reason};
use crate::config::{Mode, Policy};
use crate::event::{ActorKind, LEAD};

/// The gate for shutdowns.
pub const PREMATURE_SHUTDOWN: &str = "premature-shutdown";
/// The gate that runs commands.
pub const COMPLETION_CHECK: &str = "completion-check";

/// A gate: its mode, and its finding for the facts.
type Gate = (fn(&Policy) -> Mode, fn(&Policy, &Case<'_>) -> Option<Finding>);

/// The gates in order of evaluation.
pub(super) const ALL: &[Gate] = &[
    (|policy| policy.premature_shutdown.mode, premature_shutdown::judge),
    (|policy| policy.protect_lead.mode, protect_lead::judge),
    (|policy| policy.idle_with_work.mode, idle_with_work::judge),
    (|policy| policy.unfinished_dependencies.mode, unfinished_dependencies::judge),
    (|policy| policy.report_before_idle.mode, report_before_idle::judge),
    (|policy| policy.team_size.mode, team_size::judge),
    (|policy| policy.lead_stops_early.mode, lead_stops_early::judge),
];

/// A finding of a gate (not of a rule).
fn finding(gate: &'static str, code: &'static str, mode: Mode, about: &str, reason: Reason) -> Finding {
    let (about, reason) = (about.to_owned(), reason.finish());
    Finding {
        gate,
        code,
        decision: mode.into(),
        about,
        counted: None,
        reason,
        rule: None,
        place: None,
        lasting: false,
    }
}

/// The actor that the loop guard counts. A session that becomes a lead is the same actor as before.
fn actor<'a>(facts: &Facts<'a>) -> &'a str {
    let actor = facts.event.actor;
    if actor.kind == ActorKind::Lead { LEAD } else { actor.shown() }
}
