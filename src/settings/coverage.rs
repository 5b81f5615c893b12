//! The coverage of the installed hooks: which rules of the policy are evaluated, and which are not.

use std::fmt;

use serde_json::Value;

use crate::config::Rule;
use crate::config::pattern::is_plain;
use crate::error::Result;
use crate::payload::Kind as Event;
use crate::settings::client_events::since;
use crate::settings::hook_matcher::{PATTERNS, matches};
use crate::settings::layer::{Kind, SettingsLayer, plugins};
use crate::settings::needs::{Needs, has_tools, of_rule};
use crate::settings::version::FIRST_WITH_TEAMS;

/// Sample names for a `*`. A matcher that matches all of them is taken to match every name.
const SAMPLES: [&str; 4] = ["", "Bash", "x_9", "mcp__server__tool-1"];
/// How many tools of a rule are listed.
const MAX_LISTED: usize = 5;

/// The hooks that Claude Code runs.
#[derive(Debug, Clone, Default)]
pub struct Coverage {
    hooks: Vec<(String, Option<Value>)>,
}

/// A rule that is not evaluated at some of its events or tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unasked {
    /// Its name.
    pub rule: String,
    /// Where it is defined: `path:line`.
    pub place: String,
    /// The events and tools.
    pub gaps: Vec<Gap>,
}

/// An event at which no installed hook runs for these tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// The event.
    pub event: Event,
    /// The tools, as the rule spells them; empty for all tools, and for an event without tools.
    pub tools: Vec<String>,
}

impl Coverage {
    /// The coverage of the hooks in these settings files, and those of a plugin that they enable.
    ///
    /// # Errors
    /// The embedded table of hooks is invalid, which a test rules out.
    pub fn of(layers: &[SettingsLayer]) -> Result<Coverage> {
        let mut coverage = Coverage::default();
        let is_only =
            |layer: &SettingsLayer| layer.kind == Kind::Managed && layer.has("allowManagedHooksOnly");
        if let Some(managed) = layers.iter().find(|layer| is_only(layer)) {
            coverage.add(managed);
            return Ok(coverage);
        }
        layers.iter().for_each(|layer| coverage.add(layer));
        match plugins(layers).is_empty() {
            true => Ok(coverage),
            false => coverage.with_builtin(),
        }
    }

    /// Adds the hooks of a settings file.
    pub fn add(&mut self, layer: &SettingsLayer) {
        let hooks = layer.ours().into_iter().map(|ours| ours.entry);
        self.hooks.extend(hooks.map(|entry| (entry.event, entry.group.get("matcher").cloned())));
    }

    /// The same with what a plugin's hooks cover.
    ///
    /// # Errors
    /// As [`Coverage::of`].
    pub fn with_builtin(mut self) -> Result<Coverage> {
        let builtin = Needs::builtin()?;
        let hooks = builtin.matchers().map(|(event, matcher)| (event.to_owned(), matcher.map(Value::String)));
        self.hooks.extend(hooks);
        Ok(self)
    }

    /// Whether there is no hook.
    pub fn is_empty(&self) -> bool {
        self.hooks.is_empty()
    }

    /// The rules that are not evaluated at all their events and tools.
    pub fn unasked(&self, rules: &[Rule]) -> Vec<Unasked> {
        let of = |rule: &Rule| {
            let gaps: Vec<Gap> = of_rule(rule).filter_map(|(event, _)| self.gap(rule, event)).collect();
            let (name, place) = (rule.name.clone(), rule.place.clone());
            (!gaps.is_empty()).then_some(Unasked { rule: name, place, gaps })
        };
        rules.iter().filter_map(of).collect()
    }

    fn gap(&self, rule: &Rule, event: Event) -> Option<Gap> {
        let runs = |tool: Option<&str>| {
            let mut patterns = PATTERNS;
            let mut hooks = self.hooks.iter().filter(|(name, _)| name == event.name());
            hooks.any(|(_, matcher)| matches(matcher.as_ref(), tool, &mut patterns))
        };
        if !has_tools(event.name()) {
            let is_there = self.hooks.iter().any(|(name, _)| name == event.name());
            // A rule without events applies to the events that this version of Claude Code has.
            let is_late = rule.events.is_empty() && since(event.name()).is_some_and(|v| v > FIRST_WITH_TEAMS);
            return (!is_there && !is_late).then(|| Gap { event, tools: Vec::new() });
        }
        if rule.tools.is_empty() {
            let all = samples("*").iter().all(|name| runs(Some(name)));
            return (!all).then(|| Gap { event, tools: Vec::new() });
        }
        let left = |glob: &&String| !samples(glob).iter().all(|name| runs(Some(name)));
        let tools: Vec<String> = rule.tools.iter().filter(left).cloned().collect();
        (!tools.is_empty()).then_some(Gap { event, tools })
    }
}

