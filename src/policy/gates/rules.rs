//! Evaluates one rule of the user.

use std::time::Instant;

use serde_json::Value;

use super::actor;
use crate::config::pattern::is_plain;
use crate::config::{Gate, Mode, Rule};
use crate::payload::{Kind, Payload};
use crate::policy::pattern::{self, Pattern, Undecidable};
use crate::policy::{Decision, Facts, Finding, Reason};

/// Maximum length of a name that a glob reads, in bytes.
pub(super) const LONGEST_NAME: usize = 1024;

/// A rule and its patterns, by JSON pointer.
#[derive(Debug)]
pub struct CompiledRule<'a> {
    /// The rule.
    pub rule: &'a Rule,
    patterns: Vec<(&'a str, Pattern<'a>)>,
}

/// The result of a rule for an event.
pub enum RuleOutcome<'a> {
    /// It does not match.
    Nothing,
    /// It matches.
    Objects(Finding),
    /// It has no result.
    Unsaid(UndecidableRule<'a>),
}

/// Why a rule has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UndecidableRule<'a> {
    /// The value at this pointer is too long for its pattern, or the pattern is invalid.
    Pattern(&'a str, Undecidable),
    /// Part of the payload was not parsed, and the value may be there.
    Unopened(&'a str),
    /// A name is too long for its glob.
    Name {
        /// The key of the glob.
        what: &'a str,
        /// The length of the name, in bytes.
        has: usize,
    },
    /// The time limit was reached.
    Late,
}

impl<'a> CompiledRule<'a> {
    /// A rule with uncompiled patterns.
    pub fn of(rule: &'a Rule) -> CompiledRule<'a> {
        let patterns =
            rule.matches.iter().map(|(pointer, wanted)| (pointer.as_str(), Pattern::of(wanted))).collect();
        CompiledRule { rule, patterns }
    }

    /// Evaluates the rule; after `until` it has no result.
    pub fn judge(&self, facts: &Facts<'_>, until: Option<Instant>) -> RuleOutcome<'a> {
        let rule = self.rule;
        let (event, team) = (&facts.event, facts.team);
        if rule.action == Mode::Off || !rule.looks_at(event.kind) {
            return RuleOutcome::Nothing;
        }
        // A mismatch decides, even if another pattern has no result.
        let mut unsaid = None;
        let actor = event.actor.name.as_deref().unwrap_or_default();
        let team = team.name.as_deref().unwrap_or_default();
        let tools: Vec<&str> = rule.tools.iter().map(String::as_str).collect();
        let tool = event.payload.tool_name().filter(|_| !tools.is_empty());
        if !tools.is_empty() && tool.is_none() {
            return RuleOutcome::Nothing;
        }
        let names = [
            ("tools", &tools[..], tool.unwrap_or_default()),
            ("actor", &[rule.actor.as_str()], actor),
            ("team", &[rule.team.as_str()], team),
        ];
        for (what, globs, name) in names.into_iter().filter(|(_, globs, _)| !globs.is_empty()) {
            match one_means(what, globs, name, until) {
                Ok(true) => {}
                Ok(false) => return RuleOutcome::Nothing,
                Err(why) => unsaid = unsaid.or(Some(why)),
            }
        }
        for (pointer, wanted) in &self.patterns {
            if until.is_some_and(|until| Instant::now() >= until) {
                return RuleOutcome::Unsaid(UndecidableRule::Late);
            }
            match is_at(event.payload, pointer, wanted) {
                Ok(true) => {}
                Ok(false) => return RuleOutcome::Nothing,
                Err(why) => unsaid = unsaid.or(Some(why)),
            }
        }
        unsaid.map_or_else(|| RuleOutcome::Objects(objection(rule, facts)), RuleOutcome::Unsaid)
    }
}

fn objection(rule: &Rule, facts: &Facts<'_>) -> Finding {
    // An event that cannot be blocked gets a warning.
    let mode = if facts.event.kind.is_judged() { rule.action } else { Mode::Warn };
    let mut reason = Reason::of(mode);
    if facts.event.kind == Kind::TeammateIdle && rule.action == Mode::Warn {
        // The user reads the reason, so it names the teammate.
        reason = reason.name(actor(facts)).then(" goes idle: ");
    }
    let reason = match rule.reason.trim() {
        "" => reason.then("the user's rule ").quote(&rule.name).then(" objects."),
        said => reason.then(said),
    };
    finding(rule, "rule", mode.into(), facts, reason)
}

pub(super) fn finding(
    rule: &Rule,
    code: &'static str,
    decision: Decision,
    facts: &Facts<'_>,
    reason: Reason,
) -> Finding {
    Finding {
        gate: Gate::Rule,
        code,
        decision,
        about: actor(facts).to_owned(),
        counted: None,
        reason: reason.finish(),
        rule: Some(rule.name.clone()),
        place: (!rule.place.is_empty()).then(|| rule.place.clone()),
        // A blocked tool call leaves all other tools. A blocked end of a turn or completion does not.
        lasting: rule.lasting && facts.event.kind == Kind::PreToolUse,
    }
}

/// Whether the value at a pointer matches. Numbers and booleans match as written, arrays and objects as JSON on one
/// line. A missing value matches nothing.
fn is_at<'a>(payload: &Payload, pointer: &'a str, wanted: &Pattern<'_>) -> Result<bool, UndecidableRule<'a>> {
    let means = |text: &str| wanted.is_match(text).map_err(|why| UndecidableRule::Pattern(pointer, why));
    match at(payload, pointer) {
        None | Some(Value::Null) if payload.cut => Err(UndecidableRule::Unopened(pointer)),
        None | Some(Value::Null) => Ok(false),
        Some(Value::String(text)) => means(text),
        // The cut part may be what the pattern looks for, or must not find.
        Some(Value::Array(_) | Value::Object(_)) if payload.cut && !wanted.matches_all() => {
            Err(UndecidableRule::Unopened(pointer))
        }
        Some(other) => means(&other.to_string()),
    }
}

/// Whether one of the globs matches a name.
fn one_means<'a>(
    what: &'a str,
    globs: &[&str],
    name: &str,
    until: Option<Instant>,
) -> Result<bool, UndecidableRule<'a>> {
    let mut unsaid = None;
    for glob in globs {
        let is_swift = *glob == "*" || is_plain(glob);
        if !is_swift && until.is_some_and(|until| Instant::now() >= until) {
            return Err(UndecidableRule::Late);
        }
        if !is_swift && name.len() > LONGEST_NAME {
            unsaid = Some(UndecidableRule::Name { what, has: name.len() });
        } else if pattern::glob(glob, name) {
            return Ok(true);
        }
    }
    unsaid.map_or(Ok(false), Err)
}

/// The value at a JSON pointer into the payload.
fn at<'a>(payload: &'a Payload, pointer: &str) -> Option<&'a Value> {
    let path = pointer.strip_prefix('/')?;
    let (first, rest) = path.find('/').map_or((path, ""), |slash| path.split_at(slash));
    payload.field(&first.replace("~1", "/").replace("~0", "~"))?.pointer(rest)
}
