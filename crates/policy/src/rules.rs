//! Evaluates the user's rules for one event within a time limit. A rule without a result is a failure of the policy,
//! not a mismatch.

use std::cell::OnceCell;
use std::slice;

use serde_json::Value;

use super::{Case, Decision, Finding, JudgedEvent, MAX_TEXT_CHARS, Reason, escaped};
use teamkeep_config::pattern::{is_plain, matches as glob, max_input_len, regex_of};
use teamkeep_config::{BoundedRegex, Gate, Mode, OnError, Rule, required_literal};
use teamkeep_model::payload::{EventKind, Payload};

/// The rules. Each pattern is compiled when first needed.
pub struct Rules<'a> {
    rules: Vec<CompiledRule<'a>>,
    is_late: &'a dyn Fn() -> bool,
}

impl<'a> Rules<'a> {
    /// These rules, without a time limit.
    pub fn of(rules: &'a [Rule]) -> Rules<'a> {
        Rules { rules: rules.iter().map(CompiledRule::of).collect(), is_late: &|| false }
    }

    /// The same with a time limit for all rules together: `is_late` is asked between two patterns.
    #[must_use]
    pub fn until(self, is_late: &'a dyn Fn() -> bool) -> Rules<'a> {
        Rules { is_late, ..self }
    }

    /// Whether they are evaluated at an event: it can be blocked, or one of them names it.
    pub fn apply_to(&self, kind: EventKind) -> bool {
        self.rules.iter().any(|compiled| kind.can_be_blocked() || compiled.rule.applies_to(kind))
    }

    /// Whether one of them names this event and its tool.
    pub(super) fn concern(&self, event: &JudgedEvent<'_>) -> bool {
        let tool = event.payload.tool_name().unwrap_or_default();
        let names = |tools: &[Pattern<'_>]| any_matches(tools, "tools", tool) != Ok(false);
        let mut applying = self.rules.iter().filter(|compiled| compiled.applies(event));
        applying.any(|compiled| compiled.tools.is_empty() || names(&compiled.tools))
    }

    /// Findings in the order of the rules, then one for those without a result.
    pub(super) fn judge(&self, on_error: OnError, case: &Case<'_>) -> Vec<Finding> {
        let (mut found, mut undecided) = (Vec::new(), Vec::new());
        for compiled in &self.rules {
            match compiled.matches(case, self.is_late) {
                Ok(true) => found.push(matched_finding(compiled.rule, case)),
                Ok(false) => {}
                Err(why) => undecided.push((compiled.rule, why)),
            }
        }
        found.extend(undecided_finding(&undecided, on_error, case));
        found
    }
}

/// Whether a pattern matches, or why that cannot be decided, as the end of a reason.
type Match = Result<bool, String>;

/// A rule and its patterns.
#[derive(Debug)]
struct CompiledRule<'a> {
    rule: &'a Rule,
    tools: Vec<Pattern<'a>>,
    actor: Pattern<'a>,
    team: Pattern<'a>,
    /// By JSON pointer.
    values: Vec<(&'a str, Pattern<'a>)>,
}

impl<'a> CompiledRule<'a> {
    fn of(rule: &'a Rule) -> CompiledRule<'a> {
        let values = rule.matches.iter().map(|(pointer, wanted)| (pointer.as_str(), Pattern::of(wanted)));
        CompiledRule {
            rule,
            tools: rule.tools.iter().map(|tool| Pattern::glob(tool)).collect(),
            actor: Pattern::glob(&rule.actor),
            team: Pattern::glob(&rule.team),
            values: values.collect(),
        }
    }

    /// Whether it applies to the event, whatever its tool is.
    fn applies(&self, event: &JudgedEvent<'_>) -> bool {
        let has_tool = self.tools.is_empty() || event.payload.tool_name().is_some();
        self.rule.action != Mode::Off && self.rule.applies_to(event.kind) && has_tool
    }

    /// Whether everything that the rule names matches. A mismatch decides, even if another pattern has no result.
    fn matches(&self, case: &Case<'_>, is_late: &dyn Fn() -> bool) -> Match {
        let event = &case.event;
        if !self.applies(event) {
            return Ok(false);
        }
        let names = [
            ("tools", self.tools.as_slice(), event.payload.tool_name()),
            ("actor", slice::from_ref(&self.actor), event.actor.name.as_deref()),
            ("team", slice::from_ref(&self.team), case.team.name.as_deref()),
        ];
        let names = names.into_iter().filter(|(_, globs, _)| !globs.is_empty());
        let names = names.map(|(key, globs, name)| match globs.iter().all(Pattern::is_fast) || !is_late() {
            true => any_matches(globs, key, name.unwrap_or_default()),
            false => Err(LATE.to_owned()),
        });
        let values = self.values.iter().map(|(pointer, pattern)| match is_late() {
            true => Err(LATE.to_owned()),
            false => matches_value(event.payload, pointer, pattern),
        });
        let mut undecided = None;
        for result in names.chain(values) {
            match result {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(why) => undecided = undecided.or(Some(why)),
            }
        }
        undecided.map_or(Ok(true), Err)
    }
}

const LATE: &str = "the rules reached their time limit.";

fn matched_finding(rule: &Rule, case: &Case<'_>) -> Finding {
    // An event that cannot be blocked gets a warning.
    let mode = if case.event.kind.can_be_blocked() { rule.action } else { Mode::Warn };
    let mut reason = Reason::default();
    if case.event.kind == EventKind::TeammateIdle && rule.action == Mode::Warn {
        // The user reads the reason, so it names the teammate.
        reason = reason.name(case.actor()).then(" goes idle: ");
    }
    let reason = match rule.reason.trim() {
        "" => reason.then("the user's rule ").quote(&rule.name).then(" objects."),
        text => reason.then(text),
    };
    finding(rule, "rule", mode, case, reason)
}

fn finding(rule: &Rule, code: &'static str, mode: Mode, case: &Case<'_>, reason: Reason) -> Finding {
    Finding {
        rule: Some(rule.name.clone()),
        file_line: (!rule.file_line.is_empty()).then(|| rule.file_line.clone()),
        // A blocked tool call leaves all other tools. A blocked end of a turn or completion does not.
        lasting: rule.lasting && case.event.kind.is_before_tool(),
        ..Finding::new(Gate::Rule, code, mode.into(), case.actor(), reason)
    }
}

/// One finding for all rules without a result: the first of the strictest, and the number of the others. A rule that
/// only warns does not block.
fn undecided_finding(undecided: &[(&Rule, String)], on_error: OnError, case: &Case<'_>) -> Option<Finding> {
    let blocks = Decision::on_failure(on_error, case.event.kind) == Decision::Block;
    let mode = |rule: &Rule| if blocks { rule.action } else { Mode::Warn };
    // The first of several equal ones.
    let (rule, why) = undecided.iter().rev().max_by_key(|(rule, _)| (mode(rule), rule.lasting))?;
    let more = match undecided.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    let reason = Reason::default().then("the user's rule ").quote(&rule.name);
    let reason = reason.then(" could not be evaluated").then(&more).then(": ").then(why);
    let advice = "The policy has on-error = \"block\". Make the input smaller, or ask the user.";
    let reason = if mode(rule) == Mode::Block { reason.instead(advice) } else { reason };
    Some(finding(rule, "rule-undecided", mode(rule), case, reason))
}

fn any_matches(patterns: &[Pattern<'_>], key: &str, text: &str) -> Match {
    let mut undecided = None;
    for pattern in patterns {
        match pattern.is_match(key, text) {
            Ok(true) => return Ok(true),
            Ok(false) => {}
            Err(why) => undecided = Some(why),
        }
    }
    undecided.map_or(Ok(false), Err)
}

/// Whether the value at a pointer matches. Numbers and booleans match as written, arrays and objects as JSON on one
/// line. A missing value matches nothing.
fn matches_value(payload: &Payload, pointer: &str, pattern: &Pattern<'_>) -> Match {
    let value = value_at(payload, pointer).filter(|value| !value.is_null());
    match value {
        Some(Value::String(text)) => pattern.is_match(pointer, text),
        // The part that was not parsed may be what the pattern looks for, or must not find.
        None | Some(Value::Array(_) | Value::Object(_))
            if payload.cut && (value.is_none() || pattern.text != "*") =>
        {
            let pointer = escaped(pointer, MAX_TEXT_CHARS);
            Err(format!(
                "the payload is too deep or too large to be parsed completely, and \"{pointer}\" is not complete in the parsed part."
            ))
        }
        None => Ok(false),
        Some(other) => pattern.is_match(pointer, &other.to_string()),
    }
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

/// A pattern for texts of any length.
#[derive(Debug)]
struct Pattern<'a> {
    text: &'a str,
    /// The regular expression between slashes; `None` for a glob.
    expression: Option<&'a str>,
    program: OnceCell<Option<BoundedRegex>>,
}

impl<'a> Pattern<'a> {
    fn of(text: &'a str) -> Pattern<'a> {
        Pattern { expression: regex_of(text), ..Pattern::glob(text) }
    }

    fn glob(text: &'a str) -> Pattern<'a> {
        Pattern { text, expression: None, program: OnceCell::new() }
    }

    /// Whether it is compared in no time.
    fn is_fast(&self) -> bool {
        self.expression.is_none() && (self.text == "*" || is_plain(self.text))
    }

    /// Whether it matches the text at this key or pointer.
    fn is_match(&self, key: &str, text: &str) -> Match {
        let key = || escaped(key, MAX_TEXT_CHARS);
        let too_long = |most: usize| {
            let has = text.len();
            format!("there are {has} bytes at \"{}\", and its pattern reads {most} at most.", key())
        };
        let Some(expression) = self.expression else {
            let most = max_input_len(self.text);
            return if text.len() > most { Err(too_long(most)) } else { Ok(glob(self.text, text)) };
        };
        if required_literal(expression).is_some_and(|literal| !text.contains(literal)) {
            return Ok(false);
        }
        let program = self.program.get_or_init(|| BoundedRegex::of(expression).ok());
        // A checked file has no invalid pattern.
        let program =
            program.as_ref().ok_or_else(|| format!("its pattern for \"{}\" cannot be used.", key()))?;
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
        let matches = |pattern: &str, text: &str| Pattern::of(pattern).is_match("/a", text).unwrap();
        assert!(matches("/git +push.*--force/", "cd x && git  push --force"));
        assert!(!matches("/^push/", "git push") && matches("/", "/") && matches("//", "//"));
    }

    #[test]
    fn a_pattern_without_a_result_is_not_a_mismatch() {
        let long = "x".repeat(8 << 20);
        assert_eq!(Pattern::of("/git push/").is_match("/a", &long), Ok(false), "what it needs is not there");
        for pattern in ["/x/", "*?xxxxxxxxxx", "*[xy]xxxxxx*"] {
            let why = Pattern::of(pattern).is_match("/a", &long).unwrap_err();
            assert!(why.starts_with("there are 8388608 bytes at \"/a\""), "{pattern}: {why}");
        }
        assert_eq!(Pattern::of("*x").is_match("/a", &long), Ok(true), "stars alone look at everything");
        for invalid in ["/(/", "/x{9999}/"] {
            assert!(Pattern::of(invalid).is_match("/a", "(x").unwrap_err().contains("cannot be used"));
        }
    }
}
