//! What a policy says of an event.

use serde::{Deserialize, Serialize};

use crate::config::Mode;

/// Whether the client may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// It may.
    Allow,
    /// It may, and somebody is told.
    Warn,
    /// It may not.
    Block,
}

impl From<Mode> for Decision {
    fn from(mode: Mode) -> Decision {
        match mode {
            Mode::Off => Decision::Allow,
            Mode::Warn => Decision::Warn,
            Mode::Block => Decision::Block,
        }
    }
}

/// What one gate found: an objection, before guard and overrides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The gate's name in the configuration (`premature-shutdown`); `rule` for a rule.
    pub gate: &'static str,
    /// What was found, as a stable word (`shutdown-of-busy-teammate`).
    pub code: &'static str,
    /// How hard.
    pub decision: Decision,
    /// Whom the guard counts for: the actor or the teammate that the action is about.
    pub about: String,
    /// What a block counts under instead, where one action is about several: else each would have blocks of its own.
    pub counted: Option<String>,
    /// What the model is told: what is refused, why, what to do instead. At most 600 characters, escaped.
    pub reason: String,
    /// The rule's name, for a rule.
    pub rule: Option<String>,
    /// Where the rule stands: `path:line`.
    pub place: Option<String>,
    /// Whether it stands however often it is tried: the user asked for it, and who is told no can do something else.
    pub lasting: bool,
}

impl Finding {
    /// Whether a verdict is about this finding, whatever its reason says.
    pub fn is_of(&self, verdict: &Verdict) -> bool {
        (self.gate, self.code) == (&verdict.gate, &verdict.code) && self.rule == verdict.rule
    }
}

impl Verdict {
    /// Whether it is about the same finding as another, whatever their reasons say.
    pub fn is_same(&self, other: &Verdict) -> bool {
        (&self.gate, &self.code, &self.rule) == (&other.gate, &other.code, &other.rule)
    }
}

/// What is recorded of a judgement, and what the client is answered by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Whether the client may go on, after guard and overrides.
    pub decision: Decision,
    /// The gate that objected.
    pub gate: String,
    /// What it found.
    pub code: String,
    /// What the model is told.
    pub reason: String,
    /// The rule, for a rule.
    #[serde(default)]
    pub rule: Option<String>,
    /// Where the rule stands: `path:line`.
    #[serde(default)]
    pub file_line: Option<String>,
    /// Whether it was let through because it had been blocked often enough.
    #[serde(default)]
    pub escalated: bool,
    /// How many blocks the loop guard had counted before it allowed this. Absent in verdicts of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<u32>,
    /// Whether it was let through because a human paused the gate or allowed the occasion.
    #[serde(default)]
    pub paused: bool,
    /// Whether the same was already told in this state of the work: recorded, not told again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeated: bool,
}
