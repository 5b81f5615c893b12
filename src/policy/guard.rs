//! Never a live-lock: a gate that has blocked the same actor in the same state of the work often enough lets through.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Finding, Verdict};

/// What was blocked and told how often: `gate\0about\0state` → times.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Guard {
    /// How often each was blocked.
    pub blocks: BTreeMap<String, u32>,
    /// What was warned of.
    pub warned: BTreeMap<String, u32>,
}

/// Makes a verdict of a finding: counts it, lets it through when it was blocked `max_blocks` times in this state or
/// when a human let it through (`paused`), and marks a warning that was already told in this state.
pub fn settle(
    _finding: &Finding,
    _state: &str,
    _guard: &mut Guard,
    _max_blocks: u32,
    _paused: bool,
) -> Verdict {
    unimplemented!()
}
