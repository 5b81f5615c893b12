//! The gates. A gate with mode "off" is not evaluated.
//!
//! A new gate is a variant of [`Gate`] with its configuration (`config/policy.rs`, `config/keys.rs`, `config/default.toml`), a
//! row of [`ALL`], and a section of `docs/policy.md`. For the tools in [`Gate::event`], the team's files are read.

pub mod completion_check;
mod idle;
mod lead_stops_early;
pub(super) mod premature_shutdown;
mod protect_lead;
mod team_size;
mod unfinished_dependencies;

use super::{Case, Facts, Finding, Part, Reason};
use crate::config::{Gate, Mode, Policy};
use crate::model::event::{ActorKind, LEAD};

pub(super) struct GateEntry {
    pub gate: Gate,
    pub judge: fn(&Policy, &Case<'_>) -> Option<Finding>,
    /// Called when a part of the files cannot be read: the subject of the event, if the gate needs that part to judge it.
    pub needs: for<'a> fn(&Policy, &Case<'a>, &Part) -> Option<String>,
}

/// The gates in order of evaluation. Completion checks run commands and are not among them.
#[rustfmt::skip]
pub(super) const ALL: &[GateEntry] = &[
    GateEntry { gate: Gate::PrematureShutdown, judge: premature_shutdown::judge, needs: premature_shutdown::needs },
    GateEntry { gate: Gate::ProtectLead, judge: protect_lead::judge, needs: |_, _, _| None },
    GateEntry { gate: Gate::IdleWithWork, judge: idle::with_work, needs: idle::with_work_needs },
    GateEntry { gate: Gate::UnfinishedDependencies, judge: unfinished_dependencies::judge, needs: unfinished_dependencies::needs },
    GateEntry { gate: Gate::ReportBeforeIdle, judge: idle::without_report, needs: idle::without_report_needs },
    GateEntry { gate: Gate::TeamSize, judge: team_size::judge, needs: team_size::needs },
    GateEntry { gate: Gate::LeadStopsEarly, judge: lead_stops_early::judge, needs: lead_stops_early::needs },
];

pub(super) fn finding(gate: Gate, code: &'static str, mode: Mode, about: &str, reason: Reason) -> Finding {
    Finding::new(gate, code, mode.into(), about, reason.finish())
}

/// The actor that the loop guard counts. A session that becomes a lead is the same actor as before.
pub(super) fn actor<'a>(facts: &Facts<'a>) -> &'a str {
    let actor = facts.event.actor;
    if actor.kind == ActorKind::Lead { LEAD } else { actor.shown() }
}
