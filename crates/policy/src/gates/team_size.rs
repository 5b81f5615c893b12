//! Limits the number, agent types and models of teammates.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::rules::any_glob;
use crate::{Case, Finding, Reason};
use teamkeep_config::{Gate, Policy};
use teamkeep_model::words::count;

/// Seconds for which a started spawn counts. A failed or denied one never returns.
const SPAWN_SECONDS: i64 = 30;

pub(super) fn judge(policy: &Policy, case: &Case<'_>) -> Option<Finding> {
    let settings = &policy.team_size;
    let name = spawned(case)?;
    let finding = |code, reason: Reason| {
        Some(Finding::new(Gate::TeamSize, code, settings.mode.into(), case.actor(), reason))
    };
    let reason = Reason::default().then("spawning ").name(name);
    let there = case.teammates();
    let coming = spawning(case).into_iter().filter(|other| *other != name && !there.contains(other)).count();
    let all = there.len() + coming;
    if settings.most > 0 && all >= settings.most as usize {
        let begun = match coming {
            0 => String::new(),
            _ => format!(" ({coming} being spawned)"),
        };
        let size = count(all, "teammate");
        let reason =
            reason.then(&format!(": the team has {size}{begun}, and the maximum is {}.", settings.most));
        let reason = reason.instead("Assign the work to one of them, or shut down one that has finished.");
        return finding("too-many-teammates", reason);
    }
    // Without a type Claude Code uses its general one.
    let agent_type = input(case, "subagent_type").unwrap_or("general-purpose");
    if !any_glob(&settings.agent_types, agent_type) {
        let reason = reason.then(" as ").quote(agent_type).then(". Allowed agent types: ");
        return finding("agent-type-not-allowed", reason.names(&settings.agent_types).then("."));
    }
    // Without a model the teammate gets the model of the user's settings.
    let model = input(case, "model").filter(|model| !any_glob(&settings.models, model))?;
    let reason = reason.then(" with model ").quote(model).then(". Allowed models: ");
    finding("model-not-allowed", reason.names(&settings.models).then("."))
}

/// The name of the teammate that the event spawns.
pub(super) fn spawned<'a>(case: &Case<'a>) -> Option<&'a str> {
    input(case, "name")
}

fn input<'a>(case: &Case<'a>, key: &str) -> Option<&'a str> {
    case.event.payload.tool_input().get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// The teammates that are being spawned.
fn spawning<'a>(case: &Case<'a>) -> BTreeSet<&'a str> {
    let names = case.team.ledger.pending.values().filter_map(|call| {
        let (name, at) = call.spawns.as_ref()?;
        let age = (case.event.at - *at).num_seconds();
        (age.abs() < SPAWN_SECONDS).then_some(name.as_str())
    });
    names.collect()
}
