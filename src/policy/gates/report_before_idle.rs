//! Going idle without a message since the last instruction.

use super::finding;
use super::idle_teammate::{goes_idle, idler};
use crate::config::{Gate, Mode, Policy};
use crate::policy::{Case, Finding, Part};

pub fn judge(policy: &Policy, case: &Case<'_>) -> Option<Finding> {
    let mode = policy.report_before_idle.mode;
    let name = idler(case)?;
    if !case.team.ledger.of(name).has_unreported_work() {
        return None;
    }
    let without = |whose: &str| format!(" without having sent a message since {whose} last instruction.");
    let reason = goes_idle(mode, name, &without("its"), &without("your")).instead(match mode {
        Mode::Block => "Send team-lead a message with your results and the remaining work.",
        _ => "The lead can ask it for a report with SendMessage.",
    });
    Some(finding(Gate::ReportBeforeIdle, "idle-without-report", mode, name, reason))
}

/// The teammate that goes idle, if its inbox may be in this part.
pub fn needs(_: &Policy, case: &Case<'_>, part: &Part) -> Option<String> {
    idler(case).filter(|name| part.may_have_inbox(name)).map(str::to_owned)
}
