//! Evaluates the user's rules for one event within a time limit. A rule without a result is a failure of the policy,
//! not a mismatch.

use std::cell::OnceCell;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::gates::actor;
use super::{Decision, Facts, Finding, Reason, failure};
use crate::client::payload::{Kind, Payload};
use crate::config::pattern::{is_plain, matches as glob, max_input_len, regex_of};
use crate::config::{BoundedRegex, Gate, Mode, OnError, Rule, required_literal};

/// Maximum length of a name that a glob reads, in bytes.
const MAX_NAME_BYTES: usize = 1024;

/// The rules. Each pattern is compiled when first needed.
#[derive(Debug)]
pub struct Rules<'a> {
    rules: Vec<CompiledRule<'a>>,
    timeout: Option<Duration>,
}

impl<'a> Rules<'a> {
    /// These rules, without a time limit.
    pub fn of(rules: &'a [Rule]) -> Rules<'a> {
        Rules { rules: rules.iter().map(CompiledRule::of).collect(), timeout: None }
    }

    /// The same with a time limit for all rules together, checked between two patterns.
    #[must_use]
    pub fn within(self, timeout: Duration) -> Rules<'a> {
        Rules { timeout: Some(timeout), ..self }
    }

    /// Whether they are evaluated at an event: it can be blocked, or one of them names it.
    pub fn are_asked(&self, kind: Kind) -> bool {
        self.rules.iter().any(|compiled| kind.is_judged() || compiled.rule.looks_at(kind))
    }

    /// Findings in the order of the rules, then one for those without a result.
    pub(super) fn judge(&self, on_error: OnError, facts: &Facts<'_>) -> Vec<Finding> {
        let until = self.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let (mut found, mut undecided) = (Vec::new(), Vec::new());
        for compiled in &self.rules {
            match compiled.judge(facts, until) {
                Ok(finding) => found.extend(finding),
                Err(why) => undecided.push((compiled.rule, why)),
            }
        }
        let undecided = undecided_finding(&undecided, on_error, facts);
        found.extend(undecided.filter(|finding| finding.decision != Decision::Allow));
        found
    }
}

