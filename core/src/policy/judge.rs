//! All gates and rules over one event; the strictest finding wins.

use super::{Case, Decision, Finding, Rules, failure, gates};
use crate::config::{Gate, Mode, Policy};

/// The findings for an event, strictest first, then in the order of the gates and of the file. At an event that cannot
/// be blocked, only the rules that name it are evaluated, and they only warn.
pub fn judge(policy: &Policy, rules: &Rules<'_>, case: &Case<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    if case.event.kind.is_judged() {
        let on = Gate::ALL.into_iter().filter(|gate| gate.mode(policy) != Some(Mode::Off));
        on.for_each(|gate| found.extend(gates::findings(gate, policy, case)));
        found.extend(failure::unreadable(policy, case, &found));
    }
    found.extend(rules.judge(policy.on_error, case));
    found.retain(|finding| finding.decision != Decision::Allow);
    found.sort_by_key(|finding| std::cmp::Reverse(finding.decision));
    found
}
