//! Pauses and allowances of a user, and the findings that they lift. Here all are in force: who reads them drops expired ones.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{Decision, Finding};
use teamkeep_config::{Gate, Policy};
use teamkeep_model::time::Timestamp;
use teamkeep_model::unicode::fold;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Overrides {
    pub v: u8,
    pub pauses: Vec<Pause>,
    /// Teammates whose next shutdown is allowed, by name.
    pub shutdowns: Vec<String>,
    /// When the allowance of a name ends. One without an end, of an earlier version, does not expire.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub shutdowns_until: BTreeMap<String, Timestamp>,
}

/// The override that lifts a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lift<'a> {
    Pause,
    /// The allowance with this name. It is used up ([`Overrides::use_up`]).
    Allowance(&'a str),
}

impl Overrides {
    /// The override that allows the action of a finding. None lifts a gate that the organization has fixed, and a warning
    /// uses no allowance up.
    pub fn lift(
        &self,
        finding: &Finding,
        policy: &Policy,
        team: Option<&str>,
        members: &[String],
    ) -> Option<Lift<'_>> {
        if self.pauses(finding.gate, policy, team) {
            return Some(Lift::Pause);
        }
        let is_fixed = policy.unpausable.contains(&finding.gate);
        if finding.gate != Gate::PrematureShutdown || finding.decision != Decision::Block || is_fixed {
            return None;
        }
        self.allowed_shutdown(&finding.about, members).map(Lift::Allowance)
    }

    /// Whether a gate is paused for a team.
    pub fn pauses(&self, gate: Gate, policy: &Policy, team: Option<&str>) -> bool {
        let concerns = |pause: &Pause| {
            pause.gate.as_deref().is_none_or(|paused| paused == gate.name())
                && pause.team.as_deref().is_none_or(|paused| Some(paused) == team)
        };
        !policy.unpausable.contains(&gate) && self.pauses.iter().any(concerns)
    }

    /// Removes an allowance; `false` if there is none with this name.
    pub fn use_up(&mut self, name: &str) -> bool {
        let Some(index) = self.shutdowns.iter().position(|one| one == name) else { return false };
        self.shutdowns.remove(index);
        true
    }

    /// The name whose next shutdown is allowed: the teammate's own, or one that folds to the same and is not another member's.
    fn allowed_shutdown(&self, name: &str, members: &[String]) -> Option<&str> {
        let allowed = || self.shutdowns.iter().map(String::as_str);
        allowed().find(|one| *one == name).or_else(|| {
            let folded = fold(name);
            let is_other = |one: &str| members.iter().any(|member| member == one);
            allowed().find(|one| fold(one) == folded && !is_other(one))
        })
    }
}

/// A paused gate. A missing or misspelled key is an error: it must not turn the pause of one gate into a pause of all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pause {
    /// The gate; null for all.
    #[serde(deserialize_with = "Option::deserialize")]
    pub gate: Option<String>,
    /// The team; null for all.
    #[serde(deserialize_with = "Option::deserialize")]
    pub team: Option<String>,
    /// End of the pause.
    pub until: Timestamp,
}

impl Pause {
    /// The payload of the event that records it.
    pub fn payload(&self, policy: &Policy) -> Value {
        let Pause { gate, team, until } = self;
        let payload = json!({"override": "pause", "gate": gate, "team": team, "until": until});
        with_fixed(payload, policy, gate.as_deref())
    }
}

/// The payload of the event that records an allowance.
pub fn allowance_payload(name: &str, until: Option<Timestamp>, policy: &Policy) -> Value {
    let gate = Gate::PrematureShutdown.name();
    let mut payload = json!({"override": "allow-shutdown", "gate": gate, "team": null, "name": name});
    if let Some(until) = until {
        payload["until"] = json!(until);
    }
    with_fixed(payload, policy, Some(gate))
}

/// Adds the gates that the organization has fixed, to which the override does not apply.
fn with_fixed(mut payload: Value, policy: &Policy, gate: Option<&str>) -> Value {
    let fixed = policy.fixed_gates(gate);
    if !fixed.is_empty() {
        payload["fixed"] = json!(fixed);
    }
    payload
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reason;

    fn pause(gate: Option<&str>, team: Option<&str>) -> Pause {
        let owned = |name: Option<&str>| name.map(str::to_owned);
        Pause { gate: owned(gate), team: owned(team), until: Timestamp::default() }
    }

    #[test]
    fn a_pause_applies_to_its_gate_and_team() {
        let policy = Policy::default();
        let pauses = |pause: Pause, gate, team| {
            let overrides = Overrides { pauses: vec![pause], ..Overrides::default() };
            overrides.pauses(gate, &policy, team)
        };
        let one = || pause(Some("team-size"), Some("t1"));
        assert!(pauses(one(), Gate::TeamSize, Some("t1")));
        assert!(!pauses(one(), Gate::Rule, Some("t1")));
        assert!(!pauses(one(), Gate::TeamSize, Some("t2")) && !pauses(one(), Gate::TeamSize, None));
        assert!(pauses(pause(None, None), Gate::Rule, None));
    }

    #[test]
    fn an_allowance_lifts_only_a_block_of_its_gate_and_nothing_lifts_a_fixed_gate() {
        let of = |gate, decision| Finding::new(gate, "code", decision, "bob", Reason::default());
        let (block, warning) = (Decision::Block, Decision::Warn);
        let (mut policy, shutdown) = (Policy::default(), Gate::PrematureShutdown);
        let mut overrides = Overrides { shutdowns: vec!["bob".to_owned()], ..Overrides::default() };
        let lift = |overrides: &Overrides, policy: &Policy, finding: &Finding| {
            overrides.lift(finding, policy, None, &[]).map(|lift| lift != Lift::Pause)
        };
        assert_eq!(lift(&overrides, &policy, &of(shutdown, block)), Some(true));
        assert_eq!(lift(&overrides, &policy, &of(shutdown, warning)), None);
        assert_eq!(lift(&overrides, &policy, &of(Gate::ProtectLead, block)), None);
        overrides.pauses.push(pause(None, None));
        assert_eq!(lift(&overrides, &policy, &of(shutdown, block)), Some(false), "a pause uses nothing up");
        assert_eq!(lift(&overrides, &policy, &of(shutdown, warning)), Some(false));
        let recorded = pause(Some("team-size"), Some("t")).payload(&Policy::default());
        assert_eq!(
            (&recorded["override"], &recorded["gate"], &recorded["team"]),
            (&json!("pause"), &json!("team-size"), &json!("t"))
        );
        let fixed = |policy: &Policy| allowance_payload("bob", None, policy).get("fixed").cloned();
        assert_eq!(fixed(&policy), None);
        policy.unpausable.push(shutdown);
        assert_eq!(fixed(&policy), Some(json!(["premature-shutdown"])));
        assert_eq!(lift(&overrides, &policy, &of(shutdown, block)), None);
        assert!(overrides.use_up("bob") && !overrides.use_up("bob"));
    }

    #[test]
    fn a_shutdown_is_allowed_by_name_or_by_another_spelling_that_no_other_member_has() {
        let overrides = Overrides { shutdowns: vec!["Bob".to_owned()], ..Overrides::default() };
        let members = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(overrides.allowed_shutdown("bob", &members(&["bob"])), Some("Bob"));
        assert_eq!(overrides.allowed_shutdown("bob", &members(&["bob", "Bob"])), None);
        assert_eq!(overrides.allowed_shutdown("Bob", &members(&["bob", "Bob"])), Some("Bob"));
        assert_eq!(overrides.allowed_shutdown("carol", &[]), None);
    }
}
