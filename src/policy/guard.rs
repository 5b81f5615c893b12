//! Never a live-lock: a gate that has blocked the same actor in the same state of the work often enough lets through.
//! A user's own rule on a tool is no lock: it stands.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Decision, Finding, Verdict};

/// No team has so many gates, actors and rules at odds at once.
const MOST: usize = 512;

/// What was blocked and told how often: `gate\0about\0state` → times.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Guard {
    /// How often each was blocked. A rule counts for itself: its gate is `rule:<name>`.
    pub blocks: BTreeMap<String, u32>,
    /// What was warned of: `gate\0about\0state\0what`.
    pub warned: BTreeMap<String, u32>,
}

/// Makes a verdict of a finding: counts it, lets it through when it was blocked `max_blocks` times in this state
/// (unless it is lasting) or when a human let it through (`paused`), and marks a warning that was already told in this state.
///
/// Of several findings only those are to be settled that are answered with: the first that blocks, and those before it.
pub fn settle(finding: &Finding, state: &str, guard: &mut Guard, max_blocks: u32, paused: bool) -> Verdict {
    let mut verdict = Verdict {
        decision: finding.decision,
        gate: finding.gate.to_owned(),
        code: finding.code.to_owned(),
        reason: finding.reason.clone(),
        rule: finding.rule.clone(),
        file_line: finding.place.clone(),
        escalated: false,
        paused,
        repeated: false,
    };
    if paused {
        verdict.decision = Decision::Allow;
        return verdict;
    }
    let subject = subject(finding);
    match finding.decision {
        Decision::Allow => {}
        Decision::Block if finding.lasting => {}
        Decision::Warn => {
            let what = blake3::hash(finding.reason.as_bytes()).to_hex();
            verdict.repeated =
                count(&mut guard.warned, &subject, &format!("{state}\0"), &what[..8], u32::MAX)
                    .is_some_and(|told| told > 0);
        }
        Decision::Block => {
            if count(&mut guard.blocks, &subject, state, "", most(finding.gate, max_blocks)).is_none() {
                verdict.decision = Decision::Allow;
                verdict.escalated = true;
            }
        }
    }
    verdict
}

/// How often a gate blocks in one state.
pub fn most(gate: &str, max_blocks: u32) -> u32 {
    // An idle that is refused again while nothing changed only burns tokens: mail is delivered at idle alone.
    if gate == "idle-with-work" { max_blocks.min(1) } else { max_blocks }
}

/// What a finding is counted under in every state: `gate\0about\0`.
fn subject(finding: &Finding) -> String {
    let plain = |text: &str| text.replace('\0', "");
    let gate = match &finding.rule {
        Some(rule) => format!("{}:{}", finding.gate, plain(rule)),
        None => finding.gate.to_owned(),
    };
    format!("{gate}\0{}\0", plain(&finding.about))
}

/// Counts once more, and gives the number before; `None` when `most` is reached. Other states of the same are forgotten.
fn count(
    counts: &mut BTreeMap<String, u32>,
    subject: &str,
    state: &str,
    what: &str,
    most: u32,
) -> Option<u32> {
    counts.retain(|key, _| key.strip_prefix(subject).is_none_or(|rest| rest.starts_with(state)));
    let key = format!("{subject}{state}{what}");
    if counts.len() >= MOST && !counts.contains_key(&key) {
        counts.pop_first();
    }
    let count = counts.entry(key).or_default();
    let before = *count;
    (before < most).then(|| {
        *count = before + 1;
        before
    })
}
