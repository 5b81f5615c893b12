//! Brings the index up to date: adds new lines, and removes those that are gone.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::time::{Duration, Instant};

use tantivy::indexer::LogMergePolicy;
use tantivy::{IndexWriter, TantivyDocument, Term};

use super::document::{Document, chunks};
use super::event_texts;
use super::index::{IndexDir, OpenIndex, State, failed};
use super::sources::{self, Lines, Missing, Progress, Source};
use super::transcript_texts::{self, Calls};
use crate::timeline::RunCatalog;
use teamkeep_core::error::{Error, Result};
use teamkeep_core::model::event::ActorKind;
use teamkeep_core::store::archive::{RunRecord, agent_of, is_agent_transcript};
use teamkeep_core::store::log;
use teamkeep_core::sys::clock::Timestamp;

/// How long a search waits for another one that builds the index.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a search waits for the first index.
const MAX_WAIT: Duration = Duration::from_secs(60);
/// A commit after this number of bytes: committed texts are not read again if the process is killed.
const COMMIT_BYTES: u64 = 512 << 20;
/// Memory of each thread that indexes, in bytes.
const THREAD_BYTES: usize = 64 << 20;
const MAX_THREADS: usize = 4;
/// Less is indexed by one thread, in bytes: then it is one segment, in the order of the sources.
const THREADED_BYTES: u64 = 64 << 20;
/// Larger segments of the index are not merged any more, in documents.
const MAX_MERGED_DOCS: usize = 2_000_000;
/// The value of a field without a value: an empty word is not indexed.
pub const NONE: &str = "-";

/// How current the index is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    Current,
    /// Another process updates it.
    Older,
}

/// Opens the index with everything that is recorded. A damaged one is built again. `done` is called with the bytes read.
pub fn open_current(
    dir: &IndexDir,
    catalog: &RunCatalog,
    done: &mut dyn FnMut(u64),
) -> Result<(OpenIndex, Freshness)> {
    let start = Instant::now();
    let mut lock = dir.lock(PATIENCE)?;
    while lock.is_none() {
        // An index without any commit answers nothing: wait for the first one.
        if dir.exists()
            && let Ok(index) = dir.open()
            && !index.state.sources.is_empty()
        {
            return Ok((index, Freshness::Older));
        }
        // The other process can be stopped.
        if start.elapsed() > MAX_WAIT {
            return Err(
                Error::new("another search is building the index").hint("try again when it has finished")
            );
        }
        lock = dir.lock(PATIENCE)?;
    }
    let updated = dir.open().and_then(|index| update(dir, index, catalog, done));
    let index = updated.or_else(|_| {
        dir.discard()?;
        update(dir, dir.open()?, catalog, done)
    });
    Ok((index?, Freshness::Current))
}

fn update(
    dir: &IndexDir,
    mut open: OpenIndex,
    catalog: &RunCatalog,
    done: &mut dyn FnMut(u64),
) -> Result<OpenIndex> {
    let sources = sources::list(catalog)?;
    let ids: HashSet<&str> = sources.iter().map(|source| source.id.as_str()).collect();
    let gone: Vec<String> =
        open.state.sources.keys().filter(|id| !ids.contains(id.as_str())).cloned().collect();
    let work: Vec<(&Source, Missing)> = (sources.iter())
        .map(|source| (source, source.missing(open.state.sources.get(&source.id))))
        .filter(|(_, missing)| *missing != Missing::Nothing)
        .collect();
    if gone.is_empty() && work.is_empty() {
        return Ok(open);
    }
    let size = work.iter().map(|(source, missing)| match missing {
        Missing::Rest(progress) => source.left(progress),
        _ => source.left(&source.start()),
    });
    let mut update = Update::new(&open, catalog, size.sum())?;
    for id in gone {
        update.remove(&id);
        update.state.sources.remove(&id);
    }
    let mut uncommitted = 0;
    for (source, missing) in work {
        let from = match missing {
            Missing::Rest(progress) => progress,
            _ => {
                update.remove(&source.id);
                source.start()
            }
        };
        let size = source.left(&from);
        update.add(source, from)?;
        done(size);
        uncommitted += size;
        if uncommitted > COMMIT_BYTES {
            update.commit()?;
            uncommitted = 0;
        }
    }
    update.commit()?;
    let Update { writer, state, .. } = update;
    writer.wait_merging_threads().map_err(failed)?;
    open.state = state;
    dir.seal()?;
    Ok(open)
}

