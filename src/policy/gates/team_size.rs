//! Limits the number, agent types and models of teammates.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{actor, finding};
use crate::clock;
use crate::config::{Gate, Policy};
use crate::model::Tool;
use crate::payload::Kind;
use crate::policy::{Case, Facts, Finding, Part, Reason, pattern};

/// Seconds for which a started spawn counts. A failed or denied one never returns.
const SPAWN_SECONDS: i64 = 30;

/// Maximum number of globs in a reason.
const MAX_LISTED: usize = 10;

pub fn judge(policy: &Policy, case: &Case<'_>) -> Option<Finding> {
    let (settings, payload) = (&policy.team_size, case.event.payload);
    if case.event.kind != Kind::PreToolUse || payload.tool() != Some(Tool::Agent) {
        return None;
    }
    let text =
        |key: &str| payload.tool_input().get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let name = text("name")?;
    let object = |code, reason| Some(finding(Gate::TeamSize, code, settings.mode, actor(case), reason));
    let reason = Reason::of(settings.mode).then("spawning ").name(name);
    let there = case.names.teammates();
    let coming = spawning(case).filter(|other| *other != name && !there.contains(other)).count();
    let count = there.len() + coming;
    if settings.most > 0 && count >= settings.most as usize {
        let begun = match coming {
            0 => String::new(),
            _ => format!(" ({coming} of them being spawned)"),
        };
        let reason = reason.then(&format!(
            ": the team has {count} teammates{begun}, and the maximum is {}. Assign the work to one of them, or shut down one that has finished.",
            settings.most
        ));
        return object("too-many-teammates", reason);
    }
    // Without a type Claude Code uses its general one.
    let kind = text("subagent_type").unwrap_or("general-purpose");
    if !pattern::any(&settings.agent_types, kind) {
        let reason = reason.then(" as ").quote(kind).then(". Allowed agent types: ");
        return object("agent-type-not-allowed", listed(reason, &settings.agent_types));
    }
    // Without a model the teammate gets the model of the user's settings.
    if let Some(model) = text("model")
        && !pattern::any(&settings.models, model)
    {
        let reason = reason.then(" with model ").quote(model).then(". Allowed models: ");
        return object("model-not-allowed", listed(reason, &settings.models));
    }
    None
}

/// Who spawns a teammate, if there is a limit and the roster is in this part.
pub fn needs(policy: &Policy, case: &Case<'_>, part: &Part) -> Option<String> {
    let payload = case.event.payload;
    let spawns = case.event.kind == Kind::PreToolUse && payload.tool() == Some(Tool::Agent);
    let is_named =
        payload.tool_input().get("name").and_then(Value::as_str).is_some_and(|name| !name.is_empty());
    let counts = spawns && is_named && policy.team_size.most > 0 && part.has_roster();
    counts.then(|| actor(case).to_owned())
}

/// The teammates that are being spawned and not in the roster yet.
fn spawning<'a>(facts: &Facts<'a>) -> impl Iterator<Item = &'a str> {
    let now = clock::parse(facts.event.at);
    let names = facts.team.ledger.begun.values().filter_map(move |began| {
        let (name, at) = began.spawns.as_ref()?;
        let since = now?.signed_duration_since(clock::parse(at)?).num_seconds();
        (since.abs() < SPAWN_SECONDS).then_some(name.as_str())
    });
    names.collect::<BTreeSet<_>>().into_iter()
}

/// The first few allowed values, quoted because a project's file may set them.
fn listed(reason: Reason, allowed: &[String]) -> Reason {
    let mut reason = reason;
    for (place, glob) in allowed.iter().take(MAX_LISTED).enumerate() {
        reason = reason.then(if place > 0 { ", " } else { "" }).name(glob);
    }
    reason.then(if allowed.len() > MAX_LISTED { " and more." } else { "." })
}
