//! The agents of a run: each name, and every agent or session id that used it. Before about 2.1.100 Claude Code
//! started a teammate as a new agent for each message; a lead has a new session after `/clear`.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::input::ReportInput;
use super::turns::Turn;
use crate::timeline::{DeliveredMessage, LoadedEvent};
use teamkeep_model::event::ActorKind;
use teamkeep_model::team::{Notice, Tokens};
use teamkeep_model::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    pub name: String,
    pub kind: ActorKind,
    pub instances: Vec<Instance>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instance {
    pub id: String,
    pub role: Role,
    pub first: Option<Timestamp>,
    pub last: Option<Timestamp>,
    pub turns: usize,
    /// Number of tool calls; `None` without a transcript.
    pub tool_uses: Option<usize>,
    /// The tokens of its messages; `None` without a transcript.
    pub tokens: Option<Tokens>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    Lead,
    PrimaryWork,
    TaskReassignment,
    ShutdownHandler,
    Mail,
    Subagent,
    Helper,
    Unknown,
}

pub(super) fn agents(case: &ReportInput<'_>, turns: &[Turn]) -> Vec<Agent> {
    let mut agents: Vec<Agent> = Vec::new();
    let first_messages = first_messages(case);
    let mut add = |name: &str, kind: ActorKind, id: &str, at: Option<Timestamp>| {
        let index = agents.iter().position(|known| known.name == name).unwrap_or_else(|| {
            agents.push(Agent { name: name.to_owned(), kind, instances: Vec::new() });
            agents.len() - 1
        });
        let instances = &mut agents[index].instances;
        let index = instances.iter().position(|known| known.id == id).unwrap_or_else(|| {
            instances.push(Instance::new(id));
            instances.len() - 1
        });
        let instance = &mut instances[index];
        instance.last = instance.last.max(at);
        instance.first = [instance.first, at].into_iter().flatten().min();
    };
    for event in &case.data.events {
        let Some((name, id)) = actor_of(case, event) else { continue };
        add(name, event.actor().kind, id, Some(event.at));
    }
    let kind = |name: &str| match name {
        _ if name == case.lead => ActorKind::Lead,
        _ if case.data.is_member(name) => ActorKind::Teammate,
        _ => ActorKind::Subagent,
    };
    for transcript in &case.data.transcripts.all {
        add(&transcript.by, kind(&transcript.by), &transcript.agent, None);
    }
    for used in case.data.transcripts.uses.values() {
        add(&used.transcript.by, kind(&used.transcript.by), &used.transcript.agent, case.to_local(used.at));
    }
    for Agent { name, kind, instances } in &mut agents {
        instances.sort_by_key(|one| (one.first.is_none(), one.first));
        for (index, instance) in instances.iter_mut().enumerate() {
            instance.role = match kind {
                ActorKind::Lead => Role::Lead,
                ActorKind::Helper => Role::Helper,
                ActorKind::Subagent => Role::Subagent,
                ActorKind::Unknown => Role::Unknown,
                ActorKind::Teammate => role(case, name, index, first_messages.get(instance.id.as_str())),
            };
            instance.count(case, turns);
        }
    }
    agents
}

fn first_messages<'a>(case: &'a ReportInput<'_>) -> HashMap<&'a str, &'a DeliveredMessage> {
    let mut first: HashMap<&str, &DeliveredMessage> = HashMap::new();
    for delivered in &case.data.transcripts.delivered {
        let known = first.entry(&delivered.transcript.agent).or_insert(delivered);
        if delivered.at < known.at {
            *known = delivered;
        }
    }
    first
}

/// The name and id of an event's agent: for a lead and for a teammate in a pane, the id is the session's. Before about
/// 2.1.100 tool events of other teammates have no id, so the instance is unknown.
fn actor_of<'a>(case: &'a ReportInput<'_>, event: &'a LoadedEvent) -> Option<(&'a str, &'a str)> {
    let name = event.shown(&case.data.run);
    let has_own_session = || match event.actor().kind {
        ActorKind::Lead => true,
        ActorKind::Teammate => case.data.run.has_pane(name),
        _ => false,
    };
    if event.actor().kind == ActorKind::Unknown {
        return None;
    }
    let session = || event.session().filter(|_| has_own_session());
    Some((name, event.actor().id.as_deref().or_else(session)?))
}

/// A teammate's first instance, and each that received a spawn prompt, does the work. Messages started the others.
fn role(case: &ReportInput<'_>, name: &str, index: usize, message: Option<&&DeliveredMessage>) -> Role {
    let Some(message) = message else {
        return if index == 0 { Role::PrimaryWork } else { Role::Unknown };
    };
    let text = message.message.text.trim();
    let rosters = case.data.snapshots.rosters.iter().flat_map(|(_, roster)| &roster.members);
    let mut prompts =
        rosters.filter(|member| member.name == name).filter_map(|member| member.prompt.as_deref());
    match Notice::read(text).map(|notice| notice.kind) {
        _ if index == 0 || prompts.any(|prompt| prompt.trim() == text) => Role::PrimaryWork,
        Some(kind) if kind == "shutdown_request" => Role::ShutdownHandler,
        Some(kind) if kind == "task_assignment" => Role::TaskReassignment,
        _ => Role::Mail,
    }
}

impl Instance {
    fn new(id: &str) -> Instance {
        let id = id.to_owned();
        Instance { id, role: Role::Unknown, first: None, last: None, turns: 0, tool_uses: None, tokens: None }
    }

    fn count(&mut self, case: &ReportInput<'_>, turns: &[Turn]) {
        let transcripts = &case.data.transcripts;
        self.turns = turns.iter().filter(|turn| turn.instance.as_ref() == Some(&self.id)).count();
        if transcripts.all.iter().any(|transcript| transcript.agent == self.id) {
            self.tool_uses =
                Some(transcripts.uses.values().filter(|used| used.transcript.agent == self.id).count());
            let mut tokens = Tokens::default();
            let costs = transcripts.costs.values().filter(|cost| cost.transcript.agent == self.id);
            costs.for_each(|cost| tokens += cost.message.tokens);
            self.tokens = Some(tokens);
        }
    }
}
