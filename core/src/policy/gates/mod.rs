//! The gates.
//!
//! A new gate is a variant of [`Gate`] with its configuration (`config/policy.rs`, `config/keys.rs`, `config/default.toml`), a
//! line in [`findings`] and in [`subject_of`], and a section of `docs/policy.md`. For the tools in [`Gate::event`], the team's
//! files are read.

pub mod completion_check;
mod idle;
mod lead_stops_early;
mod premature_shutdown;
mod protect_lead;
mod team_size;
mod unfinished_dependencies;

use super::{Case, Finding, Part};
use crate::config::{Gate, Policy};

/// The findings of a gate. Completion checks run commands, and rules are evaluated together: neither is done here.
pub(super) fn findings(gate: Gate, policy: &Policy, case: &Case<'_>) -> Vec<Finding> {
    let finding = match gate {
        Gate::PrematureShutdown => return premature_shutdown::judge(policy, case),
        Gate::ProtectLead => protect_lead::judge(policy, case),
        Gate::IdleWithWork => idle::with_work(policy, case),
        Gate::UnfinishedDependencies => unfinished_dependencies::judge(policy, case),
        Gate::ReportBeforeIdle => idle::without_report(policy, case),
        Gate::TeamSize => team_size::judge(policy, case),
        Gate::LeadStopsEarly => lead_stops_early::judge(policy, case),
        Gate::CompletionCheck | Gate::Rule => None,
    };
    finding.into_iter().collect()
}

/// The agent that the event is about, if the gate needs this part of the team's files to judge it.
pub(super) fn subject_of(gate: Gate, policy: &Policy, case: &Case<'_>, part: &Part) -> Option<String> {
    let idler = idle::idler(case).filter(|name| part.may_have_inbox(name) || part.has_tasks());
    let subject = match gate {
        Gate::PrematureShutdown => return premature_shutdown::needs(policy, case, part),
        Gate::IdleWithWork => idler,
        Gate::ReportBeforeIdle => idler.filter(|name| part.may_have_inbox(name)),
        Gate::UnfinishedDependencies => unfinished_dependencies::needs(case, part).then(|| case.actor()),
        Gate::TeamSize => team_size::needs(policy, case, part).then(|| case.actor()),
        Gate::LeadStopsEarly => lead_stops_early::ends_turn(case).then(|| case.actor()),
        Gate::ProtectLead | Gate::CompletionCheck | Gate::Rule => None,
    };
    subject.map(str::to_owned)
}
