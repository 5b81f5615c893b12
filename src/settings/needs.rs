//! The events and tools that need hooks: those of the recorder and the gates, and those of the rules in force.
//!
//! `install` writes the matchers for them. Other commands compare them with the installed hooks: see
//! [`crate::settings::coverage`].

use serde_json::Value;

use crate::config::{Mode, Rule};
use crate::error::Result;
use crate::payload::{KNOWN, Kind};
use crate::settings::entries::{Entry, embedded};
use crate::settings::tools::Tools;

/// Each event, with the tools for which its hook must run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needs {
    events: Vec<(&'static str, Tools)>,
}

impl Needs {
    /// The needs of the recorder and the gates, without rules.
    ///
    /// # Errors
    /// The embedded table of hooks is invalid, which a test rules out.
    pub fn builtin() -> Result<Needs> {
        let events = embedded()?.into_iter().filter_map(|entry| {
            let matcher = entry.group.get("matcher").and_then(Value::as_str);
            let tools = matcher.map_or(Some(Tools::All), Tools::of_matcher)?;
            Some((name(&entry.event)?, tools))
        });
        Ok(Needs { events: events.collect() })
    }

    /// The needs with these rules.
    ///
    /// # Errors
    /// As [`Needs::builtin`].
    pub fn with(rules: &[Rule]) -> Result<Needs> {
        let mut needs = Needs::builtin()?;
        rules.iter().flat_map(of_rule).for_each(|(kind, tools)| needs.add(kind.name(), tools));
        Ok(needs)
    }

    /// Adds what these hooks cover, if their matchers have a form that `install` writes.
    pub fn keep(&mut self, there: &[Entry]) {
        for entry in there {
            let matcher = entry.group.get("matcher").and_then(Value::as_str).unwrap_or_default();
            if let (Some(event), Some(tools)) = (name(&entry.event), Tools::of_matcher(matcher)) {
                self.add(event, tools);
            }
        }
    }

    fn add(&mut self, event: &'static str, tools: Tools) {
        match self.events.iter_mut().find(|(known, _)| *known == event) {
            Some((_, known)) => known.add(tools),
            None => self.events.push((event, tools)),
        }
    }

    /// The tools of an event; `None` if it does not need a hook.
    pub fn tools(&self, event: &str) -> Option<&Tools> {
        self.events.iter().find(|(known, _)| *known == event).map(|(_, tools)| tools)
    }

    /// Each event, and the matcher of its hook if it needs one.
    pub fn matchers(&self) -> impl Iterator<Item = (&'static str, Option<String>)> {
        self.events.iter().map(|(event, tools)| (*event, has_tools(event).then(|| tools.matcher())))
    }
}

/// The events and tools of a rule. A rule that names tools does not apply to events without tools.
pub fn of_rule(rule: &Rule) -> impl Iterator<Item = (Kind, Tools)> {
    let looks_at = |kind: &Kind| {
        rule.action != Mode::Off && rule.looks_at(*kind) && (rule.tools.is_empty() || kind.has_tool())
    };
    KNOWN.iter().map(|row| row.0).filter(looks_at).map(|kind| (kind, Tools::of_globs(&rule.tools)))
}

/// Whether the matcher of an event is compared with the name of a tool.
pub fn has_tools(event: &str) -> bool {
    Kind::named(event).has_tool()
}

fn name(event: &str) -> Option<&'static str> {
    KNOWN.iter().find(|row| row.1 == event).map(|row| row.1)
}