/// Sample names that a glob matches.
fn samples(glob: &str) -> Vec<String> {
    if is_plain(glob) {
        return vec![glob.to_owned()];
    }
    let sample = |star: &str| {
        let mut name = String::new();
        let mut chars = glob.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '*' => name.push_str(star),
                '?' => name.push('x'),
                '[' => {
                    let is_not = chars.next_if_eq(&'!').is_some();
                    let mut set: Vec<char> = chars.next().into_iter().collect();
                    set.extend(chars.by_ref().take_while(|c| *c != ']'));
                    let other = ('a'..='z').find(|c| !set.contains(c));
                    name.extend(if is_not { other } else { set.first().copied() });
                }
                c => name.push(c),
            }
        }
        name
    };
    SAMPLES.into_iter().map(sample).filter(|name| !name.is_empty()).collect()
}

impl Unasked {
    /// The message for the user.
    pub fn message(&self) -> String {
        format!("rule {:?} is not evaluated at {self}: no installed hook covers it", self.rule)
    }
}

impl fmt::Display for Gap {
    /// `PreToolUse for Bash, Edit`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.event.name())?;
        if !has_tools(self.event.name()) {
            return Ok(());
        }
        let named = self.tools.iter().take(MAX_LISTED).map(String::as_str).collect::<Vec<_>>().join(", ");
        match self.tools.len() {
            0 => out.write_str(" for every tool"),
            all if all > MAX_LISTED => write!(out, " for {named} and {} more", all - MAX_LISTED),
            _ => write!(out, " for {named}"),
        }
    }
}

impl fmt::Display for Unasked {
    /// `PreToolUse for Bash; TaskCreated`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gaps: Vec<String> = self.gaps.iter().map(Gap::to_string).collect();
        out.write_str(&gaps.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rule(events: &[&str], tools: &[&str]) -> Rule {
        let rule = json!({"name": "mine", "action": "warn", "events": events, "tools": tools});
        serde_json::from_value(rule).unwrap()
    }

    fn gaps(hooks: &[(&str, Option<&str>)], rule: &Rule) -> Vec<String> {
        let hook = |(event, matcher): &(&str, Option<&str>)| ((*event).to_owned(), matcher.map(Value::from));
        let coverage = Coverage { hooks: hooks.iter().map(hook).collect() };
        coverage.unasked(std::slice::from_ref(rule)).iter().map(Unasked::to_string).collect()
    }

    #[test]
    fn a_rule_is_asked_where_some_hook_runs_for_each_of_its_tools() {
        let before = |matcher| [("PreToolUse", Some(matcher))];
        for (matcher, tools, left) in [
            ("Agent|Task", &["Bash"][..], Some("PreToolUse for Bash")),
            ("Agent|Bash", &["Bash"], None),
            ("*", &["Bash"], None),
            ("B.*", &["Bash"], None),
            ("Agent", &["Agent", "Bash", "Edit"], Some("PreToolUse for Bash, Edit")),
            ("^(Agent|mcp__.*)$", &["mcp__*"], None),
            ("mcp__git", &["mcp__*"], Some("PreToolUse for mcp__*")),
            ("^mcp__", &["mcp__*", "mcp__[!a]?t"], None),
            ("Bash|Agent", &[], Some("PreToolUse for every tool")),
            (".*", &[], None),
            ("(?!Read)", &["Bash"], Some("PreToolUse for Bash")),
        ] {
            let found = gaps(&before(matcher), &rule(&["PreToolUse"], tools));
            assert_eq!(found.first().map(String::as_str), left, "{matcher} {tools:?}");
        }
        let two = [("PreToolUse", Some("Agent")), ("PreToolUse", Some("Bash"))];
        assert_eq!(gaps(&two, &rule(&["pre-tool-use"], &["Bash", "Agent"])), [""; 0]);
    }

    #[test]
    fn a_rule_without_events_wants_those_that_every_client_with_teams_has() {
        let all = rule(&[], &[]);
        let mut hooks: Vec<(&str, Option<&str>)> =
            ["TeammateIdle", "TaskCompleted", "SubagentStop", "Stop"].map(|event| (event, None)).into();
        assert_eq!(gaps(&hooks, &all), ["PreToolUse for every tool"]);
        hooks.push(("PreToolUse", None));
        assert_eq!(gaps(&hooks, &all), [""; 0], "TaskCreated came later");
        assert_eq!(gaps(&hooks, &rule(&["TaskCreated", "Stop"], &[])), ["TaskCreated"]);
        assert_eq!(gaps(&hooks[1..], &rule(&["TeammateIdle"], &["Bash"])), [""; 0], "it never matches");
    }
}
