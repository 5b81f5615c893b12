//! A teammate that goes idle: whose idle it is, and whether it may be kept from it.

use crate::config::Mode;
use crate::payload::Kind;
use crate::policy::{Facts, Reason, observe};

/// The teammate that goes idle, unless it must not be disturbed: one that was asked to stop, or has mail, which is
/// delivered at idle alone; and not a child whose idle is told under its parent's name.
pub fn idler<'a>(facts: &Facts<'a>) -> Option<&'a str> {
    let (event, team) = (&facts.event, facts.team);
    if event.kind != Kind::TeammateIdle {
        return None;
    }
    let name = observe::idler(event)?;
    let deeds = team.ledger.of(name);
    (!is_child(facts, name) && !deeds.stopping && team.waiting(name) == 0).then_some(name)
}

/// Begins a reason. A teammate that is kept from its idle reads it (`yours`); a warning the user, who is to be told of
/// whom it is (`its`).
pub fn goes_idle(mode: Mode, name: &str, its: &str, yours: &str) -> Reason {
    let reason = Reason::of(mode);
    match mode {
        Mode::Block => reason.then("going idle").then(yours),
        _ => reason.name(name).then(" goes idle").then(its),
    }
}

/// In-process, an agent's type is its name, an id belongs to one agent, and a turn ends before its agent goes idle.
fn is_child(facts: &Facts<'_>, name: &str) -> bool {
    let (payload, ledger) = (facts.event.payload, &facts.team.ledger);
    let other = |text: Option<&str>| text.is_some_and(|text| !text.is_empty() && text != name);
    let by_agent =
        |id| other(payload.text("agent_type")) || other(ledger.handles.get(id).map(String::as_str));
    payload.agent_id().is_some_and(by_agent)
        || other(facts.event.actor.name.as_deref())
        || ledger.of(name).turn
}