struct Update<'a> {
    open: &'a OpenIndex,
    catalog: &'a RunCatalog,
    writer: IndexWriter,
    state: State,
    runs_of: BTreeMap<&'a str, Vec<&'a RunRecord>>,
    /// The tool calls of the source that is read.
    calls: Calls,
}

/// Where a document comes from.
struct Origin<'a> {
    source: &'a str,
    run: &'a str,
    session: &'a str,
    line: u64,
}

impl<'a> Update<'a> {
    /// Prepares the addition of this number of bytes.
    fn new(open: &'a OpenIndex, catalog: &'a RunCatalog, size: u64) -> Result<Update<'a>> {
        let available = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = if size < THREADED_BYTES { 1 } else { available.min(MAX_THREADS) };
        let writer = open.index.writer_with_num_threads(threads, threads * THREAD_BYTES).map_err(failed)?;
        let mut policy = LogMergePolicy::default();
        policy.set_max_docs_before_merge(MAX_MERGED_DOCS);
        writer.set_merge_policy(Box::new(policy));
        let mut runs_of: BTreeMap<&str, Vec<&RunRecord>> = BTreeMap::new();
        for run in catalog.runs.iter().filter(|run| run.imported.is_none()) {
            for session in &run.sessions {
                runs_of.entry(&session.id).or_default().push(run);
            }
        }
        let (state, calls) = (open.state.clone(), Calls::new());
        Ok(Update { open, catalog, writer, state, runs_of, calls })
    }

    fn remove(&mut self, source: &str) {
        self.writer.delete_term(Term::from_field_text(self.open.fields.source, source));
    }

    fn commit(&mut self) -> Result<()> {
        let payload = serde_json::to_string(&self.state).map_err(Error::from_json)?;
        let mut commit = self.writer.prepare_commit().map_err(failed)?;
        commit.set_payload(&payload);
        commit.commit().map_err(failed)?;
        Ok(())
    }

    /// Adds the rest of a source. A source that cannot be read is left out and tried again the next time.
    fn add(&mut self, source: &Source, mut progress: Progress) -> Result<()> {
        self.calls.clear();
        let catalog = self.catalog;
        let mut failure = None;
        let read = match &source.lines {
            Lines::Events => source.read(catalog, &mut progress, |line, number| {
                self.event(source, line, number).inspect_err(|error| failure = Some(error.to_string()))
            }),
            Lines::Transcript(path) => {
                let owner = self.owner(source, path);
                source.read(catalog, &mut progress, |line, number| {
                    let added = self.turn(source, path, (number, line), &owner);
                    added.inspect_err(|error| failure = Some(error.to_string()))
                })
            }
        };
        match read {
            Err(error) if failure.is_some() => return Err(error),
            // The file was removed, or its permissions deny it.
            Err(_) => {
                self.remove(&source.id);
                self.state.sources.remove(&source.id);
            }
            Ok(()) => drop(self.state.sources.insert(source.id.clone(), progress)),
        }
        Ok(())
    }

    fn event(&mut self, source: &Source, line: &[u8], number: u64) -> Result<()> {
        let Ok(Some(line)) = log::parse(Some(line.to_vec())) else { return Ok(()) };
        let recorded = &line.recorded;
        let is_agent = matches!(recorded.actor.kind, ActorKind::Teammate | ActorKind::Subagent);
        if let (true, Some(id), Some(name)) = (is_agent, &recorded.actor.id, &recorded.actor.name) {
            self.state.agents.entry(id.clone()).or_insert_with(|| name.clone());
        }
        let calls = &mut self.calls;
        let documents =
            event_texts::documents(recorded, |id| calls.insert(id.to_owned(), String::new()).is_none());
        let origin = Origin {
            source: &source.id,
            run: source.run.as_deref().or(recorded.run.as_deref()).unwrap_or(NONE),
            session: recorded.session.as_deref().unwrap_or(NONE),
            line: number,
        };
        documents.iter().try_for_each(|document| self.write(document, &origin))
    }

    fn turn(&mut self, source: &Source, path: &Path, line: (u64, &[u8]), owner: &str) -> Result<()> {
        let (number, line) = line;
        let (documents, session) = transcript_texts::documents(line, owner, &mut self.calls);
        let session = session.as_deref().or(session_of(path)).unwrap_or(NONE);
        for document in &documents {
            let run = source.run.as_deref().or_else(|| self.run_at(session, document.at)).unwrap_or(NONE);
            self.write(document, &Origin { source: &source.id, run, session, line: number })?;
        }
        Ok(())
    }

    /// The run of a session at a time: the last one that had begun, else the first.
    fn run_at(&self, session: &str, at: Timestamp) -> Option<&'a str> {
        let runs = self.runs_of.get(session)?;
        let began = |run: &RunRecord| run.created_at.unwrap_or(run.started_at);
        let begun = runs.iter().filter(|run| began(run) <= at).max_by_key(|run| began(run));
        begun.or_else(|| runs.iter().min_by_key(|run| began(run))).map(|run| run.run.as_str())
    }

    fn write(&self, document: &Document, origin: &Origin<'_>) -> Result<()> {
        let fields = &self.open.fields;
        for chunk in chunks(&document.text) {
            let mut added = TantivyDocument::default();
            added.add_text(fields.text, chunk);
            added.add_text(fields.kind, document.kind.word());
            added.add_text(fields.agent, &document.agent);
            added.add_text(fields.run, origin.run);
            added.add_text(fields.session, origin.session);
            added.add_text(fields.source, origin.source);
            added.add_text(fields.title, &document.title);
            added.add_text(fields.key, &document.key);
            added.add_i64(fields.at, document.at.millis());
            added.add_u64(fields.line, origin.line);
            self.writer.add_document(added).map_err(failed)?;
        }
        Ok(())
    }

    /// The agent whose transcript this is, as in the timeline of the last run of its session.
    fn owner(&self, source: &Source, path: &Path) -> String {
        let session = if is_agent_transcript(path) { path.ancestors().nth(2) } else { None };
        let session = session.map_or_else(|| path.with_extension(""), Path::to_owned);
        let is_own = |run: &&RunRecord| source.run.as_ref().is_none_or(|own| *own == run.run);
        let is_of_session = |run: &&RunRecord| {
            let transcripts = run.sessions.iter().filter_map(|one| one.transcript.as_deref());
            transcripts.map(|path| Path::new(path).with_extension("")).any(|other| other == session)
        };
        let by_hooks = |id: &str| self.state.agents.get(id).map(String::as_str);
        let run = self.catalog.runs.iter().rev().filter(is_own).find(is_of_session);
        let (id, is_agent) = (agent_of(path), is_agent_transcript(path));
        // Reading the notes of all agents would take long.
        let is_noted = is_agent && by_hooks(id).is_none();
        let note = run.filter(|_| is_noted).map(|run| sources::note_of(self.catalog, run, path));
        let note = note.unwrap_or_default();
        let owner = run.and_then(|run| run.owner_of(path, &note, |_| true, by_hooks));
        let fallback = if is_agent { by_hooks(id).unwrap_or(id) } else { "unknown" };
        owner.unwrap_or(fallback).to_owned()
    }
}

/// The session of a transcript, from its path: `<session>.jsonl` or `<session>/subagents/agent-<id>.jsonl`.
fn session_of(path: &Path) -> Option<&str> {
    let own = path.file_stem()?.to_str()?;
    if own.starts_with("agent-") { path.ancestors().nth(2)?.file_name()?.to_str() } else { Some(own) }
}
