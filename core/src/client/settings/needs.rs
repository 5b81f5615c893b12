//! The events and tools that need hooks: those of the recorder, of the gates and of the rules in force.
//!
//! `install` writes the matchers for them. Other commands compare them with the installed hooks: see
//! [`crate::client::settings::installed`].

use std::fmt;

use serde_json::Value;

use crate::client::payload::{KNOWN, Kind};
use crate::client::settings::hook_command::Entry;
use crate::client::settings::matcher::Tools;
use crate::config::{Config, Gate, Mode, Rule, Settings};

/// A settings file with all hooks. The plugin's are in several files, for versions that know only some.
const HOOKS: &str = include_str!("../../../hooks/settings.example.json");
/// The condition of a hook that needs only git commands in Bash. Claude Code compares it with each command of a line, and
/// calls the hook for every line that it cannot read. Before 2.1.85 it ignores conditions. `git *` would not match
/// `sudo git push` or `/usr/bin/git push` (2.1.177, 2.1.330).
pub const GIT_CONDITION: &str = "Bash(*git *)";
/// The tools that change a file.
const EDITING: [&str; 4] = ["Edit", "MultiEdit", "NotebookEdit", "Write"];

/// The entries of the embedded file, in its order. A test checks that it is a table of hooks.
pub fn embedded() -> Vec<Entry> {
    let settings: Value = serde_json::from_str(HOOKS).unwrap_or_default();
    let events = settings.get("hooks").and_then(Value::as_object).into_iter().flatten();
    let groups = events.flat_map(|(event, groups)| {
        let groups = groups.as_array().into_iter().flatten();
        groups.map(|group| Entry { event: event.clone(), group: group.clone() })
    });
    groups.collect()
}

/// The timeout of teamkeep's hook for an event in seconds; `None` for an event without one.
pub fn timeout(event: &str) -> Option<f64> {
    let entry = embedded().into_iter().find(|entry| entry.event == event)?;
    entry.hook().get("timeout").and_then(Value::as_f64)
}

/// Each event, with the tools for which its hook must run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needs {
    pub events: Vec<(&'static str, Tools)>,
    /// The tools of which only some calls need a hook.
    limited: Vec<Limited>,
}

/// Tools whose hook at an event has a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limited {
    pub event: &'static str,
    pub tools: Tools,
    /// The permission rule in `if`.
    pub condition: &'static str,
}

impl Needs {
    /// The needs of the recorder and the gates, without rules.
    pub fn builtin() -> Needs {
        let mut needs = Needs { events: Vec::new(), limited: Vec::new() };
        needs.add_entries(&embedded());
        needs
    }

    /// The needs with these demands.
    pub fn with(demands: &[Demand]) -> Needs {
        let mut needs = Needs::builtin();
        for set in demands.iter().flat_map(|demand| &demand.hooks) {
            set.needs().for_each(|(kind, tools)| needs.add(kind.name(), tools, set.condition));
        }
        needs
    }

    /// Adds every tool at every event with tools.
    pub fn add_all_tools(&mut self) {
        for row in KNOWN.iter().filter(|row| row.0.has_tool()) {
            self.add(row.1, Tools::All, None);
        }
    }

    /// Adds what these hooks cover, if their matchers have a form that `install` writes.
    pub fn add_entries(&mut self, entries: &[Entry]) {
        for entry in entries {
            let event = KNOWN.iter().find(|row| row.1 == entry.event).map(|row| row.1);
            if let (Some(event), Some(tools)) = (event, Tools::of_matcher(entry.matcher())) {
                let condition =
                    entry.hook().get("if").map(|condition| condition.as_str().unwrap_or_default());
                match condition.map(|condition| (condition, GIT_CONDITION)) {
                    None => self.add(event, tools, None),
                    Some((condition, known)) if condition == known => self.add(event, tools, Some(known)),
                    Some(_) => {}
                }
            }
        }
    }

    fn add(&mut self, event: &'static str, tools: Tools, condition: Option<&'static str>) {
        if let Some(condition) = condition {
            let limited = Limited { event, tools, condition };
            if !self.limited.contains(&limited) {
                self.limited.push(limited);
            }
            return;
        }
        match self.events.iter_mut().find(|(known, _)| *known == event) {
            Some((_, known)) => known.add(tools),
            None => self.events.push((event, tools)),
        }
    }

    /// The tools of an event; `None` if it does not need a hook.
    pub fn tools(&self, event: &str) -> Option<&Tools> {
        self.events.iter().find(|(known, _)| *known == event).map(|(_, tools)| tools)
    }

    /// The hooks with a condition, without those for tools that need every call.
    pub fn limited(&self) -> impl Iterator<Item = &Limited> {
        let is_covered = |limited: &&Limited| {
            self.tools(limited.event).is_some_and(|all| limited.tools.beyond(all).is_empty())
        };
        self.limited.iter().filter(move |limited| !is_covered(limited))
    }

    /// Each event, and the matcher of its hook if it needs one.
    pub fn matchers(&self) -> impl Iterator<Item = (&'static str, Option<String>)> {
        self.events
            .iter()
            .map(|(event, tools)| (*event, Kind::named(event).has_tool().then(|| tools.matcher())))
    }
}

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
        // Every install has a hook for the lines of skills if Claude Code has the event.
        let is_needed = |kind: Kind| {
            kind != Kind::PreSkillShellCommand || rule.events.iter().any(|event| Kind::named(event) == kind)
        };
        let applies = |kind: &Kind| {
            rule.action != Mode::Off
                && rule.applies_to(*kind)
                && is_needed(*kind)
                && (rule.tools.is_empty() || kind.has_tool())
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
