//! Limits the number, agent types and models of teammates.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{actor, finding};
use crate::config::{Gate, Policy};
use crate::model::Tool;
use crate::policy::rules::any_glob;
use crate::policy::{Case, Facts, Finding, Part, Reason};
use crate::sys::clock;

/// Seconds for which a started spawn counts. A failed or denied one never returns.
const SPAWN_SECONDS: i64 = 30;
/// Maximum number of globs in a reason.
const MAX_GLOBS: usize = 10;

pub fn judge(policy: &Policy, case: &Case<'_>) -> Option<Finding> {
    let settings = &policy.team_size;
    let name = spawned(case)?;
    let object = |code, reason| Some(finding(Gate::TeamSize, code, settings.mode, actor(case), reason));
    let reason = Reason::of(settings.mode).then("spawning ").name(name);
    let there = case.names.teammates();
    let coming = spawning(case).into_iter().filter(|other| *other != name && !there.contains(other)).count();
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
    let agent_type = input(case, "subagent_type").unwrap_or("general-purpose");
    if !any_glob(&settings.agent_types, agent_type) {
        let reason = reason.then(" as ").quote(agent_type).then(". Allowed agent types: ");
        return object("agent-type-not-allowed", listed(reason, &settings.agent_types));
    }
    // Without a model the teammate gets the model of the user's settings.
    let model = input(case, "model").filter(|model| !any_glob(&settings.models, model))?;
    let reason = reason.then(" with model ").quote(model).then(". Allowed models: ");
    object("model-not-allowed", listed(reason, &settings.models))
}

/// Who spawns a teammate, if there is a limit and the roster is in this part.
pub fn needs(policy: &Policy, case: &Case<'_>, part: &Part) -> Option<String> {
    spawned(case).filter(|_| policy.team_size.most > 0 && part.has_roster()).map(|_| actor(case).to_owned())
}

/// The name of the teammate that the event spawns.
fn spawned<'a>(facts: &Facts<'a>) -> Option<&'a str> {
    if facts.event.calls(Tool::Agent) { input(facts, "name") } else { None }
}

fn input<'a>(facts: &Facts<'a>, key: &str) -> Option<&'a str> {
    facts.event.payload.tool_input().get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// The teammates that are being spawned.
fn spawning<'a>(facts: &Facts<'a>) -> BTreeSet<&'a str> {
    let now = clock::parse(facts.event.at);
    let names = facts.team.ledger.begun.values().filter_map(|began| {
        let (name, at) = began.spawns.as_ref()?;
        let age = now?.signed_duration_since(clock::parse(at)?).num_seconds();
        (age.abs() < SPAWN_SECONDS).then_some(name.as_str())
    });
    names.collect()
}

/// The first few allowed values, quoted because a project's file may set them.
fn listed(mut reason: Reason, allowed: &[String]) -> Reason {
    for (index, glob) in allowed.iter().take(MAX_GLOBS).enumerate() {
        reason = reason.then(if index > 0 { ", " } else { "" }).name(glob);
    }
    reason.then(if allowed.len() > MAX_GLOBS { " and more." } else { "." })
}
