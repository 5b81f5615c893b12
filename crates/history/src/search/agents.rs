//! The agent to which a transcript belongs.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use memchr::{memchr, memmem};

use super::blocks::Blocks;
use super::sources::{self, TextSource};
use crate::reader::Range;
use crate::timeline::RunCatalog;
use teamkeep_model::event::{Actor, ActorKind};
use teamkeep_store::archive::{RunRecord, agent_of, is_agent_transcript};

/// The actor is in this part of an event's line, in bytes.
const HEAD_BYTES: usize = 2 << 10;

/// The names of agents by their IDs.
type Names = HashMap<String, String>;

pub(super) struct Agents<'a> {
    catalog: &'a RunCatalog,
    /// The agents that hooks named, by run.
    by_hooks: Mutex<HashMap<String, Arc<Names>>>,
}

impl<'a> Agents<'a> {
    pub(super) fn of(catalog: &'a RunCatalog) -> Agents<'a> {
        Agents { catalog, by_hooks: Mutex::default() }
    }

    /// The agent whose transcript this is, as in the timeline of the last run of its session.
    pub(super) fn owner(&self, source: &TextSource, path: &Path) -> String {
        let session = if is_agent_transcript(path) { path.ancestors().nth(2) } else { None };
        let session = session.map_or_else(|| path.with_extension(""), Path::to_owned);
        let is_own = |run: &&RunRecord| source.run.as_ref().is_none_or(|own| *own == run.run);
        let is_of_session = |run: &&RunRecord| {
            let transcripts = run.sessions.iter().filter_map(|one| one.transcript.as_deref());
            transcripts.map(|path| Path::new(path).with_extension("")).any(|other| other == session)
        };
        let run = self.catalog.runs.iter().rev().filter(is_own).find(is_of_session);
        let (id, is_agent) = (agent_of(path), is_agent_transcript(path));
        let note = run.filter(|_| is_agent).map(|run| sources::note_of(self.catalog, run, path));
        let note = note.unwrap_or_default();
        // Reading the events takes longer than reading a note.
        let is_named_by_hooks = is_agent && note.name.is_none();
        let names = run.filter(|_| is_named_by_hooks).map(|run| self.names(run)).unwrap_or_default();
        let by_hooks = |id: &str| names.get(id).map(String::as_str);
        let owner = run.and_then(|run| run.owner_of(path, &note, |_| true, by_hooks));
        owner.unwrap_or(if is_agent { id } else { "unknown" }).to_owned()
    }

    fn names(&self, run: &RunRecord) -> Arc<Names> {
        let mut by_hooks = self.by_hooks.lock().unwrap_or_else(PoisonError::into_inner);
        by_hooks.entry(run.run.clone()).or_insert_with(|| Arc::new(self.read_names(run))).clone()
    }

    fn read_names(&self, run: &RunRecord) -> Names {
        let (mut names, mut buffer) = (Names::new(), Vec::new());
        let range = Range { since: Some(run.started_at), until: run.ended_at };
        let is_own = |source: &TextSource| source.run.as_ref().is_none_or(|own| *own == run.run);
        for source in
            sources::events(self.catalog, range).unwrap_or_default().iter().filter(|one| is_own(one))
        {
            let Ok(from) = source.open(self.catalog) else { continue };
            let mut blocks = Blocks::new(from, &mut buffer);
            while let Some(block) = blocks.next() {
                block.lines.split(|byte| *byte == b'\n').for_each(|line| note_actor(line, &mut names));
            }
        }
        names
    }
}

fn note_actor(line: &[u8], names: &mut Names) {
    const KEY: &[u8] = b"\"actor\":";
    let head = &line[..line.len().min(HEAD_BYTES)];
    let Some(actor) = memmem::find(head, KEY).map(|at| &head[at + KEY.len()..]) else { return };
    let Some(end) = memchr(b'}', actor) else { return };
    let Ok(actor) = serde_json::from_slice::<Actor>(&actor[..=end]) else { return };
    if matches!(actor.kind, ActorKind::Teammate | ActorKind::Subagent)
        && let (Some(id), Some(name)) = (actor.id, actor.name)
    {
        names.entry(id).or_insert(name);
    }
}
