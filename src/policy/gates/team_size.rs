//! How many teammates there may be, and which.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{actor, finding};
use crate::clock;
use crate::config::Policy;
use crate::payload::Kind;
use crate::policy::{Case, Facts, Finding, Reason, pattern};

const GATE: &str = "team-size";

/// How long a spawn that has begun counts, in seconds: one that failed, or that somebody refused, never comes back.
const SPAWNING: i64 = 30;

/// Globs that a reason lists.
const LISTED: usize = 10;

pub fn judge(policy: &Policy, case: &Case<'_>) -> Option<Finding> {
    let (settings, payload) = (&policy.team_size, case.event.payload);
    if case.event.kind != Kind::PreToolUse || !matches!(payload.tool(), Some("Agent" | "Task")) {
        return None;
    }
    let text =
        |key: &str| payload.tool_input().get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let name = text("name")?;
    let object = |code, reason| Some(finding(GATE, code, settings.mode, actor(case), reason));
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
            ": the team has {count} teammates{begun}, and {} are the most. Give the work to one of them, or shut one down that has finished.",
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

/// Who is being spawned: it is in no roster yet.
fn spawning<'a>(facts: &Facts<'a>) -> impl Iterator<Item = &'a str> {
    let now = clock::parse(facts.event.at);
    let names = facts.team.ledger.begun.values().filter_map(move |began| {
        let (name, at) = began.spawns.as_ref()?;
        let since = now?.signed_duration_since(clock::parse(at)?).num_seconds();
        (since.abs() < SPAWNING).then_some(name.as_str())
    });
    names.collect::<BTreeSet<_>>().into_iter()
}

/// What is allowed, the first few: a project's file may say it, hence in quotation marks.
fn listed(reason: Reason, allowed: &[String]) -> Reason {
    let mut reason = reason;
    for (place, glob) in allowed.iter().take(LISTED).enumerate() {
        reason = reason.then(if place > 0 { ", " } else { "" }).name(glob);
    }
    reason.then(if allowed.len() > LISTED { " and more." } else { "." })
}
