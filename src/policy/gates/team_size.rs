//! How many teammates there may be, and which.

use serde_json::Value;

use super::{actor, finding, teammates};
use crate::config::Policy;
use crate::payload::Kind;
use crate::policy::{Facts, Finding, Reason, pattern};

const GATE: &str = "team-size";

/// Globs that a reason lists.
const LISTED: usize = 10;

pub fn judge(policy: &Policy, facts: &Facts<'_>) -> Option<Finding> {
    let (settings, payload) = (&policy.team_size, facts.event.payload);
    if facts.event.kind != Kind::PreToolUse || !matches!(payload.tool(), Some("Agent" | "Task")) {
        return None;
    }
    let text =
        |key: &str| payload.tool_input().get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let name = text("name")?;
    let object = |code, reason| Some(finding(GATE, code, settings.mode, actor(facts), reason));
    let reason = Reason::of(settings.mode).then("spawning ").name(name);
    let there = teammates(facts);
    if settings.most > 0 && there.len() >= settings.most as usize {
        let reason = reason.then(&format!(
            ": the team has {} teammates, and {} are the most. Give the work to one of them, or shut one down that has finished.",
            there.len(),
            settings.most
        ));
        return object("too-many-teammates", reason);
    }
    // Without a type the client takes its general one.
    let kind = text("subagent_type").unwrap_or("general-purpose");
    if !pattern::any(&settings.agent_types, kind) {
        let reason = reason.then(" as ").quote(kind).then(". Allowed agent types: ");
        return object("agent-type-not-allowed", listed(reason, &settings.agent_types));
    }
    // Without a model the teammate gets the one that the user's own settings say.
    if let Some(model) = text("model")
        && !pattern::any(&settings.models, model)
    {
        let reason = reason.then(" with model ").quote(model).then(". Allowed models: ");
        return object("model-not-allowed", listed(reason, &settings.models));
    }
    None
}

/// What is allowed, the first few: a project's file may say it, hence in quotation marks.
fn listed(reason: Reason, allowed: &[String]) -> Reason {
    let mut reason = reason;
    for (place, glob) in allowed.iter().take(LISTED).enumerate() {
        reason = reason.then(if place > 0 { ", " } else { "" }).name(glob);
    }
    reason.then(if allowed.len() > LISTED { " and more." } else { "." })
}
