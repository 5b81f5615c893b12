//! The limits of `[policy.budget]`.

use serde::{Deserialize, Serialize};

use super::Mode;
use super::kinds::{Percent, Usd, ValueKind as _};

section! {
    pub struct Budget {
        pub mode: Mode = Mode::Block,
        pub limit: Vec<Limit> = Vec::new(),
    }
}

/// A limit, in tokens or in US dollars.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Limit {
    pub per: LimitScope,
    /// 0 means that the limit is in US dollars.
    #[serde(default)]
    pub tokens: u32,
    /// Millionths of a US dollar.
    #[serde(default, with = "Usd")]
    pub usd: u64,
    /// The part of the limit from which the lead is warned.
    #[serde(default = "eighty", with = "Percent")]
    pub warn_at: Option<u32>,
    /// The part of the limit from which new work is blocked.
    #[serde(default, with = "Percent")]
    pub block_at: Option<u32>,
}

words! {
    /// The agents that a limit counts.
    pub enum LimitScope {
        /// All agents of the run.
        Run = "run",
        /// Each agent.
        Agent = "agent",
        /// Each task: its owner while the task is in progress.
        Task = "task",
        /// All agents of the run in the last hour.
        Hour = "hour",
    }
}

impl Budget {
    /// Whether there is a limit in force.
    pub fn is_on(&self) -> bool {
        self.mode != Mode::Off && !self.limit.is_empty()
    }

    /// Whether a limit in force is per task.
    pub fn counts_tasks(&self) -> bool {
        self.is_on() && self.limit.iter().any(|limit| limit.per == LimitScope::Task)
    }
}

fn eighty() -> Option<u32> {
    Some(80)
}

/// Finds the contradictions between the keys of a limit: for each the keys that it is about, the first that is set, a
/// message and a hint.
pub(super) fn contradictions(limit: &Limit) -> Vec<(&'static [&'static str], String, &'static str)> {
    let mut found: Vec<(&'static [&'static str], String, _)> = Vec::new();
    let hint = "set either `tokens` or `usd`, to more than 0";
    match (limit.tokens > 0, limit.usd > 0) {
        (true, true) => found.push((&["usd"], "the limit has both `tokens` and `usd`".to_owned(), hint)),
        (false, false) => {
            found.push((&["tokens", "usd", "per"], "the limit has no amount".to_owned(), hint));
        }
        _ => {}
    }
    let keys = &["warn-at", "block-at"];
    match (limit.warn_at, limit.block_at) {
        (None, None) => {
            let hint = "set `warn-at = \"80%\"`, `block-at = \"100%\"`, or both";
            found.push((keys, "the limit neither warns nor blocks".to_owned(), hint));
        }
        (Some(warn), Some(block)) if warn > block => {
            let hint = "the warning must come first; to have none, set `warn-at = \"never\"`";
            found.push((keys, format!("`warn-at` ({warn}%) is above `block-at` ({block}%)"), hint));
        }
        _ => {}
    }
    found
}
