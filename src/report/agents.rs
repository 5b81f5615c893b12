//! The agents of a run: each name, and every agent or session id that used it. Before about 2.1.100 Claude Code
//! started a teammate as a new agent for each message; a lead has a new session after `/clear`.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::input::ReportInput;
use super::turns::Turn;
use crate::event::ActorKind;
use crate::team::{Notice, Tokens};
use crate::timeline::{DeliveredMessage, LoadedEvent};

/// A name and its instances.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    /// The name.
    pub name: String,
    /// `lead`, `teammate`, `subagent` or `helper`.
    pub kind: ActorKind,
    /// Every agent or session that used the name, by when it was first seen.
    pub instances: Vec<Instance>,
}

/// One agent or session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instance {
    /// Claude Code's id.
    pub id: String,
    /// Its purpose.
    pub role: Role,
    /// When it was first seen, RFC 3339.
    pub first: Option<String>,
    /// When it was last seen.
    pub last: Option<String>,
    /// Number of recorded turns.
    pub turns: usize,
    /// Number of tool calls; `None` without a transcript.
    pub tool_uses: Option<usize>,
    /// The tokens of its messages; `None` without a transcript.
    pub tokens: Option<Tokens>,
}

/// The purpose of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The lead.
    Lead,
    /// The work that the teammate was spawned for.
    PrimaryWork,
    /// Started because a task was assigned to it.
    TaskReassignment,
    /// Started to answer a shutdown request.
    ShutdownHandler,
    /// Started by another message.
    Mail,
    /// A plain subagent.
    Subagent,
    /// Claude Code's internal agent.
    Helper,
    /// Unknown.
    Unknown,
}

/// Collects all agents.
pub fn agents(case: &ReportInput<'_>, turns: &[Turn]) -> Vec<Agent> {
    let mut found: Vec<(String, ActorKind, Vec<Instance>)> = Vec::new();
    let heard = heard(case);
    let mut see = |name: &str, kind: ActorKind, id: &str, at: Option<&str>| {
        let place = found.iter().position(|(known, _, _)| known == name).unwrap_or_else(|| {
            found.push((name.to_owned(), kind, Vec::new()));
            found.len() - 1
        });
        let instances = &mut found[place].2;
        let place = instances.iter().position(|known| known.id == id).unwrap_or_else(|| {
            instances.push(Instance::new(id));
            instances.len() - 1
        });
        instances[place].see(at);
    };
    for event in &case.material.events {
        let Some((name, id)) = speaker(case, event) else { continue };
        see(name, event.actor.kind, id, Some(&event.at));
    }
    let kind = |name: &str| match name {
        _ if name == case.lead => ActorKind::Lead,
        _ if case.material.is_member(name) => ActorKind::Teammate,
        _ => ActorKind::Subagent,
    };
    for transcript in &case.material.transcripts.all {
        see(&transcript.by, kind(&transcript.by), &transcript.agent, None);
    }
    for used in case.material.transcripts.uses.values() {
        see(&used.by, kind(&used.by), &used.agent, case.ours(used.at.as_ref()).as_deref());
    }
    for (name, kind, instances) in &mut found {
        instances.sort_by(|a, b| (a.first.is_none(), &a.first).cmp(&(b.first.is_none(), &b.first)));
        for (place, instance) in instances.iter_mut().enumerate() {
            instance.role = match kind {
                ActorKind::Lead => Role::Lead,
                ActorKind::Helper => Role::Helper,
                ActorKind::Subagent => Role::Subagent,
                ActorKind::Unknown => Role::Unknown,
                ActorKind::Teammate => role(case, name, place, heard.get(instance.id.as_str())),
            };
            instance.count(case, turns);
        }
    }
    found.into_iter().map(|(name, kind, instances)| Agent { name, kind, instances }).collect()
}

/// The first message to each instance.
fn heard<'a>(case: &'a ReportInput<'_>) -> HashMap<&'a str, &'a DeliveredMessage> {
    let mut first: HashMap<&str, &DeliveredMessage> = HashMap::new();
    for heard in &case.material.transcripts.delivered {
        let known = first.entry(&heard.agent).or_insert(heard);
        if heard.at < known.at {
            *known = heard;
        }
    }
    first
}

/// The name and id of an event's agent: for a lead and for a teammate in a pane, the id is the session's. Before about
/// 2.1.100 tool events of other teammates have no id, so the instance is unknown.
fn speaker<'a>(case: &'a ReportInput<'_>, event: &'a LoadedEvent) -> Option<(&'a str, &'a str)> {
    let name = event.shown(&case.material.run);
    let is_session_s = || match event.actor.kind {
        ActorKind::Lead => true,
        ActorKind::Teammate => case.material.run.has_pane(name),
        _ => false,
    };
    if event.actor.kind == ActorKind::Unknown {
        return None;
    }
    let session = || event.session.as_deref().filter(|_| is_session_s());
    Some((name, event.actor.id.as_deref().or_else(session)?))
}

/// A teammate's first instance, and each that received a spawn prompt, does the work. Messages started the others.
fn role(case: &ReportInput<'_>, name: &str, place: usize, heard: Option<&&DeliveredMessage>) -> Role {
    let Some(heard) = heard else {
        return if place == 0 { Role::PrimaryWork } else { Role::Unknown };
    };
    let text = heard.message.text.trim();
    let rosters = case.material.history.rosters.iter().flat_map(|(_, roster)| &roster.members);
    let mut prompts =
        rosters.filter(|member| member.name == name).filter_map(|member| member.prompt.as_deref());
    match Notice::read(text).map(|notice| notice.kind) {
        _ if place == 0 || prompts.any(|prompt| prompt.trim() == text) => Role::PrimaryWork,
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

    fn see(&mut self, at: Option<&str>) {
        let Some(at) = at else { return };
        if self.first.as_deref().is_none_or(|first| at < first) {
            self.first = Some(at.to_owned());
        }
        if self.last.as_deref().is_none_or(|last| at > last) {
            self.last = Some(at.to_owned());
        }
    }

    fn count(&mut self, case: &ReportInput<'_>, turns: &[Turn]) {
        let transcripts = &case.material.transcripts;
        self.turns = turns.iter().filter(|turn| turn.instance.as_ref() == Some(&self.id)).count();
        if transcripts.all.iter().any(|transcript| transcript.agent == self.id) {
            self.tool_uses = Some(transcripts.uses.values().filter(|used| used.agent == self.id).count());
            let mut tokens = Tokens::default();
            transcripts
                .costs
                .values()
                .filter(|cost| cost.agent == self.id)
                .for_each(|cost| tokens += cost.tokens);
            self.tokens = Some(tokens);
        }
    }
}
