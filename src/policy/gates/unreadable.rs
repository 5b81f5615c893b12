//! Files that a gate needs and that cannot be read: a failure of the policy.

use super::{
    finding, idle_with_work, lead_stops_early, premature_shutdown, report_before_idle, team_size,
    unfinished_dependencies,
};
use crate::config::{Gate, Mode, OnError, Policy};
use crate::policy::failure::{FAILED, is_held};
use crate::policy::{Case, Decision, Finding, Part, Reason, escaped};

/// The most characters of a cause that a reason shows.
const MAX_CAUSE_CHARS: usize = 160;

/// Whom the event is about, if the gate needs a part of the files for it.
type Needs = for<'a> fn(&Policy, &Case<'a>, &Part) -> Option<String>;

const ALL: &[(Gate, Needs)] = &[
    (Gate::PrematureShutdown, premature_shutdown::needs),
    (Gate::IdleWithWork, idle_with_work::needs),
    (Gate::UnfinishedDependencies, unfinished_dependencies::needs),
    (Gate::ReportBeforeIdle, report_before_idle::needs),
    (Gate::TeamSize, team_size::needs),
    (Gate::LeadStopsEarly, lead_stops_early::needs),
];

/// One finding for each gate that needs what cannot be read, unless it blocks the event anyway. `on-error` decides whether
/// it blocks; the loop guard counts it like any other.
pub fn judge(policy: &Policy, case: &Case<'_>, found: &[Finding]) -> Vec<Finding> {
    if case.team.unreadable.is_empty() {
        return Vec::new();
    }
    let blocks = |gate: Gate| found.iter().any(|one| one.gate == gate && one.decision == Decision::Block);
    let on = ALL.iter().filter(|(gate, _)| gate.mode(policy) != Mode::Off && !blocks(*gate));
    let failed = on.filter_map(|(gate, needs)| {
        let mut unreadable = case.team.unreadable.iter();
        let (lacks, about) = unreadable.find_map(|lacks| Some((lacks, needs(policy, case, &lacks.part)?)))?;
        let is_closed = policy.on_error == OnError::Block && is_held(case.event.kind);
        let mode = if is_closed { gate.mode(policy) } else { Mode::Warn };
        let reason = Reason::of(mode).then(gate.name()).then(" cannot check this: teamkeep cannot read ");
        let reason = match lacks.path.as_str() {
            "" => reason.then("all of the team's files"),
            path => reason.quote(path),
        };
        let reason = reason.then(&format!(" ({}).", escaped(&lacks.why, MAX_CAUSE_CHARS)));
        let reason = reason.instead(match mode {
            Mode::Block => {
                "on-error = \"block\" blocks the action for it. Report this to the user, who can restore the file."
            }
            _ => "Check TaskList first, and report this to the user.",
        });
        Some(finding(*gate, FAILED, mode, &about, reason))
    });
    failed.collect()
}
