//! What the hooks are needed for: what is recorded and judged by itself, and what the rules in force look at.
//!
//! `install` writes the matchers by it. The rest of the program compares it with what is installed: see
//! [`crate::settings::coverage`].

use serde_json::Value;

use crate::config::{Mode, Rule};
use crate::error::Result;
use crate::payload::{KNOWN, Kind};
use crate::settings::entries::{Entry, embedded};
use crate::settings::tools::Tools;

/// Each event, with the tools for which its hook is to run where it has any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needs {
    events: Vec<(&'static str, Tools)>,
}

impl Needs {
    /// What is recorded and judged without any rule.
    ///
    /// # Errors
    /// When the embedded table of hooks is not what it should be, which a test rules out.
    pub fn builtin() -> Result<Needs> {
        let events = embedded()?.into_iter().filter_map(|entry| {
            let matcher = entry.group.get("matcher").and_then(Value::as_str);
            let tools = matcher.map_or(Some(Tools::All), Tools::of_matcher)?;
            Some((name(&entry.event)?, tools))
        });
        Ok(Needs { events: events.collect() })
    }

    /// What is needed with these rules.
    ///
    /// # Errors
    /// As [`Needs::builtin`].
    pub fn with(rules: &[Rule]) -> Result<Needs> {
        let mut needs = Needs::builtin()?;
        rules.iter().flat_map(of_rule).for_each(|(kind, tools)| needs.add(kind.name(), tools));
        Ok(needs)
    }

    /// Needs what these hooks cover as well, as far as they have a form that is written here.
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

    /// The tools of an event; nothing where it needs no hook.
    pub fn tools(&self, event: &str) -> Option<&Tools> {
        self.events.iter().find(|(known, _)| *known == event).map(|(_, tools)| tools)
    }

    /// Each event, and the matcher of its hook if it is to have one.
    pub fn matchers(&self) -> impl Iterator<Item = (&'static str, Option<String>)> {
        self.events.iter().map(|(event, tools)| (*event, has_tools(event).then(|| tools.matcher())))
    }
}

/// What a rule looks at. One that names tools looks at no event without.
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
