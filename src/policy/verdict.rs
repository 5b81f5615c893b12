//! Decisions, findings and verdicts.

use serde::{Deserialize, Serialize};

use crate::config::{Gate, Mode};

/// Whether Claude Code may continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// Allowed.
    Allow,
    /// Allowed with a warning.
    Warn,
    /// Blocked.
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

/// The finding of one gate, before the loop guard and overrides apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The gate.
    pub gate: Gate,
    /// A stable code (`shutdown-of-busy-teammate`).
    pub code: &'static str,
    /// The gate's decision.
    pub decision: Decision,
    /// The agent that the loop guard counts for: the actor, or the teammate that the action is about.
    pub about: String,
    /// The name to count under instead, if one action is about several agents.
    pub counted: Option<String>,
    /// The text for the model: the blocked action, why, and what to do instead. At most 600 characters, escaped.
    pub reason: String,
    /// The rule's name, for a rule.
    pub rule: Option<String>,
    /// Where the rule is defined: `path:line`.
    pub place: Option<String>,
    /// Whether it blocks every time, without the loop guard.
    pub lasting: bool,
}

impl Finding {
    /// The verdict before the loop guard applies.
    pub fn verdict(&self) -> Verdict {
        Verdict {
            rule: self.rule.clone(),
            file_line: self.place.clone(),
            ..Verdict::new(self.decision, self.gate.name(), self.code, self.reason.clone())
        }
    }

    /// Whether a verdict is about this finding, whatever its reason.
    pub fn is_of(&self, verdict: &Verdict) -> bool {
        (self.gate.name(), self.code) == (&verdict.gate, &verdict.code) && self.rule == verdict.rule
    }
}

impl Verdict {
    /// A verdict of a gate.
    pub fn new(decision: Decision, gate: &str, code: &str, reason: String) -> Verdict {
        Verdict {
            decision,
            gate: gate.to_owned(),
            code: code.to_owned(),
            reason,
            rule: None,
            file_line: None,
            escalated: false,
            blocks: None,
            paused: false,
            repeated: false,
        }
    }

    /// Whether two verdicts are about the same finding, whatever their reasons.
    pub fn is_same(&self, other: &Verdict) -> bool {
        (&self.gate, &self.code, &self.rule) == (&other.gate, &other.code, &other.rule)
    }
}

/// A verdict, as recorded and as answered to Claude Code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The decision after the loop guard and overrides.
    pub decision: Decision,
    /// The gate.
    pub gate: String,
    /// The finding's code.
    pub code: String,
    /// The text for the model.
    pub reason: String,
    /// The rule, for a rule.
    #[serde(default)]
    pub rule: Option<String>,
    /// Where the rule is defined: `path:line`.
    #[serde(default)]
    pub file_line: Option<String>,
    /// Whether the loop guard allowed it.
    #[serde(default)]
    pub escalated: bool,
    /// How many blocks the loop guard had counted before it allowed this. Absent in verdicts of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<u32>,
    /// Whether a pause or an allowance allowed it.
    #[serde(default)]
    pub paused: bool,
    /// Whether the same warning was already shown in this state of the work: recorded, but not shown again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeated: bool,
}