/// A rule and its patterns, by JSON pointer.
#[derive(Debug)]
struct CompiledRule<'a> {
    rule: &'a Rule,
    patterns: Vec<(&'a str, Pattern<'a>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Undecided<'a> {
    /// The value at this pointer is too long for its pattern, or the pattern is invalid.
    Pattern(&'a str, Undecidable),
    /// Part of the payload was not parsed, and the value at this pointer may be there.
    NotParsed(&'a str),
    /// The name for this key is too long for its glob; its length in bytes.
    Name(&'a str, usize),
    Late,
}

impl<'a> CompiledRule<'a> {
    fn of(rule: &'a Rule) -> CompiledRule<'a> {
        let patterns = rule.matches.iter().map(|(pointer, wanted)| (pointer.as_str(), Pattern::of(wanted)));
        CompiledRule { rule, patterns: patterns.collect() }
    }

    /// Evaluates the rule; after `until` it has no result.
    fn judge(&self, facts: &Facts<'_>, until: Option<Instant>) -> Result<Option<Finding>, Undecided<'a>> {
        let (rule, event) = (self.rule, &facts.event);
        let tool = event.payload.tool_name();
        if rule.action == Mode::Off
            || !rule.looks_at(event.kind)
            || (!rule.tools.is_empty() && tool.is_none())
        {
            return Ok(None);
        }
        let tools: Vec<&str> = rule.tools.iter().map(String::as_str).collect();
        let names = [
            ("tools", &tools[..], tool),
            ("actor", &[rule.actor.as_str()], event.actor.name.as_deref()),
            ("team", &[rule.team.as_str()], facts.team.name.as_deref()),
        ];
        // A mismatch decides, even if another pattern has no result.
        let mut undecided = None;
        for (key, globs, name) in names.into_iter().filter(|(_, globs, _)| !globs.is_empty()) {
            match matches_name(key, globs, name.unwrap_or_default(), until) {
                Ok(true) => {}
                Ok(false) => return Ok(None),
                Err(why) => undecided = undecided.or(Some(why)),
            }
        }
        for (pointer, pattern) in &self.patterns {
            if until.is_some_and(|until| Instant::now() >= until) {
                return Err(Undecided::Late);
            }
            match matches_value(event.payload, pointer, pattern) {
                Ok(true) => {}
                Ok(false) => return Ok(None),
                Err(why) => undecided = undecided.or(Some(why)),
            }
        }
        undecided.map_or_else(|| Ok(Some(rule_finding(rule, facts))), Err)
    }
}

fn rule_finding(rule: &Rule, facts: &Facts<'_>) -> Finding {
    // An event that cannot be blocked gets a warning.
    let mode = if facts.event.kind.is_judged() { rule.action } else { Mode::Warn };
    let mut reason = Reason::of(mode);
    if facts.event.kind == Kind::TeammateIdle && rule.action == Mode::Warn {
        // The user reads the reason, so it names the teammate.
        reason = reason.name(actor(facts)).then(" goes idle: ");
    }
    let reason = match rule.reason.trim() {
        "" => reason.then("the user's rule ").quote(&rule.name).then(" objects."),
        text => reason.then(text),
    };
    finding(rule, "rule", mode.into(), facts, reason)
}

fn finding(
    rule: &Rule,
    code: &'static str,
    decision: Decision,
    facts: &Facts<'_>,
    reason: Reason,
) -> Finding {
    Finding {
        rule: Some(rule.name.clone()),
        place: (!rule.place.is_empty()).then(|| rule.place.clone()),
        // A blocked tool call leaves all other tools. A blocked end of a turn or completion does not.
        lasting: rule.lasting && facts.event.kind == Kind::PreToolUse,
        ..Finding::new(Gate::Rule, code, decision, actor(facts), reason.finish())
    }
}

/// One finding for all rules without a result: the first of the strictest, and the number of the others. A rule that
/// only warns does not block.
fn undecided_finding(
    undecided: &[(&Rule, Undecided<'_>)],
    on_error: OnError,
    facts: &Facts<'_>,
) -> impl Iterator<Item = Finding> {
    let failed = failure::decision(on_error, facts.event.kind).max(Decision::Warn);
    let rank = |rule: &Rule| (failed.min(rule.action.into()), rule.lasting);
    let strictest = undecided.iter().map(|(rule, _)| rank(rule)).max();
    let first = undecided.iter().find(|(rule, _)| Some(rank(rule)) == strictest);
    let finding = first.map(|(rule, why)| {
        let (decision, _) = rank(rule);
        let mode = if decision == Decision::Block { Mode::Block } else { Mode::Warn };
        let more = match undecided.len() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        let reason = Reason::of(mode).then("the user's rule ").quote(&rule.name);
        let reason = because(reason.then(" could not be evaluated").then(&more).then(": "), why);
        let advice = "The policy has on-error = \"block\". Make the input smaller, or ask the user.";
        let reason = if mode == Mode::Block { reason.instead(advice) } else { reason };
        finding(rule, "rule-undecided", decision, facts, reason)
    });
    finding.into_iter()
}

fn because(reason: Reason, why: &Undecided<'_>) -> Reason {
    match why {
        Undecided::Pattern(pointer, Undecidable::TooLong { has, most }) => {
            let reason = reason.then(&format!("there are {has} bytes at ")).quote(pointer);
            reason.then(&format!(", and its pattern reads {most} at most."))
        }
        Undecided::Pattern(pointer, Undecidable::Invalid) => {
            reason.then("its pattern for ").quote(pointer).then(" cannot be used.")
        }
        Undecided::NotParsed(pointer) => reason
            .then("the payload is too deep or too large to be parsed completely, and ")
            .quote(pointer)
            .then(" is not complete in the parsed part."),
        Undecided::Name(key, has) => {
            let reason = reason.then(&format!("there are {has} bytes in the name that ")).quote(key);
            reason.then(&format!(" matches, and a glob reads {MAX_NAME_BYTES} at most."))
        }
        Undecided::Late => reason.then("the rules reached their time limit."),
    }
}

/// Whether the value at a pointer matches. Numbers and booleans match as written, arrays and objects as JSON on one
/// line. A missing value matches nothing.
fn matches_value<'a>(
    payload: &Payload,
    pointer: &'a str,
    pattern: &Pattern<'_>,
) -> Result<bool, Undecided<'a>> {
    let matches = |text: &str| pattern.is_match(text).map_err(|why| Undecided::Pattern(pointer, why));
    match value_at(payload, pointer) {
        None | Some(Value::Null) if payload.cut => Err(Undecided::NotParsed(pointer)),
        None | Some(Value::Null) => Ok(false),
        Some(Value::String(text)) => matches(text),
        // The cut part may be what the pattern looks for, or must not find.
        Some(Value::Array(_) | Value::Object(_)) if payload.cut && pattern.text != "*" => {
            Err(Undecided::NotParsed(pointer))
        }
        Some(other) => matches(&other.to_string()),
    }
}

fn matches_name<'a>(
    key: &'a str,
    globs: &[&str],
    name: &str,
    until: Option<Instant>,
) -> Result<bool, Undecided<'a>> {
    let mut undecided = None;
    for pattern in globs {
        let is_fast = *pattern == "*" || is_plain(pattern);
        if !is_fast && until.is_some_and(|until| Instant::now() >= until) {
            return Err(Undecided::Late);
        }
        if !is_fast && name.len() > MAX_NAME_BYTES {
            undecided = Some(Undecided::Name(key, name.len()));
        } else if glob(pattern, name) {
            return Ok(true);
        }
    }
    undecided.map_or(Ok(false), Err)
}

fn value_at<'a>(payload: &'a Payload, pointer: &str) -> Option<&'a Value> {
    let path = pointer.strip_prefix('/')?;
    let (first, rest) = path.find('/').map_or((path, ""), |slash| path.split_at(slash));
    payload.field(&first.replace("~1", "/").replace("~0", "~"))?.pointer(rest)
}

/// Whether one of these globs matches the text. An empty list matches everything.
pub(super) fn any_glob(patterns: &[String], text: &str) -> bool {
    patterns.is_empty() || patterns.iter().any(|pattern| glob(pattern, text))
}

/// A pattern for texts of any length: a regular expression if it is between slashes, else a glob.
#[derive(Debug)]
struct Pattern<'a> {
    text: &'a str,
    program: OnceCell<Option<BoundedRegex>>,
}

