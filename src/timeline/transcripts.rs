//! Reads the transcripts of a run, and finds the owner of each: from Claude Code's note beside it, from hooks, or from
//! its content.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io::{BufReader, Read};
use std::path::Path;

use serde_json::{Value, json};

use super::LoadedEvent;
use teamkeep_core::client::json;
use teamkeep_core::client::payload::{Kind, Message};
use teamkeep_core::client::team::{Delivered, Notice, Record, Spent, Tokens, TranscriptItem, records};
use teamkeep_core::error::Result;
use teamkeep_core::model::Tool;
use teamkeep_core::model::event::{ActorKind, LEAD};
use teamkeep_core::store::archive::{Archive, RunRecord, SessionRole};
use teamkeep_core::sys::clock::Timestamp;
use teamkeep_core::sys::fs;

#[derive(Debug, Default)]
pub struct Transcripts {
    pub delivered: Vec<DeliveredMessage>,
    pub uses: BTreeMap<String, ToolUse>,
    /// Token usage by message id. One message is on several lines, and can be in several files.
    pub costs: BTreeMap<String, Cost>,
    pub versions: BTreeSet<String>,
    pub all: Vec<Transcript>,
    pub problems: Vec<String>,
}

/// The part of its sessions' transcripts that belongs to a run, by Claude Code's clock, which is also the clock of
/// `createdAt`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Interval {
    /// When Claude Code created the team; else when the run was first seen, if an earlier run shares one of its
    /// sessions.
    pub from: Option<Timestamp>,
    pub until: Option<Timestamp>,
}

impl Interval {
    /// Finds the part of a run. Runs that share a session follow each other.
    pub fn of(run: &RunRecord, all: &[RunRecord]) -> Interval {
        if let Some(imported) = &run.imported {
            return Interval { from: imported.from, until: imported.until };
        }
        let shares = |other: &&RunRecord| {
            other.run != run.run
                && other.imported.is_none()
                && other.sessions.iter().any(|one| run.sessions.iter().any(|own| own.id == one.id))
        };
        let began = |run: &RunRecord| run.created_at.unwrap_or(run.started_at);
        let own = began(run);
        let others: Vec<Timestamp> = all.iter().filter(shares).map(began).collect();
        let from = Some(own).filter(|own| run.created_at.is_some() || others.iter().any(|other| other < own));
        Interval { from, until: others.into_iter().filter(|other| *other > own).min() }
    }

    fn contains(&self, at: Option<Timestamp>) -> bool {
        at.is_none_or(|at| {
            self.from.is_none_or(|from| from <= at) && self.until.is_none_or(|until| at < until)
        })
    }
}

/// Reads a run's transcripts from the archive or from Claude Code's files, whichever are longer.
pub(super) fn load_transcripts(
    archive: &Archive,
    run: &RunRecord,
    names: &Names<'_>,
    span: &Interval,
) -> Transcripts {
    let mut transcripts = Transcripts::default();
    let kept = archive.kept(&run.run);
    let live: BTreeMap<String, u64> = archive
        .transcripts(run)
        .iter()
        .filter_map(|path| Some((path.to_str()?.to_owned(), path.symlink_metadata().ok()?.len())))
        .collect();
    let paths: BTreeSet<&String> = kept.keys().chain(live.keys()).collect();
    let mut seen = HashSet::new();
    // From the archive, if Claude Code's file is not longer.
    let object = |path: &str| {
        let kept = kept.get(path)?;
        live.get(path).is_none_or(|size| *size <= kept.size).then_some(kept.object.as_str())
    };
    for path in paths.iter().filter(|path| path.ends_with(".jsonl")) {
        let meta = path.replace(".jsonl", ".meta.json");
        let meta = paths.contains(&meta).then(|| note(archive, &meta, object(&meta)).ok()).flatten();
        match read(archive, path, object(path)) {
            Ok(records) => {
                let by = names.owner(Path::new(path), meta.as_deref(), &records);
                let transcript = Transcript { by, agent: agent_of(Path::new(path)).to_owned() };
                transcripts.add(&transcript, records, span, &mut seen);
                transcripts.all.push(transcript);
            }
            Err(problem) => transcripts.problems.push(problem.to_string()),
        }
    }
    transcripts.retain_within(span);
    transcripts
}

/// Reads a transcript line by line, from the archive if an object is named, else from Claude Code's file.
fn read(archive: &Archive, path: &str, object: Option<&str>) -> Result<Vec<Record>> {
    let path = Path::new(path);
    let read = match object {
        None => records(BufReader::new(fs::open_regular(path)?)),
        Some(object) => {
            let mut reader = archive.objects.open(object)?;
            let read = records(BufReader::new(&mut reader));
            reader.verify()?;
            read
        }
    };
    Ok(read.map_err(|error| fs::with_path(error, "read", path))?)
}

/// Maximum number of bytes to read of the note beside a transcript.
const MAX_NOTE_BYTES: u64 = 1 << 20;

fn note(archive: &Archive, path: &str, object: Option<&str>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    match object {
        Some(object) => archive.objects.open(object)?.take(MAX_NOTE_BYTES).read_to_end(&mut bytes)?,
        None => fs::open_regular(Path::new(path))?.take(MAX_NOTE_BYTES).read_to_end(&mut bytes)?,
    };
    Ok(bytes)
}

/// The lead's name: a session without a team has no `team-lead`.
pub fn lead(run: &RunRecord) -> &'static str {
    if run.team.is_some() { LEAD } else { "lead" }
}

