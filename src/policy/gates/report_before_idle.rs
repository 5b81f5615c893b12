//! Going idle without a message since the last instruction.

use super::finding;
use super::idle::idler;
use crate::config::Policy;
use crate::policy::{Facts, Finding, Reason};

pub fn judge(policy: &Policy, facts: &Facts<'_>) -> Option<Finding> {
    let mode = policy.report_before_idle.mode;
    let name = idler(facts)?;
    if !facts.team.ledger.of(name).owes_report() {
        return None;
    }
    let reason = Reason::of(mode)
        .then("going idle without having sent a message since your last instruction.")
        .instead("Tell team-lead with SendMessage what you did and what is left.");
    Some(finding("report-before-idle", "idle-without-report", mode, name, reason))
}
