//! Evaluates the user's rules for one event within a time limit. A rule without a result is a failure of the policy,
//! not a mismatch.

use std::time::{Duration, Instant};

use super::gates::rules::{CompiledRule, RuleOutcome};
use super::gates::undecided::undecided;
use super::{Decision, Facts, Finding};
use crate::config::{OnError, Rule};
use crate::payload::Kind;

/// The rules. Each pattern is compiled when first needed.
#[derive(Debug)]
pub struct Rules<'a> {
    rules: Vec<CompiledRule<'a>>,
    patience: Option<Duration>,
}

impl<'a> Rules<'a> {
    /// These rules, without a time limit.
    pub fn of(rules: &'a [Rule]) -> Rules<'a> {
        Rules { rules: rules.iter().map(CompiledRule::of).collect(), patience: None }
    }

    /// Whether they are evaluated at an event: it can be blocked, or one of them names it.
    pub fn are_asked(&self, kind: Kind) -> bool {
        self.rules.iter().any(|asked| kind.is_judged() || asked.rule.looks_at(kind))
    }

    /// The same with a time limit for all rules together, checked between two patterns.
    #[must_use]
    pub fn within(self, patience: Duration) -> Rules<'a> {
        Rules { patience: Some(patience), ..self }
    }

    /// Findings in the order of the rules, then the rules without a result.
    pub(super) fn judge(&self, on_error: OnError, facts: &Facts<'_>) -> Vec<Finding> {
        let until = self.patience.and_then(|patience| Instant::now().checked_add(patience));
        let (mut found, mut unsaid) = (Vec::new(), Vec::new());
        for asked in &self.rules {
            match asked.judge(facts, until) {
                RuleOutcome::Nothing => {}
                RuleOutcome::Objects(finding) => found.push(finding),
                RuleOutcome::Unsaid(why) => unsaid.push((asked.rule, why)),
            }
        }
        found.extend(undecided(&unsaid, on_error, facts).filter(|one| one.decision != Decision::Allow));
        found
    }
}
