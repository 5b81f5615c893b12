//! Reads the transcripts of a run, and finds the agent that each belongs to.

use super::LoadedEvent;
use crate::parallel::{self, MAX_THREADS};
use crate::transcript::{Delivered, FileChanges, TranscriptItem, TranscriptRecord, records};
use serde_json::{Value, json};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io::{BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use teamkeep_model::Tool;
use teamkeep_model::event::ActorKind;
use teamkeep_model::payload::{EventKind, Message, MessageKind};
use teamkeep_model::team::{MessageUsage, Notice};
use teamkeep_model::time::Timestamp;
use teamkeep_store::archive::{Archive, Interval, RunRecord, TranscriptNote, agent_of};
use teamkeep_system::error::Result;
use teamkeep_system::fs;

#[derive(Debug, Default)]
pub struct Transcripts {
    pub delivered: Vec<DeliveredMessage>,
    /// The turns that the user interrupted: the transcript, and the time by Claude Code's clock.
    pub interruptions: Vec<(Arc<Transcript>, Timestamp)>,
    pub uses: BTreeMap<String, ToolUse>,
    /// Token usage by message id. One message is on several lines, and can be in several files.
    pub costs: BTreeMap<String, Cost>,
    pub versions: BTreeSet<String>,
    pub all: Vec<Arc<Transcript>>,
    pub problems: Vec<String>,
}

/// Reads a run's transcripts from the archive or from Claude Code's files, whichever are longer.
pub(super) fn load_transcripts(
    archive: &Archive,
    run: &RunRecord,
    owners: &TranscriptOwners<'_>,
    span: &Interval,
) -> Transcripts {
    let mut transcripts = Transcripts::default();
    let recorded = archive.longest_transcripts(run);
    let mut seen = HashSet::new();
    let object = |path: &str| Some(recorded.get(path)?.as_ref()?.object.as_str());
    let paths: Vec<&str> =
        recorded.keys().map(String::as_str).filter(|path| path.ends_with(".jsonl")).collect();
    let load = |path: &&str, (): &mut ()| {
        let meta = path.replace(".jsonl", ".meta.json");
        let note = recorded
            .contains_key(&meta)
            .then(|| read_note(archive, &run.run, Path::new(&meta), object(&meta)));
        let note = note.and_then(Result::ok).unwrap_or_default();
        (note, read(archive, &run.run, path, object(path)))
    };
    let done = parallel::for_each_in_order(&paths, MAX_THREADS, load, |place, (note, records)| {
        let path = Path::new(paths[place]);
        match records {
            Ok(records) => {
                let by = owners.owner(path, &note, &records);
                let transcript = Arc::new(Transcript { by, agent: agent_of(path).to_owned() });
                transcripts.add(&transcript, records, span, &mut seen);
                transcripts.all.push(transcript);
            }
            Err(problem) => transcripts.problems.push(problem.to_string()),
        }
    });
    transcripts.problems.extend(done.err().map(|error| error.to_string()));
    transcripts.retain_within(span);
    transcripts
}

/// Reads a transcript line by line, from the archive if an object is named, else from Claude Code's file.
fn read(archive: &Archive, run: &str, path: &str, object: Option<&str>) -> Result<Vec<TranscriptRecord>> {
    let path = Path::new(path);
    let read = match object {
        None => records(BufReader::new(fs::open_regular(path)?)),
        Some(object) => {
            let mut reader = archive.open_content(run, object)?;
            let read = records(BufReader::new(&mut reader));
            reader.verify()?;
            read
        }
    };
    Ok(read.map_err(|error| fs::with_path(error, "read", path))?)
}

/// Maximum number of bytes to read of the note beside a transcript.
const MAX_NOTE_BYTES: u64 = 1 << 20;

/// Reads the note from the archive if an object is named, else from Claude Code's file.
pub fn read_note(archive: &Archive, run: &str, path: &Path, object: Option<&str>) -> Result<TranscriptNote> {
    let mut bytes = Vec::new();
    match object {
        Some(object) => archive.open_content(run, object)?.take(MAX_NOTE_BYTES).read_to_end(&mut bytes)?,
        None => fs::open_regular(path)?.take(MAX_NOTE_BYTES).read_to_end(&mut bytes)?,
    };
    Ok(TranscriptNote::parse(&bytes))
}

impl Transcripts {
    /// Removes what belongs to another run of the same session: a resumed session continues its transcript.
    fn retain_within(&mut self, span: &Interval) {
        self.delivered.retain(|delivered| span.contains(delivered.at));
        self.interruptions.retain(|(_, at)| span.contains(Some(*at)));
        self.uses.retain(|_, used| span.contains(used.at));
        self.costs.retain(|_, cost| span.contains(cost.message.at));
    }

    fn add(
        &mut self,
        transcript: &Arc<Transcript>,
        records: Vec<TranscriptRecord>,
        span: &Interval,
        seen: &mut HashSet<blake3::Hash>,
    ) {
        for record in records {
            // One line can be in several files of one agent (2.1.177).
            if let Some(uuid) = &record.uuid
                && !seen.insert(blake3::hash(format!("{:?} {uuid}", transcript.by).as_bytes()))
            {
                continue;
            }
            self.versions.extend(record.version.filter(|_| span.contains(record.timestamp)));
            if let Some(spent) = record.spent {
                match self.costs.get_mut(&spent.id) {
                    Some(cost) => cost.message.add(&spent),
                    None => {
                        let (id, transcript) = (spent.id.clone(), transcript.clone());
                        self.costs.insert(id, Cost { transcript, message: spent });
                    }
                }
            }
            let of = record.items.iter().find_map(TranscriptItem::result_of).map(str::to_owned);
            for part in record.items {
                self.add_part(transcript, record.timestamp, part);
            }
            if let Some(used) =
                of.and_then(|id| self.uses.get_mut(&id)).filter(|_| !record.changes.is_empty())
            {
                used.changes = Some(Box::new(record.changes));
            }
        }
    }

    fn add_part(&mut self, transcript: &Arc<Transcript>, at: Option<Timestamp>, part: TranscriptItem) {
        let transcript = transcript.clone();
        match part {
            TranscriptItem::Delivered(message) => {
                self.delivered.push(DeliveredMessage { transcript, at, message })
            }
            TranscriptItem::Interrupted => self.interruptions.extend(at.map(|at| (transcript, at))),
            TranscriptItem::Used { id, tool, input } => {
                let used = ToolUse { transcript, at, tool, input, result: None, changes: None };
                self.uses.entry(id).or_insert(used);
            }
            TranscriptItem::Result { id, failed } => {
                if let Some(used) = self.uses.get_mut(&id) {
                    used.result = Some(failed.map_or(ToolOutcome::Done, ToolOutcome::Failed));
                }
            }
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveredMessage {
    /// The transcript of the recipient.
    pub transcript: Arc<Transcript>,
    /// The time, by Claude Code's clock.
    pub at: Option<Timestamp>,
    pub message: Delivered,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ToolUse {
    pub transcript: Arc<Transcript>,
    /// The time, by Claude Code's clock.
    pub at: Option<Timestamp>,
    pub tool: String,
    pub input: Value,
    pub result: Option<ToolOutcome>,
    pub changes: Option<Box<FileChanges>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolOutcome {
    Done,
    Failed(String),
}

impl ToolUse {
    pub fn failure(&self) -> Option<&str> {
        match &self.result {
            Some(ToolOutcome::Failed(why)) => Some(why),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cost {
    pub transcript: Arc<Transcript>,
    pub message: MessageUsage,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcript {
    /// The agent's name.
    pub by: String,
    /// The ID of the agent's instance.
    pub agent: String,
}

// Finds the owner of each transcript: from Claude Code's note beside it, from hooks, or from its content.

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
