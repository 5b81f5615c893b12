//! All gates and rules over one event; the strictest finding wins.

use super::{Case, Decision, Finding, Rules, TeamState, failure, gates};
use crate::client::payload::{Kind, Payload};
use crate::config::{Mode, Policy};
use crate::model::Tool;
use crate::model::event::Actor;

/// The event that is judged.
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    /// Its id in the log.
    pub id: &'a str,
    /// RFC 3339.
    pub at: &'a str,
    pub kind: Kind,
    pub session: Option<&'a str>,
    /// The actor, as far as known. It is a label and never grants a right.
    pub actor: &'a Actor,
    pub payload: &'a Payload,
}

impl Judged<'_> {
    /// Whether this tool is about to run.
    pub fn calls(&self, tool: Tool) -> bool {
        self.kind == Kind::PreToolUse && self.payload.tool() == Some(tool)
    }

    /// Whether the call names no agent, as before 2.1.69.
    pub(super) fn is_nameless(&self) -> bool {
        self.payload.agent_id().is_none() && self.payload.text("agent_type").is_none_or(str::is_empty)
    }
}

/// Everything that a gate can use.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    pub event: Judged<'a>,
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
    let on = gates::ALL.iter().filter(|gate| gate.gate.mode(policy) != Some(Mode::Off));
    let mut found: Vec<Finding> = on.filter_map(|gate| (gate.judge)(policy, &case)).collect();
    if policy.premature_shutdown.mode != Mode::Off {
        found.extend(gates::premature_shutdown::others(policy, &case));
    }
    found.extend(failure::unreadable(policy, &case, &found));
    found.extend(rules.judge(policy.on_error, facts));
    found.retain(|finding| finding.decision != Decision::Allow);
    found.sort_by_key(|finding| std::cmp::Reverse(finding.decision));
    found
}
