//! The user's own rules.

use serde_json::Value;

use super::actor;
use crate::config::{Mode, Rule};
use crate::payload::{Kind, Payload};
use crate::policy::{Facts, Finding, Reason, pattern};

/// What a rule objects to; nothing where it does not match.
pub fn judge(rule: &Rule, facts: &Facts<'_>) -> Option<Finding> {
    let (event, team) = (&facts.event, facts.team);
    let on = rule.action != Mode::Off
        && (rule.events.is_empty() || rule.events.iter().any(|name| Kind::named(name) == event.kind))
        && (rule.tools.is_empty()
            || event.payload.tool().is_some_and(|tool| pattern::any(&rule.tools, tool)))
        && pattern::glob(&rule.actor, event.actor.name.as_deref().unwrap_or_default())
        && pattern::glob(&rule.team, team.name.as_deref().unwrap_or_default());
    if !on || !rule.matches.iter().all(|(pointer, wanted)| is_at(event.payload, pointer, wanted)) {
        return None;
    }
    let mut reason = Reason::of(rule.action);
    if event.kind == Kind::TeammateIdle && rule.action == Mode::Warn {
        // The user reads it, and not who goes idle.
        reason = reason.name(actor(facts)).then(" goes idle: ");
    }
    let reason = match rule.reason.trim() {
        "" => reason.then("the user's rule ").quote(&rule.name).then(" objects."),
        said => reason.then(said),
    };
    Some(Finding {
        gate: "rule",
        code: "rule",
        decision: rule.action.into(),
        about: actor(facts).to_owned(),
        reason: reason.finish(),
        rule: Some(rule.name.clone()),
        place: (!rule.place.is_empty()).then(|| rule.place.clone()),
        // A tool that is refused leaves every other; a turn that may not end, or a task that may not be completed, does not.
        lasting: event.kind == Kind::PreToolUse,
    })
}

/// Whether what stands at a pointer matches. Numbers and truth values match as they are written, lists and objects as
/// JSON on one line; what is not there matches nothing.
fn is_at(payload: &Payload, pointer: &str, wanted: &str) -> bool {
    match at(payload, pointer) {
        None | Some(Value::Null) => false,
        Some(Value::String(text)) => pattern::matches(wanted, text),
        Some(other) => pattern::matches(wanted, &other.to_string()),
    }
}

/// What stands at a JSON pointer into the payload.
fn at<'a>(payload: &'a Payload, pointer: &str) -> Option<&'a Value> {
    let path = pointer.strip_prefix('/')?;
    let (first, rest) = path.find('/').map_or((path, ""), |slash| path.split_at(slash));
    payload.field(&first.replace("~1", "/").replace("~0", "~"))?.pointer(rest)
}
