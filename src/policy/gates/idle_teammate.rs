//! Which teammate goes idle, and whether the idle can be blocked.

use crate::config::Mode;
use crate::payload::Kind;
use crate::policy::{Facts, Reason, observe};

/// The teammate that goes idle, unless it must not be blocked: it has a shutdown request or unread messages, which are
/// delivered only at idle, or it is a child whose idle is reported under its parent's name.
pub fn idler<'a>(facts: &Facts<'a>) -> Option<&'a str> {
    let (event, team) = (&facts.event, facts.team);
    if event.kind != Kind::TeammateIdle {
        return None;
    }
    let name = observe::idler(event)?;
    let activity = team.ledger.of(name);
    (!is_child(facts, name) && !activity.stopping && team.waiting(name) == 0).then_some(name)
}

/// Starts a reason. A blocked teammate reads `yours`; the user reads a warning and needs the teammate's name (`its`).
pub fn goes_idle(mode: Mode, name: &str, its: &str, yours: &str) -> Reason {
    let reason = Reason::of(mode);
    match mode {
        Mode::Block => reason.then("going idle").then(yours),
        _ => reason.name(name).then(" goes idle").then(its),
    }
}

/// In-process an agent's type is its name, each id belongs to one agent, and a turn ends before its agent goes idle.
fn is_child(facts: &Facts<'_>, name: &str) -> bool {
    let (payload, ledger) = (facts.event.payload, &facts.team.ledger);
    let other = |text: Option<&str>| text.is_some_and(|text| !text.is_empty() && text != name);
    let by_agent =
        |id| other(payload.text("agent_type")) || other(ledger.handles.get(id).map(String::as_str));
    payload.agent_id().is_some_and(by_agent)
        || other(facts.event.actor.name.as_deref())
        || ledger.of(name).turn
}
