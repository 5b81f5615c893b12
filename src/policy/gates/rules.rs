//! The user's own rules.

use std::time::Instant;

use serde_json::Value;

use super::actor;
use crate::config::pattern::is_plain;
use crate::config::{Mode, Rule};
use crate::payload::{Kind, Payload};
use crate::policy::pattern::{self, Pattern, Unsaid};
use crate::policy::{Decision, Facts, Finding, Reason};

/// Bytes of a name that a glob looks at: no tool, actor or team has so long a one.
pub(super) const LONGEST_NAME: usize = 1024;

/// A rule and its patterns, by the pointers that say where they look.
#[derive(Debug)]
pub struct Asked<'a> {
    /// The rule.
    pub rule: &'a Rule,
    patterns: Vec<(&'a str, Pattern<'a>)>,
}

/// What a rule says of an event.
pub enum Said<'a> {
    /// It does not match.
    Nothing,
    /// It matches.
    Objects(Finding),
    /// It cannot say.
    Unsaid(Why<'a>),
}

/// Why it cannot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why<'a> {
    /// What stands at this pointer is too much for its pattern, or its pattern is none.
    Pattern(&'a str, Unsaid),
    /// Part of the payload was not opened, and what it looks for may be there.
    Unopened(&'a str),
    /// A name is longer than any that its glob looks at, in bytes.
    Name {
        /// The key of the glob.
        what: &'a str,
        /// How many it has.
        has: usize,
    },
    /// The time was over.
    Late,
}

impl<'a> Asked<'a> {
    /// A rule whose patterns are not compiled yet.
    pub fn of(rule: &'a Rule) -> Asked<'a> {
        let patterns =
            rule.matches.iter().map(|(pointer, wanted)| (pointer.as_str(), Pattern::of(wanted))).collect();
        Asked { rule, patterns }
    }

    /// What the rule says; after `until` only that it is late.
    pub fn judge(&self, facts: &Facts<'_>, until: Option<Instant>) -> Said<'a> {
        let rule = self.rule;
        let (event, team) = (&facts.event, facts.team);
        if rule.action == Mode::Off || !rule.looks_at(event.kind) {
            return Said::Nothing;
        }
        // One that says no settles it, whatever another could not say.
        let mut unsaid = None;
        let actor = event.actor.name.as_deref().unwrap_or_default();
        let team = team.name.as_deref().unwrap_or_default();
        let tools: Vec<&str> = rule.tools.iter().map(String::as_str).collect();
        let tool = event.payload.tool().filter(|_| !tools.is_empty());
        if !tools.is_empty() && tool.is_none() {
            return Said::Nothing;
        }
        let names = [
            ("tools", &tools[..], tool.unwrap_or_default()),
            ("actor", &[rule.actor.as_str()], actor),
            ("team", &[rule.team.as_str()], team),
        ];
        for (what, globs, name) in names.into_iter().filter(|(_, globs, _)| !globs.is_empty()) {
            match one_means(what, globs, name, until) {
                Ok(true) => {}
                Ok(false) => return Said::Nothing,
                Err(why) => unsaid = unsaid.or(Some(why)),
            }
        }
        for (pointer, wanted) in &self.patterns {
            if until.is_some_and(|until| Instant::now() >= until) {
                return Said::Unsaid(Why::Late);
            }
            match is_at(event.payload, pointer, wanted) {
                Ok(true) => {}
                Ok(false) => return Said::Nothing,
                Err(why) => unsaid = unsaid.or(Some(why)),
            }
        }
        unsaid.map_or_else(|| Said::Objects(objection(rule, facts)), Said::Unsaid)
    }
}

fn objection(rule: &Rule, facts: &Facts<'_>) -> Finding {
    // An event that cannot be blocked gets a warning.
    let mode = if facts.event.kind.is_judged() { rule.action } else { Mode::Warn };
    let mut reason = Reason::of(mode);
    if facts.event.kind == Kind::TeammateIdle && rule.action == Mode::Warn {
        // The user reads it, and not who goes idle.
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
        gate: "rule",
        code,
        decision,
        about: actor(facts).to_owned(),
        counted: None,
        reason: reason.finish(),
        rule: Some(rule.name.clone()),
        place: (!rule.place.is_empty()).then(|| rule.place.clone()),
        // A tool that is refused leaves every other; a turn that may not end, or a task that may not be completed, does not.
        lasting: rule.lasting && facts.event.kind == Kind::PreToolUse,
    }
}

/// Whether what stands at a pointer matches. Numbers and truth values match as they are written, lists and objects as
/// JSON on one line; what is not there matches nothing.
fn is_at<'a>(payload: &Payload, pointer: &'a str, wanted: &Pattern<'_>) -> Result<bool, Why<'a>> {
    let means = |text: &str| wanted.means(text).map_err(|why| Why::Pattern(pointer, why));
    match at(payload, pointer) {
        None | Some(Value::Null) if payload.cut => Err(Why::Unopened(pointer)),
        None | Some(Value::Null) => Ok(false),
        Some(Value::String(text)) => means(text),
        // What is missing in it may be what the pattern looks for, or what it must not find.
        Some(Value::Array(_) | Value::Object(_)) if payload.cut && !wanted.means_all() => {
            Err(Why::Unopened(pointer))
        }
        Some(other) => means(&other.to_string()),
    }
}

/// Whether one of the globs means a name. A glob takes a step for each character of both.
fn one_means<'a>(what: &'a str, globs: &[&str], name: &str, until: Option<Instant>) -> Result<bool, Why<'a>> {
    let mut unsaid = None;
    for glob in globs {
        let is_swift = *glob == "*" || is_plain(glob);
        if !is_swift && until.is_some_and(|until| Instant::now() >= until) {
            return Err(Why::Late);
        }
        if !is_swift && name.len() > LONGEST_NAME {
            unsaid = Some(Why::Name { what, has: name.len() });
        } else if pattern::glob(glob, name) {
            return Ok(true);
        }
    }
    unsaid.map_or(Ok(false), Err)
}

/// What stands at a JSON pointer into the payload.
fn at<'a>(payload: &'a Payload, pointer: &str) -> Option<&'a Value> {
    let path = pointer.strip_prefix('/')?;
    let (first, rest) = path.find('/').map_or((path, ""), |slash| path.split_at(slash));
    payload.field(&first.replace("~1", "/").replace("~0", "~"))?.pointer(rest)
}
