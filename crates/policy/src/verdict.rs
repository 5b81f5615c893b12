//! Decisions, findings and verdicts: of gates and rules, and of failures of the policy itself, whose meaning `on-error` decides.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Reason;
use teamkeep_config::{Gate, Mode, OnError};
use teamkeep_model::payload::EventKind;

/// The value of `gate` in a verdict about a failure.
pub const FAILURE_GATE: &str = "policy";
/// A policy file cannot be used.
pub const POLICY_UNUSABLE: &str = "policy-unusable";
/// A project's file changed after it was trusted, so nothing in it runs.
pub const POLICY_UNTRUSTED: &str = "policy-untrusted";
/// The policy could not be evaluated, or its result could not be stored.
pub const POLICY_FAILED: &str = "policy-failed";
/// The environment points the hook elsewhere than an organization with fixed gates expects.
pub const HOOK_REDIRECTED: &str = "hook-redirected";

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    #[default]
    Allow,
    Warn,
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

impl Decision {
    /// The decision for a failure at this event.
    pub fn on_failure(on_error: OnError, kind: EventKind) -> Decision {
        let blocks = on_error == OnError::Block && can_block_on_failure(kind);
        if blocks { Decision::Block } else { Decision::Allow }
    }

    /// The decision for a failure that nothing counts. A task is also announced as completed at the end of a turn, so there a
    /// block would repeat forever; before a tool completes a task, the tool itself is blocked.
    pub fn on_uncounted_failure(on_error: OnError, kind: EventKind) -> Decision {
        if kind == EventKind::TaskCompleted { Decision::Allow } else { Decision::on_failure(on_error, kind) }
    }
}

/// Whether a failure that the loop guard counts may block this event. Idle and the end of a turn are never blocked, because
/// the agent could not continue.
pub(crate) fn can_block_on_failure(kind: EventKind) -> bool {
    kind.is_before_tool() || matches!(kind, EventKind::TaskCreated | EventKind::TaskCompleted)
}

/// The finding of one gate, before the loop guard and overrides apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub gate: Gate,
    /// A stable code (`shutdown-of-busy-teammate`).
    pub code: &'static str,
    pub decision: Decision,
    /// The agent that the loop guard counts for: the actor, or the teammate that the action is about.
    pub about: String,
    /// The name to count blocks under instead, if one action is about several agents or the agent has several counts.
    pub counted: Option<String>,
    /// The action and why, escaped.
    pub reason: String,
    /// The advice to the model; may be empty.
    pub advice: String,
    pub rule: Option<String>,
    /// Where the rule is defined: `path:line`.
    pub file_line: Option<String>,
    /// Whether it blocks every time, without the loop guard.
    pub lasting: bool,
    /// A warning with this key is shown and recorded only once in a run.
    pub once: Option<String>,
}

impl Finding {
    /// A finding of a gate (not of a rule).
    pub fn new(gate: Gate, code: &'static str, decision: Decision, about: &str, reason: Reason) -> Finding {
        let (reason, advice) = reason.finish();
        Finding {
            gate,
            code,
            decision,
            about: about.to_owned(),
            counted: None,
            reason,
            advice,
            rule: None,
            file_line: None,
            lasting: false,
            once: None,
        }
    }

    /// The text for the model ([`Verdict::text`]).
    pub fn text(&self) -> String {
        self.verdict().text()
    }

    /// The verdict before the loop guard applies.
    pub fn verdict(&self) -> Verdict {
        Verdict {
            rule: self.rule.clone(),
            file_line: self.file_line.clone(),
            advice: self.advice.clone(),
            ..Verdict::new(self.decision, self.gate.name(), self.code, self.reason.clone())
        }
    }
}

/// A verdict, as recorded and as answered to Claude Code.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The decision after the loop guard and overrides.
    pub decision: Decision,
    pub gate: String,
    pub code: String,
    pub reason: String,
    /// The advice to the model; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub advice: String,
    /// The rule's name, for a rule.
    pub rule: Option<String>,
    /// Where the rule is defined: `path:line`.
    pub file_line: Option<String>,
    /// Whether the loop guard allowed it.
    #[serde(default)]
    pub escalated: bool,
    /// How many blocks the loop guard had counted before it allowed this. Absent in verdicts of older versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocks: Option<u32>,
    /// Whether a pause or an allowance allowed it.
    #[serde(default)]
    pub paused: bool,
    /// Whether the same warning was already shown in this state of the work: recorded, but not shown again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeated: bool,
}