/// Why a pattern has no result for a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Undecidable {
    TooLong {
        has: usize,
        most: usize,
    },
    /// The regular expression is invalid. A checked file has no such pattern.
    Invalid,
}

impl<'a> Pattern<'a> {
    fn of(text: &'a str) -> Pattern<'a> {
        Pattern { text, program: OnceCell::new() }
    }

    fn is_match(&self, text: &str) -> Result<bool, Undecidable> {
        let too_long = |most| Undecidable::TooLong { has: text.len(), most };
        let Some(expression) = regex_of(self.text) else {
            let most = max_input_len(self.text);
            return if text.len() > most { Err(too_long(most)) } else { Ok(glob(self.text, text)) };
        };
        if required_literal(expression).is_some_and(|literal| !text.contains(literal)) {
            return Ok(false);
        }
        let program = self.program.get_or_init(|| BoundedRegex::of(expression).ok());
        let program = program.as_ref().ok_or(Undecidable::Invalid)?;
        program.is_match(text).ok_or_else(|| too_long(program.max_input_len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_the_whole_text_and_slashes() {
        for (pattern, text) in
            [("*", "a/b"), ("rm *", "rm -rf /tmp/x"), ("bo?", "bob"), ("b[oa]b", "bab"), ("a", "a")]
        {
            assert!(glob(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in
            [("b", "bob"), ("rm *", "echo rm x"), ("[", "["), ("a**b", "ab"), ("Bob*", "bob")]
        {
            assert!(!glob(pattern, text), "{pattern} {text}");
        }
        assert!(
            any_glob(&[], "x") && any_glob(&["a".into(), "x*".into()], "xy") && !any_glob(&["a".into()], "x")
        );
    }

    #[test]
    fn a_pattern_between_slashes_is_a_regular_expression_for_a_part() {
        let matches = |pattern: &str, text: &str| Pattern::of(pattern).is_match(text).unwrap();
        assert!(matches("/git +push.*--force/", "cd x && git  push --force"));
        assert!(!matches("/^push/", "git push") && matches("/", "/") && matches("//", "//"));
    }

    #[test]
    fn a_pattern_without_a_result_is_not_a_mismatch() {
        let long = "x".repeat(8 << 20);
        assert_eq!(Pattern::of("/git push/").is_match(&long), Ok(false), "what it needs is not there");
        for pattern in ["/x/", "*?xxxxxxxxxx", "*[xy]xxxxxx*"] {
            assert!(
                matches!(Pattern::of(pattern).is_match(&long), Err(Undecidable::TooLong { .. })),
                "{pattern}"
            );
        }
        assert_eq!(Pattern::of("*x").is_match(&long), Ok(true), "stars alone look at everything");
        assert_eq!(Pattern::of("/(/").is_match("("), Err(Undecidable::Invalid));
        assert_eq!(Pattern::of("/x{9999}/").is_match("x"), Err(Undecidable::Invalid));
    }
}
