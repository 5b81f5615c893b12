//! All gates and rules over one event; the strictest finding wins.

use super::{Case, Decision, Finding, Rules, TeamState, gates};
use crate::config::{Mode, Policy};
use crate::event::Actor;
use crate::payload::{Kind, Payload};

/// The event that is judged.
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    /// Its id in the log.
    pub id: &'a str,
    /// RFC 3339.
    pub at: &'a str,
    /// The event's kind.
    pub kind: Kind,
    /// The session.
    pub session: Option<&'a str>,
    /// The actor, as far as known. It is a label and never grants a right.
    pub actor: &'a Actor,
    /// The payload.
    pub payload: &'a Payload,
}

/// Everything that a gate can use.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The event.
    pub event: Judged<'a>,
    /// The team.
    pub team: &'a TeamState,
}

/// The findings for an event, strictest first, then in the order of the gates and of the file. At an event that cannot
/// be blocked, only the rules that name it are evaluated, and they only warn.
pub fn judge(policy: &Policy, rules: &Rules<'_>, facts: &Facts<'_>) -> Vec<Finding> {
    if !facts.event.kind.is_judged() {
        let mut found = rules.judge(policy.on_error, facts);
        found.iter_mut().for_each(|finding| finding.decision = finding.decision.min(Decision::Warn));
        return found;
    }
    let case = Case::of(facts);
    let on = gates::ALL.iter().filter(|(gate, _)| gate.mode(policy) != Mode::Off);
    let mut found: Vec<Finding> = on.filter_map(|(_, judge)| judge(policy, &case)).collect();
    if policy.premature_shutdown.mode != Mode::Off {
        found.extend(gates::premature_shutdown::others(policy, &case));
    }
    found.extend(gates::unreadable::judge(policy, &case, &found));
    found.extend(rules.judge(policy.on_error, facts));
    found.retain(|finding| finding.decision != Decision::Allow);
    found.sort_by_key(|finding| std::cmp::Reverse(finding.decision));
    found
}
