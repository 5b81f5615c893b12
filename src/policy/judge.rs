//! All gates and rules over one event; the strictest finding wins.

use super::{Case, Decision, Facts, Finding, Rules, gates};
use crate::config::{Mode, Policy};

/// What the policy finds in an event (nothing where the client cannot be kept from going on), the strictest first, then in the order of the gates and of the file.
pub fn judge(policy: &Policy, rules: &Rules<'_>, facts: &Facts<'_>) -> Vec<Finding> {
    if !facts.event.kind.is_judged() {
        return Vec::new();
    }
    let case = Case::of(facts);
    let on = gates::ALL.iter().filter(|(mode, _)| mode(policy) != Mode::Off);
    let mut found: Vec<Finding> = on.filter_map(|(_, gate)| gate(policy, &case)).collect();
    if policy.premature_shutdown.mode != Mode::Off {
        found.extend(gates::premature_shutdown::others(policy, &case));
    }
    found.extend(rules.judge(policy.on_error, facts));
    found.retain(|finding| finding.decision != Decision::Allow);
    found.sort_by_key(|finding| std::cmp::Reverse(finding.decision));
    found
}
