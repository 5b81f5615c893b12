//! Selects a part of a timeline.

use super::entry::{Entry, EntryKind, Kind};
use super::run_data::RunData;
use teamkeep_model::event::LEAD;
use teamkeep_model::time::Timestamp;
use teamkeep_system::error::{Error, unknown};

#[derive(Debug, Clone, Default)]
pub struct Filter {
    from: Option<Timestamp>,
    to: Option<Timestamp>,
    /// Names, agent ids or roles (`lead`, `teammate`, `subagent`); empty for all.
    actors: Vec<String>,
    involving: bool,
    kinds: Vec<Kind>,
}

impl Filter {
    /// The part between two moments, both included; `None` means no limit.
    pub fn between(from: Option<Timestamp>, to: Option<Timestamp>) -> Filter {
        Filter { from, to, ..Filter::default() }
    }

    pub fn only(self, actors: &[String], kinds: &[Kind]) -> Filter {
        Filter { actors: actors.to_vec(), kinds: kinds.to_vec(), ..self }
    }

    pub fn involving(self, names: &[String]) -> Filter {
        if names.is_empty() { self } else { Filter { actors: names.to_vec(), involving: true, ..self } }
    }

    pub fn contains(&self, entry: &Entry, data: &RunData) -> bool {
        self.from.is_none_or(|from| from <= entry.at)
            && self.to.is_none_or(|to| entry.at <= to)
            && (self.kinds.is_empty() || self.kinds.contains(&entry.kind()))
            && (self.actors.is_empty()
                || self.actors.iter().any(|actor| {
                    is_by(entry, actor, data) || (self.involving && involves(entry, actor, data))
                }))
    }

    pub fn unknown_agent(&self, entries: &[Entry], data: &RunData) -> Option<Error> {
        let is_known =
            |actor: &String| data.is_member(actor) || entries.iter().any(|entry| is_by(entry, actor, data));
        let stranger =
            self.actors.iter().find(|actor| !ROLES.contains(&actor.as_str()) && !is_known(actor))?;
        let mut names: Vec<&str> = entries.iter().map(|entry| entry.actor.as_str()).collect();
        names.extend(data.members.iter().map(String::as_str));
        names.extend(ROLES);
        names.sort_unstable();
        names.dedup();
        Some(unknown("agent", stranger, &names))
    }
}

const ROLES: [&str; 3] = ["lead", "teammate", "subagent"];

fn is_by(entry: &Entry, actor: &str, data: &RunData) -> bool {
    let is_lead = || entry.actor == LEAD || entry.actor == "lead";
    entry.actor == actor
        || entry.agent().is_some_and(|agent| agent == actor)
        || match actor {
            "lead" => is_lead(),
            "teammate" => data.is_member(&entry.actor) && !is_lead(),
            "subagent" => entry.turn().is_some_and(|turn| turn.by_subagent),
            _ => false,
        }
}

/// Whether an entry by another agent concerns this one: a message to it, a task that it owns, or a verdict about it.
fn involves(entry: &Entry, actor: &str, data: &RunData) -> bool {
    let is_all = || data.is_member(actor) && entry.actor != actor;
    match &entry.kind {
        EntryKind::Message(message) => message.to.as_deref().is_some_and(|to| {
            to == actor
                || (to == "*" && is_all())
                || to.split_once('@').is_some_and(|(name, _)| name == actor)
        }),
        EntryKind::Task(task) => task.owner.as_deref() == Some(actor),
        EntryKind::AgentStopped(stop) => stop.name == actor,
        EntryKind::Verdict(verdict) => mentions(&verdict.text, actor),
        _ => false,
    }
}

fn mentions(reason: &str, actor: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    reason
        .match_indices(actor)
        .any(|(at, _)| !reason[..at].ends_with(is_part) && !reason[at + actor.len()..].starts_with(is_part))
}
