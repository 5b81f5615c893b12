//! From findings to verdicts: the same at a hook and in a back-test.

use serde::Serialize;

use crate::policy::{Decision, Finding, Guard, Verdict, settle};

/// What came of an event before the gates.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Judgement {
    /// Every verdict, the one that decides first. Empty when nothing objected.
    pub verdicts: Vec<Verdict>,
}

impl Judgement {
    /// The verdict that decides.
    pub fn decisive(&self) -> Option<&Verdict> {
        self.verdicts.first()
    }

    /// Whether the event is held back.
    pub fn holds_back(&self) -> bool {
        self.decisive().is_some_and(|verdict| verdict.decision == Decision::Block)
    }
}

/// Counts each finding, and lets through what a human (`paused`) or the guard lets through. One block is enough: what
/// stands behind it is not told, and so not counted.
pub fn weigh(
    findings: &[Finding],
    state: &str,
    guard: &mut Guard,
    max_blocks: u32,
    mut paused: impl FnMut(&Finding) -> bool,
) -> Judgement {
    let mut verdicts: Vec<Verdict> = Vec::new();
    for finding in findings {
        let verdict = settle(finding, state, guard, max_blocks, paused(finding));
        let blocks = verdict.decision == Decision::Block;
        verdicts.push(verdict);
        if blocks {
            break;
        }
    }
    // Stable: the strictest first, then as the gates stand.
    verdicts.sort_by_key(|verdict| std::cmp::Reverse(verdict.decision));
    Judgement { verdicts }
}
