//! Finds the owner of a transcript: from Claude Code's note beside it, from hooks, or from its content.

use std::collections::HashMap;
use std::path::Path;

use serde_json::{Value, json};

use super::LoadedEvent;
use super::transcripts::lead;
use crate::archive::{RunRecord, SessionRole};
use crate::event::ActorKind;
use crate::json;
use crate::model::Tool;
use crate::payload::{Kind, Message};
use crate::team::{Delivered, Notice, Record, TranscriptItem};

/// The known names.
pub(super) struct Names<'a> {
    run: &'a RunRecord,
    members: &'a [String],
    /// Members by their spawn prompt; `None` if several had the same.
    prompts: HashMap<String, Option<String>>,
    /// Names by agent id, from hooks.
    agents: HashMap<&'a str, &'a str>,
    /// Teammates by tool_use_id, from hooks.
    users: HashMap<&'a str, &'a str>,
}

impl<'a> Names<'a> {
    pub fn of(
        run: &'a RunRecord,
        members: &'a [String],
        events: &'a [LoadedEvent],
        prompted: impl Iterator<Item = (String, String)>,
    ) -> Names<'a> {
        let mut prompts: HashMap<String, Option<String>> = HashMap::new();
        for (name, prompt) in prompted {
            let known = prompts.entry(prompt.trim().to_owned()).or_insert_with(|| Some(name.clone()));
            known.take_if(|known| *known != name);
        }
        let teammates = events.iter().filter(|event| event.actor.kind == ActorKind::Teammate);
        let users = teammates
            .filter_map(|event| Some((event.payload.tool_use_id()?, event.actor.name.as_deref()?)))
            .collect();
        let agents = agents(events);
        Names { run, members, prompts, agents, users }
    }

    /// The owner of a transcript. `meta` is Claude Code's note beside it.
    pub fn owner(&self, path: &Path, meta: Option<&[u8]>, records: &[Record]) -> String {
        let id = agent_of(path);
        if !is_agent_s(path) {
            let session = self.run.sessions.iter().find(|session| session.id == id);
            let pane = session.filter(|session| session.role == SessionRole::Pane);
            return pane.and_then(|pane| pane.name.clone()).unwrap_or_else(|| lead(self.run).to_owned());
        }
        let meta: Value = meta.and_then(json::parse_lossy).unwrap_or(Value::Null);
        let told = |key: &str| meta.get(key).and_then(Value::as_str);
        let by_meta = told("name").or(told("agentType")).filter(|name| self.is_member(name));
        let by_hooks = || self.agents.get(id).copied();
        let named = by_meta.or_else(by_hooks).or(told("agentType")).map(str::to_owned);
        named.or_else(|| self.by_words(records)).unwrap_or_else(|| "unknown".to_owned())
    }

    fn is_member(&self, name: &str) -> bool {
        self.members.iter().any(|member| member == name)
    }

    /// The owner by content. 2.1.47 starts a transcript for each turn and names no agent in it.
    fn by_words(&self, records: &[Record]) -> Option<String> {
        let said = || records.iter().flat_map(|record| &record.items);
        let named = said().find_map(|said| match said {
            TranscriptItem::Used { id, tool, input } => {
                let known = self.users.get(id.as_str()).map(|name| (*name).to_owned());
                known.or_else(|| answerer(tool, input))
            }
            TranscriptItem::Delivered(message) => asked(message),
            TranscriptItem::Result { .. } => None,
        });
        let first = || {
            said().find_map(
                |said| if let TranscriptItem::Delivered(message) = said { Some(message) } else { None },
            )
        };
        let prompted = || self.prompts.get(first()?.text.trim())?.clone();
        named.filter(|name| self.is_member(name)).or_else(prompted)
    }
}

/// Names by agent id, from hooks.
pub(super) fn agents(events: &[LoadedEvent]) -> HashMap<&str, &str> {
    let mut agents = HashMap::new();
    for event in events {
        let starts = matches!(event.kind, Kind::SubagentStart | Kind::SubagentStop);
        let named =
            event.actor.kind == ActorKind::Teammate || (starts && event.actor.kind == ActorKind::Subagent);
        if let (true, Some(id), Some(name)) = (named, &event.actor.id, &event.actor.name) {
            agents.insert(id.as_str(), name.as_str());
        }
    }
    agents
}

/// The agent that answers a shutdown request: only the one that was asked can.
fn answerer(tool: &str, input: &Value) -> Option<String> {
    let message = Message::of(input, &json!(null)).filter(|_| Tool::named(tool) == Tool::SendMessage)?;
    let answers = matches!(message.kind, crate::payload::MessageKind::ShutdownResponse { .. });
    message.asked().filter(|_| answers).map(str::to_owned)
}

/// The recipient of a shutdown request.
fn asked(message: &Delivered) -> Option<String> {
    let notice = Notice::read(&message.text).filter(|notice| notice.kind == "shutdown_request")?;
    notice.request?.rsplit_once('@').map(|(_, name)| name.to_owned())
}

fn stem(path: &Path) -> &str {
    path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default()
}

/// Whether it is an agent's transcript, not a session's.
fn is_agent_s(path: &Path) -> bool {
    stem(path).starts_with("agent-")
}

/// The id of the agent or session in a transcript's file name.
pub(super) fn agent_of(path: &Path) -> &str {
    let name = stem(path);
    name.strip_prefix("agent-").unwrap_or(name)
}
