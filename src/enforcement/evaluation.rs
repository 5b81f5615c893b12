//! Turns findings into verdicts. A hook call and a backtest do it in the same way.

use serde::Serialize;

use super::overrides::FoundOverrides;
use crate::config::Mode;
use crate::policy::{Counting, Decision, Finding, Guard, Judgement, Reason, Verdict, without_prefix};

/// The result of judging an event.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Evaluation {
    /// All verdicts, the decisive one first. Empty if no gate has a finding.
    pub verdicts: Vec<Verdict>,
    /// Why the policy failed, if it did; `on-error` decides what that means.
    #[serde(skip)]
    pub failed: Option<String>,
    /// Why the former counts are lost, if they are.
    #[serde(skip)]
    pub damage: Option<String>,
    /// Overrides that were used and are not in the log.
    #[serde(skip)]
    pub found: Option<FoundOverrides>,
}

impl Evaluation {
    /// The decisive verdict.
    pub fn decisive(&self) -> Option<&Verdict> {
        self.verdicts.first()
    }

    /// The same with the findings, as the state of the team needs it.
    pub fn with<'a>(&'a self, blocked: bool, findings: &'a [Finding]) -> Judgement<'a> {
        Judgement { blocked, verdicts: &self.verdicts, findings }
    }

    /// Adds the verdict for a failure of the policy. It is decisive only if no other verdict blocks the event.
    pub fn add(&mut self, failure: Verdict) {
        match failure.decision == Decision::Block && !self.is_blocked() {
            true => self.verdicts.insert(0, failure),
            false => self.verdicts.push(failure),
        }
    }

    /// Whether the event is blocked.
    pub fn is_blocked(&self) -> bool {
        self.decisive().is_some_and(|verdict| verdict.decision == Decision::Block)
    }
}

/// A finding that cannot be counted: a block becomes a warning, because it might repeat forever. A lasting rule needs
/// no count.
pub fn uncounted(finding: Finding) -> Finding {
    if finding.lasting || finding.decision != Decision::Block {
        return finding;
    }
    let reason = Reason::of(Mode::Warn)
        .then("teamkeep would block this, but cannot count its blocks, so it allows it. The reason was: ")
        .then(without_prefix(&finding.reason))
        .finish();
    Finding { decision: Decision::Warn, reason, ..finding }
}

/// Counts each finding and applies overrides (`paused`) and the loop guard. The first block decides; the findings
/// behind it are neither shown nor counted.
pub fn evaluate(
    findings: &[Finding],
    guard: &mut Guard,
    counting: &Counting<'_>,
    mut paused: impl FnMut(&Finding) -> bool,
) -> Evaluation {
    let mut verdicts: Vec<Verdict> = Vec::new();
    for finding in findings {
        let verdict = match paused(finding) {
            true => Verdict { decision: Decision::Allow, paused: true, ..finding.verdict() },
            false => guard.settle(finding, counting),
        };
        let blocks = verdict.decision == Decision::Block;
        verdicts.push(verdict);
        if blocks {
            break;
        }
    }
    // Stable sort: strictest first, then in the order of the gates.
    verdicts.sort_by_key(|verdict| std::cmp::Reverse(verdict.decision));
    Evaluation { verdicts, ..Evaluation::default() }
}
