//! Who is at work when the lead's turn ends.

use serde_json::Value;

use super::teammates;
use crate::policy::{Deeds, Facts, Whose};

/// Whether a teammate is in a turn, or will be: mail wakes whoever has it. What it is told in a turn leaves its inbox at once
/// and is delivered with the next. A teammate that is idle runs as well, to the client: that is believed only of one that
/// was not seen to go idle after its last turn. Not every turn in a split pane is seen to begin, but its end is.
pub fn is_at_work(facts: &Facts<'_>, name: &str) -> bool {
    let deeds = facts.team.ledger.of(name);
    deeds.turn
        || deeds.stopping
        || has_mail(facts, name)
        || deeds.idle.map_or_else(|| runs(facts, name, &deeds), |idle| deeds.told() > Some(idle))
}

/// Whether somebody is a teammate, or was one.
pub fn is_teammate(facts: &Facts<'_>, name: &str) -> bool {
    let ledger = &facts.team.ledger;
    teammates(facts).contains(&name)
        || ledger.left.contains(name)
        || ledger.of(name).turned
        || ledger.handles.values().any(|member| member == name)
}

/// Whether the client says that such a teammate runs. Where it lists nothing, one that was in a turn may be in it, and the
/// first turn of one that was told something is yet to come.
fn runs(facts: &Facts<'_>, name: &str, deeds: &Deeds) -> bool {
    if facts.event.payload.field("background_tasks").is_none() {
        return deeds.turned || deeds.told().is_some();
    }
    let is_it = |task| match facts.team.ledger.listed(task) {
        Some(Whose::One(whose)) => whose == name,
        Some(Whose::Among(all)) => {
            all.iter().any(|whose| whose == name) && !facts.team.ledger.left.contains(name)
        }
        Some(Whose::Any) => true,
        None => false,
    };
    listed(facts).any(is_it)
}

/// The background tasks that run, as the client says.
fn listed<'a>(facts: &Facts<'a>) -> impl Iterator<Item = &'a Value> {
    let tasks = facts.event.payload.field("background_tasks").and_then(Value::as_array);
    let runs = |task: &&Value| task.get("status").and_then(Value::as_str) == Some("running");
    tasks.into_iter().flatten().filter(runs)
}

/// Whether a background task runs that is no teammate.
pub fn other_runs(facts: &Facts<'_>) -> bool {
    listed(facts).any(|task| facts.team.ledger.listed(task).is_none())
}

/// Whether any background task runs.
pub fn runs_any(facts: &Facts<'_>) -> bool {
    listed(facts).next().is_some()
}

/// Whether messages wait for somebody.
pub fn has_mail(facts: &Facts<'_>, name: &str) -> bool {
    facts.team.mail.get(name).is_some_and(|count| *count > 0)
}
