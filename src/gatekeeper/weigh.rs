//! From findings to verdicts: the same at a hook and in a back-test.

use serde::Serialize;

use super::overrides::Found;
use crate::config::Mode;
use crate::policy::{Attempt, Decision, Finding, Guard, Reason, Verdict, bare, settle};

/// What came of an event before the gates.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Judgement {
    /// Every verdict, the one that decides first. Empty when nothing objected.
    pub verdicts: Vec<Verdict>,
    /// What kept the gatekeeper from its work, if anything did: `on-error` says what that means.
    #[serde(skip)]
    pub failed: Option<String>,
    /// Overrides that were used and are not in the log.
    #[serde(skip)]
    pub found: Option<Found>,
}

impl Judgement {
    /// The verdict that decides.
    pub fn decisive(&self) -> Option<&Verdict> {
        self.verdicts.first()
    }

    /// Adds what a failure of the policy comes to: it decides only where nothing else holds the event back.
    pub fn add(&mut self, failure: Verdict) {
        match failure.decision == Decision::Block && !self.holds_back() {
            true => self.verdicts.insert(0, failure),
            false => self.verdicts.push(failure),
        }
    }

    /// Whether the event is held back.
    pub fn holds_back(&self) -> bool {
        self.decisive().is_some_and(|verdict| verdict.decision == Decision::Block)
    }
}

/// A finding that cannot be counted: a block becomes a warning, as it might be repeated for ever. One that lasts needs no
/// count.
pub fn uncounted(finding: Finding) -> Finding {
    if finding.lasting || finding.decision != Decision::Block {
        return finding;
    }
    let reason = Reason::of(Mode::Warn)
        .then(
            "teamkeep would refuse this, but cannot count its blocks, and lets it through. The reason was: ",
        )
        .then(bare(&finding.reason))
        .finish();
    Finding { decision: Decision::Warn, reason, ..finding }
}

/// Counts each finding, and lets through what a human (`paused`) or the guard lets through. One block is enough: what
/// stands behind it is not told, and so not counted.
pub fn weigh(
    findings: &[Finding],
    state: &str,
    guard: &mut Guard,
    max_blocks: u32,
    attempt: &Attempt,
    mut paused: impl FnMut(&Finding) -> bool,
) -> Judgement {
    let mut verdicts: Vec<Verdict> = Vec::new();
    for finding in findings {
        let verdict = settle(finding, state, guard, max_blocks, attempt, paused(finding));
        let blocks = verdict.decision == Decision::Block;
        verdicts.push(verdict);
        if blocks {
            break;
        }
    }
    // Stable: the strictest first, then as the gates stand.
    verdicts.sort_by_key(|verdict| std::cmp::Reverse(verdict.decision));
    Judgement { verdicts, failed: None, found: None }
}
