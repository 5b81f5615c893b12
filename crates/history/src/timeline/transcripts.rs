//! Reads the transcripts of a run.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::{BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::transcript_owners::TranscriptOwners;
use crate::transcript::{Delivered, FileChanges, TranscriptItem, TranscriptRecord, records};
use teamkeep_model::team::MessageUsage;
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
    for path in recorded.keys().filter(|path| path.ends_with(".jsonl")) {
        let meta = path.replace(".jsonl", ".meta.json");
        let note = recorded
            .contains_key(&meta)
            .then(|| read_note(archive, &run.run, Path::new(&meta), object(&meta)));
        let note = note.and_then(Result::ok).unwrap_or_default();
        match read(archive, &run.run, path, object(path)) {
            Ok(records) => {
                let by = owners.owner(Path::new(path), &note, &records);
                let agent = agent_of(Path::new(path)).to_owned();
                let transcript = Arc::new(Transcript { by, agent });
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
