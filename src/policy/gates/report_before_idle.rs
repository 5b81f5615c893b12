//! Going idle without a message since the last instruction.

use super::finding;
use super::idle::{goes_idle, idler};
use crate::config::{Mode, Policy};
use crate::policy::{Case, Finding};

pub fn judge(policy: &Policy, case: &Case<'_>) -> Option<Finding> {
    let mode = policy.report_before_idle.mode;
    let name = idler(case)?;
    if !case.team.ledger.of(name).owes_report() {
        return None;
    }
    let without = |whose: &str| format!(" without having sent a message since {whose} last instruction.");
    let reason = goes_idle(mode, name, &without("its"), &without("your")).instead(match mode {
        Mode::Block => "Tell team-lead with SendMessage what you did and what is left.",
        _ => "The lead can ask it for a report with SendMessage.",
    });
    Some(finding("report-before-idle", "idle-without-report", mode, name, reason))
}
