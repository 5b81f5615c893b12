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
use crate::config::{Gate, Mode, Policy};
use crate::event::{ActorKind, LEAD};

/// The finding of a gate for the facts.
type Judge = fn(&Policy, &Case<'_>) -> Option<Finding>;

/// The gates in order of evaluation.
pub(super) const ALL: &[(Gate, Judge)] = &[
    (Gate::PrematureShutdown, premature_shutdown::judge),
    (Gate::ProtectLead, protect_lead::judge),
    (Gate::IdleWithWork, idle_with_work::judge),
    (Gate::UnfinishedDependencies, unfinished_dependencies::judge),
    (Gate::ReportBeforeIdle, report_before_idle::judge),
    (Gate::TeamSize, team_size::judge),
    (Gate::LeadStopsEarly, lead_stops_early::judge),
];

/// A finding of a gate (not of a rule).
fn finding(gate: Gate, code: &'static str, mode: Mode, about: &str, reason: Reason) -> Finding {
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