impl Transcripts {
    /// Removes what belongs to another run of the same session: a resumed session continues its transcript.
    fn retain_within(&mut self, span: &Interval) {
        self.delivered.retain(|delivered| span.contains(delivered.at));
        self.uses.retain(|_, used| span.contains(used.at));
        self.costs.retain(|_, cost| span.contains(cost.at));
    }

    fn add(
        &mut self,
        transcript: &Transcript,
        records: Vec<Record>,
        span: &Interval,
        seen: &mut HashSet<(String, String)>,
    ) {
        for record in records {
            // One line can be in several files of one agent (2.1.177).
            if let Some(uuid) = &record.uuid
                && !seen.insert((transcript.by.clone(), uuid.clone()))
            {
                continue;
            }
            self.versions.extend(record.version.filter(|_| span.contains(record.timestamp)));
            if let Some(Spent { message, model, tokens }) = record.spent {
                let cost = self.costs.entry(message).or_insert_with(|| Cost {
                    by: transcript.by.clone(),
                    agent: transcript.agent.clone(),
                    at: record.timestamp,
                    model,
                    tokens,
                });
                cost.tokens = cost.tokens.most(tokens);
            }
            for part in record.items {
                self.add_part(transcript, record.timestamp, part);
            }
        }
    }

    fn add_part(
        &mut self,
        Transcript { by, agent }: &Transcript,
        at: Option<Timestamp>,
        part: TranscriptItem,
    ) {
        let (by, agent) = (by.clone(), agent.clone());
        match part {
            TranscriptItem::Delivered(message) => {
                self.delivered.push(DeliveredMessage { recipient: by, agent, at, message })
            }
            TranscriptItem::Used { id, tool, input } => {
                let used = ToolUse { by, agent, at, tool, input, result: None };
                self.uses.entry(id).or_insert(used);
            }
            TranscriptItem::Result { id, failed } => {
                if let Some(used) = self.uses.get_mut(&id) {
                    used.result = Some(failed.map_or(Outcome::Done, Outcome::Failed));
                }
            }
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveredMessage {
    pub recipient: String,
    pub agent: String,
    /// The time, by Claude Code's clock.
    pub at: Option<Timestamp>,
    pub message: Delivered,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ToolUse {
    pub by: String,
    pub agent: String,
    /// The time, by Claude Code's clock.
    pub at: Option<Timestamp>,
    pub tool: String,
    pub input: Value,
    pub result: Option<Outcome>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Done,
    Failed(String),
}

impl ToolUse {
    pub fn failure(&self) -> Option<&str> {
        match &self.result {
            Some(Outcome::Failed(why)) => Some(why),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cost {
    pub by: String,
    pub agent: String,
    /// The start, by Claude Code's clock.
    pub at: Option<Timestamp>,
    pub model: Option<String>,
    pub tokens: Tokens,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcript {
    pub by: String,
    pub agent: String,
}

pub(super) struct Names<'a> {
    run: &'a RunRecord,
    members: &'a [String],
    /// Members by their spawn prompt; `None` if several had the same.
    prompts: HashMap<String, Option<String>>,
    agents: HashMap<&'a str, &'a str>,
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
        if !is_agent_transcript(path) {
            let session = self.run.sessions.iter().find(|session| session.id == id);
            let pane = session.filter(|session| session.role == SessionRole::Pane);
            return pane.and_then(|pane| pane.name.clone()).unwrap_or_else(|| lead(self.run).to_owned());
        }
        let meta: Value = meta.and_then(json::parse_lossy).unwrap_or(Value::Null);
        let text = |key: &str| meta.get(key).and_then(Value::as_str);
        let by_meta = text("name").or(text("agentType")).filter(|name| self.is_member(name));
        let by_hooks = || self.agents.get(id).copied();
        let named = by_meta.or_else(by_hooks).or(text("agentType")).map(str::to_owned);
        named.or_else(|| self.by_content(records)).unwrap_or_else(|| "unknown".to_owned())
    }

    fn is_member(&self, name: &str) -> bool {
        self.members.iter().any(|member| member == name)
    }

    /// The owner by content. 2.1.47 starts a transcript for each turn and names no agent in it.
    fn by_content(&self, records: &[Record]) -> Option<String> {
        let parts = || records.iter().flat_map(|record| &record.items);
        let named = parts().find_map(|part| match part {
            TranscriptItem::Used { id, tool, input } => {
                let known = self.users.get(id.as_str()).map(|name| (*name).to_owned());
                known.or_else(|| answerer(tool, input))
            }
            TranscriptItem::Delivered(message) => recipient_of_request(message),
            TranscriptItem::Result { .. } => None,
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
    let answers =
        matches!(message.kind, teamkeep_core::client::payload::MessageKind::ShutdownResponse { .. });
    message.asked().filter(|_| answers).map(str::to_owned)
}

fn recipient_of_request(message: &Delivered) -> Option<String> {
    let notice = Notice::read(&message.text).filter(|notice| notice.kind == "shutdown_request")?;
    notice.request?.rsplit_once('@').map(|(_, name)| name.to_owned())
}

fn stem(path: &Path) -> &str {
    path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default()
}

fn is_agent_transcript(path: &Path) -> bool {
    stem(path).starts_with("agent-")
}

pub(super) fn agent_of(path: &Path) -> &str {
    let name = stem(path);
    name.strip_prefix("agent-").unwrap_or(name)
}
