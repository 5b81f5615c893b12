//! The verdicts of a run's policy, which its report does not list.

use teamkeep::timeline::Entry;
use teamkeep_core::policy::Decision;
use teamkeep_core::sys::clock::Timestamp;

/// A verdict of a gate or rule on an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunVerdict {
    pub at: Timestamp,
    pub agent: String,
    /// Claude Code's id of the agent.
    pub agent_id: Option<String>,
    pub decision: Decision,
    /// The gate, or the user's rule.
    pub gate: String,
    /// A text. Not sent in metadata mode.
    pub reason: String,
    /// The id of the judged event.
    pub event: String,
    /// Number of blocks before the loop guard allowed the action; `None` otherwise.
    pub blocks: Option<usize>,
    /// Whether a pause changed the decision.
    pub paused: bool,
    /// Whether the same warning was already shown.
    pub repeated: bool,
}

impl RunVerdict {
    /// The verdicts among the entries of a timeline, in order.
    pub fn of(entries: &[Entry]) -> Vec<RunVerdict> {
        let row = |entry: &Entry| {
            let verdict = entry.verdict()?;
            Some(RunVerdict {
                at: entry.at,
                agent: entry.actor.clone(),
                agent_id: verdict.agent.clone(),
                decision: verdict.decision,
                gate: verdict.gate.clone(),
                reason: verdict.reason.clone(),
                event: verdict.judged.clone(),
                blocks: verdict.blocks,
                paused: verdict.paused,
                repeated: verdict.repeated,
            })
        };
        entries.iter().filter_map(row).collect()
    }
}
