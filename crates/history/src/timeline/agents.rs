//! Which agent is which. Agents are ids, and names are labels: a plain subagent can have a role that is a teammate's name, and
//! several agents can work under one name.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::Value;

use super::LoadedEvent;
use super::loaded_event::change_actors;
use teamkeep_model::Tool;
use teamkeep_model::event::{Actor, ActorKind, LEAD};
use teamkeep_model::payload::{AgentId, EventKind, Spawn};
use teamkeep_model::time::Timestamp;
use teamkeep_policy::stopped;
use teamkeep_store::archive::RunRecord;

/// Gives each agent its own name: that of a member belongs to the member only, and that of a plain subagent is the one that it was
/// launched with, by which others write to it (2.1.332), else its role. The actors in the log are those that were known at each hook
/// call; the rest of the run can show more.
pub(super) fn name_agents(events: &mut [LoadedEvent], members: &[String], run: &RunRecord) {
    let is_member = |name: &str| members.iter().any(|member| member == name);
    let mut subagents: HashMap<String, Option<String>> = HashMap::new();
    for (id, name) in events.iter().filter_map(launched) {
        let known = subagents.entry(id).or_default();
        *known = known.take().or(name);
    }
    let by_teammates = events.iter().filter(|event| event.actor().kind == ActorKind::Teammate);
    let teammates: HashSet<String> = by_teammates.filter_map(|event| event.actor().id.clone()).collect();
    change_actors(events, |actor| {
        let Actor { name: Some(name), id: Some(id), kind } = actor else { return None };
        if !matches!(kind, ActorKind::Teammate | ActorKind::Subagent) {
            return None;
        }
        let is_lead = name == LEAD || name == run.lead();
        let is_teammate = match AgentId::parse(id) {
            _ if is_lead || subagents.contains_key(id) => false,
            AgentId::Named(own) if own == name && is_member(name) => true,
            _ => *kind == ActorKind::Teammate || teammates.contains(id),
        };
        if is_teammate {
            return (*kind != ActorKind::Teammate).then(|| Actor::teammate(name, Some(id)));
        }
        let name = subagents.get(id).and_then(Option::as_ref).unwrap_or(name);
        let taken = name == LEAD || name == run.lead() || is_member(name);
        let name = if taken { Actor::subagent_name(name) } else { name.clone() };
        let subagent = Actor { name: Some(name), id: Some(id.clone()), kind: ActorKind::Subagent };
        (subagent != *actor).then_some(subagent)
    });
}

/// The id of the plain subagent that a call launched, and its name if it has one. The response about a teammate is another one.
fn launched(event: &LoadedEvent) -> Option<(String, Option<String>)> {
    if event.kind != EventKind::PostToolUse || event.tool() != Some(Tool::Agent) {
        return None;
    }
    let id = event.tool_response().get("agentId")?.as_str()?;
    let is_plain = AgentId::parse(id) == AgentId::Plain && Spawn::of(event.payload()).is_none();
    let name = event.tool_input().get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
    is_plain.then(|| (id.to_owned(), name.map(str::to_owned)))
}

/// A turn of an agent that hook calls name by id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentTurn {
    pub id: String,
    pub from: Timestamp,
    /// Its end, `None` while it lasts. Not each end is reported: without it, a turn ended with the agent's last hook call if
    /// that agent, or the next one of a teammate's name, began a turn later.
    pub to: Option<Timestamp>,
    last: Timestamp,
    is_subagent: bool,
}

impl AgentTurn {
    fn lasts_at(&self, at: Timestamp) -> bool {
        self.from <= at && self.to.is_none_or(|to| at < to)
    }

    /// Whether another agent is in this turn at that moment.
    fn is_other(&self, id: Option<&str>, at: Timestamp) -> bool {
        Some(self.id.as_str()) != id && self.lasts_at(at)
    }
}

/// The turns of all agents under each name under which several agents worked at once, by start.
#[derive(Debug, Default)]
pub struct SharedNames(BTreeMap<String, Vec<AgentTurn>>);

impl SharedNames {
    pub(super) fn of(events: &[LoadedEvent], run: &RunRecord) -> SharedNames {
        let mut turns: BTreeMap<&str, Vec<AgentTurn>> = BTreeMap::new();
        // The place of each agent's turn that has not ended.
        let mut open: HashMap<(&str, &str), usize> = HashMap::new();
        for event in events.iter().filter(|event| event.verdict.is_none()) {
            // The agent that it ends has no call of its own any more.
            if event.kind == EventKind::PostToolUse
                && event.tool() == Some(Tool::TaskStop)
                && let Some(key) =
                    open.keys().copied().find(|(_, id)| stopped(event.tool_input()) == Some(*id))
                && let Some(place) = open.remove(&key)
                && let Some(turn) = turns.get_mut(key.0).and_then(|own| own.get_mut(place))
            {
                turn.to = Some(event.at);
            }
            let Actor { id: Some(id), kind: ActorKind::Teammate | ActorKind::Subagent, .. } = event.actor()
            else {
                continue;
            };
            let key = (event.shown(run), id.as_str());
            let own = turns.entry(key.0).or_default();
            if event.kind == EventKind::SubagentStart {
                if let Some(before) = open.insert(key, own.len()).and_then(|place| own.get_mut(place)) {
                    before.to = Some(before.last);
                }
                let is_subagent = event.actor().kind == ActorKind::Subagent;
                own.push(AgentTurn { id: id.clone(), from: event.at, to: None, last: event.at, is_subagent });
            } else if let Some(turn) = open.get(&key).and_then(|place| own.get_mut(*place)) {
                turn.last = event.at;
                if matches!(event.kind, EventKind::SubagentStop | EventKind::StopFailure) {
                    turn.to = Some(event.at);
                    open.remove(&key);
                }
            }
        }
        turns.values_mut().for_each(|turns| end_superseded(turns));
        turns.retain(|_, turns| is_shared(turns));
        SharedNames(turns.into_iter().map(|(name, turns)| (name.to_owned(), turns)).collect())
    }

    /// Whether several agents worked under this name at once.
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Whether an agent other than this one works under this name at that moment.
    pub(crate) fn has_other(&self, name: &str, id: Option<&str>, at: Timestamp) -> bool {
        self.0.get(name).is_some_and(|turns| turns.iter().any(|turn| turn.is_other(id, at)))
    }

    /// The names of teammates, with their turns. That several subagents have one role is normal.
    pub(crate) fn of_teammates(&self) -> impl Iterator<Item = (&str, &[AgentTurn])> {
        let shared = self.0.iter().map(|(name, turns)| (name.as_str(), turns.as_slice()));
        shared.filter(|(_, turns)| turns.iter().all(|turn| !turn.is_subagent))
    }
}

/// Ends the turns of teammates whose end is not reported. They are sorted by start.
fn end_superseded(turns: &mut [AgentTurn]) {
    for place in 0..turns.len() {
        let turn = &turns[place];
        let latest = turns.iter().rfind(|other| other.id != turn.id).map(|other| other.from);
        if turn.to.is_none() && !turn.is_subagent && latest.is_some_and(|latest| turn.last < latest) {
            turns[place].to = Some(turn.last);
        }
    }
}

/// Whether turns of different agents overlap. They are sorted by start.
fn is_shared(turns: &[AgentTurn]) -> bool {
    let mut running: Vec<&AgentTurn> = Vec::new();
    turns.iter().any(|turn| {
        running.retain(|other| other.lasts_at(turn.from));
        let is_beside = running.iter().any(|other| other.id != turn.id);
        running.push(turn);
        is_beside
    })
}
