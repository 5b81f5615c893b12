//! The hook calls that the rules and the optional gates of a configuration need.

use std::fmt;

use crate::client::payload::{KNOWN, Kind};
use crate::client::settings::needs::Tools;
use crate::config::{Config, Gate, Mode, Rule, Settings};

/// The condition of a hook that needs only git commands in Bash. Claude Code compares it with each command of a line, and
/// calls the hook for every line that it cannot read. Before 2.1.85 it ignores conditions. `git *` would not match
/// `sudo git push` or `/usr/bin/git push` (2.1.177, 2.1.330).
pub const GIT_CONDITION: &str = "Bash(*git *)";
/// The tools that change a file.
const EDITING: [&str; 4] = ["Edit", "MultiEdit", "NotebookEdit", "Write"];

/// The hook calls that a rule or a gate needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Demand {
    pub subject: Subject,
    /// Where it is defined, `path:line`; empty if that is unknown.
    pub file_line: String,
    /// Whether it is for all events that the versions of Claude Code have.
    pub is_for_any_event: bool,
    pub hooks: Vec<HookSet>,
}

/// A part of the policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    Gate(Gate),
    /// The rule with this name.
    Rule(String),
}

impl fmt::Display for Subject {
    /// `rule "no-push"` or `gate edit-collision`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Gate(gate) => write!(out, "gate {}", gate.name()),
            Subject::Rule(name) => write!(out, "rule {name:?}"),
        }
    }
}

/// Some tools at some events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookSet {
    pub events: Vec<Kind>,
    /// Globs for the tools; empty for all.
    pub tools: Vec<String>,
    /// Which calls of the tools it needs, if not all: a permission rule.
    pub condition: Option<&'static str>,
}

impl Demand {
    /// The demands of a configuration. Its settings, if they are known, have the places of the gates.
    pub fn all(config: &Config, settings: &Settings) -> Vec<Demand> {
        let is_on = |gate: &Gate| gate.mode(&config.policy).is_some_and(|mode| mode != Mode::Off);
        let gates = Gate::ALL.into_iter().filter(|gate| gate.guards_files() && is_on(gate));
        let gates = gates.map(|gate| {
            let setting = settings.get(&format!("policy.{}.mode", gate.name()));
            let file_line = setting.map(|setting| setting.origin.location()).unwrap_or_default();
            Demand { file_line, ..Demand::of_gate(gate) }
        });
        gates.chain(Demand::of_rules(&config.rule)).collect()
    }

    pub fn of_rules(rules: &[Rule]) -> Vec<Demand> {
        rules.iter().map(Demand::of_rule).collect()
    }

    /// A rule that names tools does not apply to events without tools.
    fn of_rule(rule: &Rule) -> Demand {
        let applies = |kind: &Kind| {
            rule.action != Mode::Off && rule.applies_to(*kind) && (rule.tools.is_empty() || kind.has_tool())
        };
        let events = KNOWN.iter().map(|row| row.0).filter(applies).collect();
        Demand {
            subject: Subject::Rule(rule.name.clone()),
            file_line: rule.file_line.clone(),
            is_for_any_event: rule.events.is_empty(),
            hooks: vec![HookSet { events, tools: rule.tools.clone(), condition: None }],
        }
    }

    fn of_gate(gate: Gate) -> Demand {
        let set = |events: &[Kind], tools: &[&str], condition| HookSet {
            events: events.to_vec(),
            tools: tools.iter().map(|tool| (*tool).to_owned()).collect(),
            condition,
        };
        // A failed edit is taken back.
        let edits = set(&[Kind::PreToolUse, Kind::PostToolUseFailure], &EDITING, None);
        let others = match gate {
            Gate::EditCollision => set(&[Kind::PreToolUse], &["Read"], None),
            _ => set(&[Kind::PreToolUse, Kind::PostToolUse], &["Bash"], Some(GIT_CONDITION)),
        };
        let (subject, hooks) = (Subject::Gate(gate), vec![edits, others]);
        Demand { subject, file_line: String::new(), is_for_any_event: false, hooks }
    }
}

impl HookSet {
    /// Each event, with the tools.
    pub fn needs(&self) -> impl Iterator<Item = (Kind, Tools)> {
        self.events.iter().map(|event| (*event, Tools::of_globs(&self.tools)))
    }
}
