//! Who acted: each name, and every agent or session that acted under it. Before 2.1.100 or so the client woke a
//! teammate as a new agent for each piece of mail; a lead has a new session after `/clear`.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::case::Case;
use super::turns::Turn;
use crate::event::ActorKind;
use crate::team::{Notice, Tokens};
use crate::timeline::{Heard, Told};

/// A name and the lives that it had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    /// The name.
    pub name: String,
    /// `lead`, `teammate`, `subagent` or `helper`.
    pub kind: ActorKind,
    /// Every agent or session that acted under it, by when it was first seen.
    pub instances: Vec<Instance>,
}

/// An agent or a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instance {
    /// The client's id of it.
    pub id: String,
    /// What it was there for.
    pub role: Role,
    /// When it was first seen, RFC 3339.
    pub first: Option<String>,
    /// When it was last seen.
    pub last: Option<String>,
    /// How many turns of it are on record.
    pub turns: usize,
    /// How many tools it used; `None` where no transcript of it is on record.
    pub tool_uses: Option<usize>,
    /// The tokens of its messages; `None` likewise.
    pub tokens: Option<Tokens>,
}

/// What an instance was there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// It led.
    Lead,
    /// It did what the teammate was spawned for.
    PrimaryWork,
    /// It was woken because a task was given to it.
    TaskReassignment,
    /// It was woken to answer a request to stop.
    ShutdownHandler,
    /// It was woken by other mail.
    Mail,
    /// A plain subagent.
    Subagent,
    /// The client's own helper.
    Helper,
    /// Nothing on record tells.
    Unknown,
}

/// Finds everybody.
pub fn agents(case: &Case<'_>, turns: &[Turn]) -> Vec<Agent> {
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
    for voice in &case.material.voices.all {
        see(&voice.by, kind(&voice.by), &voice.agent, None);
    }
    for used in case.material.voices.uses.values() {
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

/// What each instance was told first.
fn heard<'a>(case: &'a Case<'_>) -> HashMap<&'a str, &'a Heard> {
    let mut first: HashMap<&str, &Heard> = HashMap::new();
    for heard in &case.material.voices.delivered {
        let known = first.entry(&heard.agent).or_insert(heard);
        if heard.at < known.at {
            *known = heard;
        }
    }
    first
}

/// The name and the id of who an event is of: a lead's and a split pane's is the session's. Tool events of other
/// teammates tell no id before 2.1.100 or so: which of its lives it was is not known then.
fn speaker<'a>(case: &'a Case<'_>, event: &'a Told) -> Option<(&'a str, &'a str)> {
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

/// A teammate's first instance, and each that was told a spawn prompt, does the work; the others were woken by mail.
fn role(case: &Case<'_>, name: &str, place: usize, heard: Option<&&Heard>) -> Role {
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

    fn count(&mut self, case: &Case<'_>, turns: &[Turn]) {
        let voices = &case.material.voices;
        self.turns = turns.iter().filter(|turn| turn.instance.as_ref() == Some(&self.id)).count();
        if voices.all.iter().any(|voice| voice.agent == self.id) {
            self.tool_uses = Some(voices.uses.values().filter(|used| used.agent == self.id).count());
            let mut tokens = Tokens::default();
            voices.costs.values().filter(|cost| cost.agent == self.id).for_each(|cost| tokens += cost.tokens);
            self.tokens = Some(tokens);
        }
    }
}