impl Verdict {
    pub fn new(decision: Decision, gate: &str, code: &str, reason: String) -> Verdict {
        Verdict { decision, gate: gate.to_owned(), code: code.to_owned(), reason, ..Verdict::default() }
    }

    /// The recorded verdict for a failure that nothing counts.
    pub fn of_failure(on_error: OnError, kind: EventKind, code: &str, reason: String) -> Verdict {
        Verdict::new(Decision::on_uncounted_failure(on_error, kind), FAILURE_GATE, code, reason)
    }

    /// Whether two verdicts are about the same finding, whatever their reasons.
    pub fn is_same(&self, other: &Verdict) -> bool {
        (&self.gate, &self.code, &self.rule) == (&other.gate, &other.code, &other.rule)
    }

    /// The text for the model: the decision, the reason and the advice. After blocks, what it read then, without the decision.
    pub fn text(&self) -> String {
        let decision = match self.decision {
            Decision::Block => "Blocked: ",
            Decision::Warn => "Warning: ",
            Decision::Allow => "",
        };
        let space = if self.advice.is_empty() { "" } else { " " };
        format!("{decision}{}{space}{}", self.reason, self.advice)
    }

    /// The outcome in one or two words.
    pub fn word(&self) -> &'static str {
        match self.decision {
            Decision::Block => "block",
            Decision::Warn if self.repeated => "warn again",
            Decision::Warn => "warn",
            Decision::Allow if self.escalated => "allow after blocks",
            Decision::Allow if self.paused => "paused",
            Decision::Allow => "allow",
        }
    }

    /// The gate; for a rule with its name: `rule no-push`.
    pub fn source(&self) -> String {
        self.rule.as_ref().map_or_else(|| self.gate.clone(), |rule| format!("{} {rule}", self.gate))
    }
}

/// The field `verdict` of a log line: a verdict with the id of the judged event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedVerdict {
    #[serde(flatten)]
    pub verdict: Verdict,
    pub of: String,
}

impl RecordedVerdict {
    /// Reads the field; `None` if it is not a verdict, or one that this version does not know.
    pub fn read(raw: &RawValue) -> Option<RecordedVerdict> {
        serde_json::from_str(raw.get()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_the_same_if_they_are_of_one_gate_and_code_and_a_warning_has_a_word_of_its_own_if_repeated()
     {
        let verdict = |gate: &str, code: &str| Verdict::new(Decision::Warn, gate, code, "why".to_owned());
        let one = verdict("team-size", "c");
        assert!(one.is_same(&Verdict { reason: "other".to_owned(), ..verdict("team-size", "c") }));
        let rule = Verdict { rule: Some("r".to_owned()), ..verdict("team-size", "c") };
        for other in [verdict("protect-lead", "c"), verdict("team-size", "d"), rule] {
            assert!(!one.is_same(&other), "{other:?}");
        }
        assert_eq!(one.word(), "warn");
        assert_eq!(Verdict { repeated: true, ..one }.word(), "warn again");
    }

    #[test]
    fn a_recorded_verdict_is_read_as_it_was_written() {
        let verdict = r#"{"decision":"block","gate":"protect-lead","code":"c","reason":"no","rule":null,"file_line":null,"escalated":false,"paused":false,"of":"e1"}"#;
        let raw = RawValue::from_string(verdict.to_owned()).unwrap();
        let recorded = RecordedVerdict::read(&raw).unwrap();
        assert_eq!((recorded.of.as_str(), recorded.verdict.word()), ("e1", "block"));
        assert_eq!(serde_json::to_string(&recorded).unwrap(), verdict);
        for other in ["null", "[1]", r#"{"decision":"explode","of":"e1"}"#, &verdict.replace("of", "off")] {
            assert_eq!(
                RecordedVerdict::read(&RawValue::from_string(other.to_owned()).unwrap()),
                None,
                "{other}"
            );
        }
    }
}
