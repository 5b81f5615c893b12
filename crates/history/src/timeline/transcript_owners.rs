//! Finds the owner of each transcript: from Claude Code's note beside it, from hooks, or from its content.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::path::Path;

use serde_json::{Value, json};

use super::LoadedEvent;
use crate::transcript::{Delivered, TranscriptItem, TranscriptRecord};
use teamkeep_model::Tool;
use teamkeep_model::event::ActorKind;
use teamkeep_model::payload::{EventKind, Message, MessageKind};
use teamkeep_model::team::Notice;
use teamkeep_store::archive::{RunRecord, TranscriptNote};

pub(super) struct TranscriptOwners<'a> {
    run: &'a RunRecord,
    members: &'a [String],
    /// Members by their spawn prompt; `None` if several had the same.
    prompts: HashMap<String, Option<String>>,
    agents: HashMap<&'a str, &'a str>,
    events: &'a [LoadedEvent],
    /// The teammates by the ids of their tool calls.
    users: OnceCell<HashMap<&'a str, &'a str>>,
}

impl<'a> TranscriptOwners<'a> {
    pub(super) fn of(
        run: &'a RunRecord,
        members: &'a [String],
        events: &'a [LoadedEvent],
        prompted: impl Iterator<Item = (String, String)>,
    ) -> TranscriptOwners<'a> {
        let mut prompts: HashMap<String, Option<String>> = HashMap::new();
        for (name, prompt) in prompted {
            let known = prompts.entry(prompt.trim().to_owned()).or_insert_with(|| Some(name.clone()));
            known.take_if(|known| *known != name);
        }
        TranscriptOwners { run, members, prompts, agents: agents(events), events, users: OnceCell::new() }
    }

    /// The owner of a transcript with this note beside it.
    pub(super) fn owner(&self, path: &Path, note: &TranscriptNote, records: &[TranscriptRecord]) -> String {
        let by_hooks = |id: &str| self.agents.get(id).copied();
        let named = self.run.owner_of(path, note, |name| self.is_member(name), by_hooks).map(str::to_owned);
        named.or_else(|| self.by_content(records)).unwrap_or_else(|| "unknown".to_owned())
    }

    fn is_member(&self, name: &str) -> bool {
        self.members.iter().any(|member| member == name)
    }

    /// The owner by content. 2.1.47 starts a transcript for each turn and names no agent in it.
    fn by_content(&self, records: &[TranscriptRecord]) -> Option<String> {
        let users = || {
            let teammates = self.events.iter().filter(|event| event.actor().kind == ActorKind::Teammate);
            teammates
                .filter_map(|event| Some((event.tool_use_id()?, event.actor().name.as_deref()?)))
                .collect()
        };
        let parts = || records.iter().flat_map(|record| &record.items);
        let named = parts().find_map(|part| match part {
            TranscriptItem::Used { id, tool, input } => {
                let known = self.users.get_or_init(users).get(id.as_str()).map(|name| (*name).to_owned());
                known.or_else(|| answerer(tool, input))
            }
            TranscriptItem::Delivered(message) => recipient_of_request(message),
            TranscriptItem::Result { .. } | TranscriptItem::Interrupted => None,
        });
        let first = || {
            parts().find_map(
                |part| if let TranscriptItem::Delivered(message) = part { Some(message) } else { None },
            )
        };
        let prompted = || self.prompts.get(first()?.text.trim())?.clone();
        named.filter(|name| self.is_member(name)).or_else(prompted)
    }
}

pub(super) fn agents(events: &[LoadedEvent]) -> HashMap<&str, &str> {
    let mut agents = HashMap::new();
    for event in events {
        let starts = matches!(event.kind, EventKind::SubagentStart | EventKind::SubagentStop);
        let named = event.actor().kind == ActorKind::Teammate
            || (starts && event.actor().kind == ActorKind::Subagent);
        if let (true, Some(id), Some(name)) = (named, &event.actor().id, &event.actor().name) {
            agents.insert(id.as_str(), name.as_str());
        }
    }
    agents
}

/// The agent that answers a shutdown request: only the one that was asked can.
fn answerer(tool: &str, input: &Value) -> Option<String> {
    let message = Message::of(input, &json!(null)).filter(|_| Tool::named(tool) == Tool::SendMessage)?;
    let answers = matches!(message.kind, MessageKind::ShutdownResponse { .. });
    message.asked().filter(|_| answers).map(str::to_owned)
}

fn recipient_of_request(message: &Delivered) -> Option<String> {
    let notice = Notice::read(&message.text).filter(|notice| notice.kind == "shutdown_request")?;
    notice.request?.rsplit_once('@').map(|(_, name)| name.to_owned())
}
