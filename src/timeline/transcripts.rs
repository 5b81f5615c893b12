//! Reads the transcripts of a run.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::{BufReader, Read};
use std::path::Path;

use super::transcript::{Cost, DeliveredMessage, Outcome, ToolUse, Transcript};
use super::transcript_owner::{Names, agent_of};
use crate::archive::{Archive, RunRecord};
use crate::clock::{self, Time};
use crate::error::Result;
use crate::event::LEAD;
use crate::fs;
use crate::team::{Record, Spent, TranscriptItem, records};

/// The content of a run's transcripts.
#[derive(Debug, Default)]
pub struct Transcripts {
    /// Delivered messages.
    pub delivered: Vec<DeliveredMessage>,
    /// Tool calls by tool_use_id.
    pub uses: BTreeMap<String, ToolUse>,
    /// Token usage by message id. One message is on several lines, and can be in several files.
    pub costs: BTreeMap<String, Cost>,
    /// The versions of Claude Code that wrote them during the run.
    pub versions: BTreeSet<String>,
    /// The transcripts that could be read.
    pub all: Vec<Transcript>,
    /// The transcripts that could not be read.
    pub problems: Vec<String>,
}

/// The part of its sessions' transcripts that belongs to a run, by Claude Code's clock, which is also the clock of
/// `createdAt`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Interval {
    /// When Claude Code created the team; else when the run was first seen, if an earlier run shares one of its
    /// sessions.
    pub from: Option<Time>,
    /// When the next run of its sessions began.
    pub until: Option<Time>,
}

impl Interval {
    /// Finds the part of a run. Runs that share a session follow each other.
    pub fn of(run: &RunRecord, all: &[RunRecord]) -> Interval {
        if let Some(imported) = &run.imported {
            let time = |text: &Option<String>| text.as_deref().and_then(clock::parse);
            return Interval { from: time(&imported.from), until: time(&imported.until) };
        }
        let shares = |other: &&RunRecord| {
            other.run != run.run
                && other.imported.is_none()
                && other.sessions.iter().any(|one| run.sessions.iter().any(|own| own.id == one.id))
        };
        let began = |run: &RunRecord| clock::parse(run.created_at.as_deref().unwrap_or(&run.started_at));
        let own = began(run);
        let others: Vec<Time> = all.iter().filter(shares).filter_map(began).collect();
        let from = own.filter(|own| run.created_at.is_some() || others.iter().any(|other| other < own));
        Interval { from, until: others.into_iter().filter(|other| own.is_some_and(|own| *other > own)).min() }
    }

    fn contains(&self, at: Option<&str>) -> bool {
        at.and_then(clock::parse).is_none_or(|at| {
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
                transcripts.take(&transcript, records, span, &mut seen);
                transcripts.all.push(transcript);
            }
            Err(problem) => transcripts.problems.push(problem.to_string()),
        }
    }
    transcripts.keep_within(span);
    transcripts
}

/// Reads a transcript line by line, from the archive if an object is named, else from Claude Code's file.
fn read(archive: &Archive, path: &str, object: Option<&str>) -> Result<Vec<Record>> {
    let named = |error| fs::with_path(error, "read", Path::new(path));
    let Some(object) = object else {
        let file = fs::open_regular(Path::new(path))?;
        return Ok(records(BufReader::new(file)).map_err(named)?);
    };
    let mut reading = archive.objects.open(object)?;
    let records = records(BufReader::new(&mut reading));
    reading.verify()?;
    Ok(records.map_err(named)?)
}

/// Maximum number of bytes to read of the note beside a transcript.
const PROGRESS_FROM_BYTES: u64 = 1 << 20;

/// Reads the note beside a transcript.
fn note(archive: &Archive, path: &str, object: Option<&str>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    match object {
        Some(object) => archive.objects.open(object)?.take(PROGRESS_FROM_BYTES).read_to_end(&mut bytes)?,
        None => fs::open_regular(Path::new(path))?.take(PROGRESS_FROM_BYTES).read_to_end(&mut bytes)?,
    };
    Ok(bytes)
}

/// The lead's name: a session without a team has no `team-lead`.
pub fn lead(run: &RunRecord) -> &'static str {
    if run.team.is_some() { LEAD } else { "lead" }
}

impl Transcripts {
    /// Removes what belongs to another run of the same session: a resumed session continues its transcript.
    fn keep_within(&mut self, span: &Interval) {
        self.delivered.retain(|heard| span.contains(heard.at.as_deref()));
        self.uses.retain(|_, used| span.contains(used.at.as_deref()));
        self.costs.retain(|_, cost| span.contains(cost.at.as_deref()));
    }

    fn take(
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
            self.versions.extend(record.version.filter(|_| span.contains(record.timestamp.as_deref())));
            if let Some(Spent { message, model, tokens }) = record.spent {
                let cost = self.costs.entry(message).or_insert_with(|| Cost {
                    by: transcript.by.clone(),
                    agent: transcript.agent.clone(),
                    at: record.timestamp.clone(),
                    model,
                    tokens,
                });
                cost.tokens = cost.tokens.most(tokens);
            }
            for said in record.items {
                self.hear(transcript, record.timestamp.as_ref(), said);
            }
        }
    }

    fn hear(&mut self, Transcript { by, agent }: &Transcript, at: Option<&String>, said: TranscriptItem) {
        let (by, agent, at) = (by.clone(), agent.clone(), at.cloned());
        match said {
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
