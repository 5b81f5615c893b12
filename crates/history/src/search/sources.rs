//! The files whose texts are searched, the newest first, and their blocks.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use chrono::TimeDelta;
use memchr::{memchr, memchr_iter, memmem, memrchr};

use crate::reader::Range;
use crate::timeline::{RunCatalog, read_note};
use teamkeep_model::event::{Actor, ActorKind};
use teamkeep_model::paths;
use teamkeep_model::time::Timestamp;
use teamkeep_store::archive::{RunRecord, TranscriptNote, agent_of, is_agent_transcript};
use teamkeep_store::log::{LogOwner, Segment};
use teamkeep_system::error::Result;
use teamkeep_system::fs;

/// Calls that overlap the end of a segment are in it by this time.
const OVERLAP: TimeDelta = TimeDelta::minutes(1);
/// A session can continue after the end of a run.
const AFTER_RUN: TimeDelta = TimeDelta::days(1);

/// Where a source is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    File(PathBuf),
    Segment(Segment),
    /// An archived transcript of a run: the run and the hash.
    Archived(String, String),
    /// The last archived tasks and inboxes of a run.
    TeamFiles,
}

/// The kind of the lines of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Lines {
    Events,
    /// The transcript with this path, of a session or of one of its agents.
    Transcript(PathBuf),
    TeamFiles,
}

#[derive(Debug, Clone)]
pub(super) struct TextSource {
    pub content: Content,
    pub lines: Lines,
    /// The run to which all its lines belong, if that is known.
    pub run: Option<String>,
    /// In bytes; compressed, if it is a compressed file.
    pub size: u64,
    /// Nothing in it is newer, unless a clock was set back; `None` if that is unknown.
    pub until: Option<Timestamp>,
}

impl TextSource {
    /// Opens it for reading. An archived transcript is not checked.
    pub(super) fn open(&self, catalog: &RunCatalog) -> Result<Box<dyn Read>> {
        Ok(match &self.content {
            Content::File(path) => Box::new(fs::open_regular(path)?),
            Content::Segment(segment) => segment.bytes()?,
            Content::Archived(run, hash) => Box::new(catalog.archive.open_content(run, hash)?),
            Content::TeamFiles => Box::new(io::empty()),
        })
    }
}

/// The sources that can have texts of this time, the newest first.
pub(super) fn list(catalog: &RunCatalog, range: Range) -> io::Result<Vec<TextSource>> {
    let mut sources = events(catalog, range)?;
    let mut transcripts: BTreeMap<(Option<String>, String), TextSource> = BTreeMap::new();
    for run in &catalog.runs {
        for (path, found) in transcripts_of(catalog, run) {
            match transcripts.get_mut(&(found.run.clone(), path.clone())) {
                None => drop(transcripts.insert((found.run.clone(), path), found)),
                Some(known) => {
                    let until = known.until.zip(found.until).map(|(one, other)| one.max(other));
                    // The longest copy has all lines of the others.
                    if found.size > known.size {
                        *known = found;
                    }
                    known.until = until;
                }
            }
        }
        if run.team.is_some() {
            let (content, lines) = (Content::TeamFiles, Lines::TeamFiles);
            sources.push(TextSource {
                content,
                lines,
                run: Some(run.run.clone()),
                size: 0,
                until: end_of(run),
            });
        }
    }
    sources.extend(transcripts.into_values());
    let is_old =
        |source: &TextSource| source.until.zip(range.since).is_some_and(|(until, since)| until < since);
    sources.retain(|source| !is_old(source));
    sources.sort_by_key(|source| std::cmp::Reverse(source.until.map_or(i64::MAX, Timestamp::millis)));
    Ok(sources)
}

/// The segments of all logs.
pub(super) fn events(catalog: &RunCatalog, range: Range) -> io::Result<Vec<TextSource>> {
    let runs: BTreeMap<&str, &RunRecord> = catalog.runs.iter().map(|run| (run.run.as_str(), run)).collect();
    let mut sources = Vec::new();
    for log in catalog.logs.all()? {
        let run = match &log.owner {
            LogOwner::Run(run) => runs.get(run.as_str()).copied(),
            LogOwner::Session(_) => None,
        };
        for segment in log.segments()?.into_iter().filter(|segment| range.overlaps(segment)) {
            sources.push(TextSource {
                lines: Lines::Events,
                run: run.map(|run| run.run.clone()),
                size: segment.size,
                until: match run.and_then(end_of).filter(|_| segment.is_packed) {
                    // It was compressed later.
                    Some(end) => Some(end),
                    None => Some(segment.modified + OVERLAP),
                },
                content: Content::Segment(segment),
            });
        }
    }
    Ok(sources)
}

fn end_of(run: &RunRecord) -> Option<Timestamp> {
    run.ended_at.map(|ended| ended + AFTER_RUN)
}

/// The transcripts of a run by their paths: Claude Code's files, and their archived copies.
fn transcripts_of(catalog: &RunCatalog, run: &RunRecord) -> Vec<(String, TextSource)> {
    let is_transcript = |path: &str| path.ends_with(".jsonl");
    // The path of an imported transcript belongs to another machine.
    let imported = run.imported.is_some().then(|| run.run.clone());
    let of = |path: &str, content: Content, size: u64, until: Option<Timestamp>| {
        let lines = Lines::Transcript(PathBuf::from(path));
        (path.to_owned(), TextSource { content, lines, run: imported.clone(), size, until })
    };
    let live = catalog.archive.transcripts(run);
    let live = live.iter().filter_map(|path| {
        let (name, there) =
            (path.to_str().filter(|name| is_transcript(name))?, path.symlink_metadata().ok()?);
        let changed = there.modified().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_millis();
        let changed = Timestamp::from_millis(changed.try_into().ok()?);
        Some(of(name, Content::File(path.clone()), there.len(), changed.map(|changed| changed + OVERLAP)))
    });
    let kept = catalog.archive.kept(&run.run);
    let kept = kept.iter().filter(|(name, _)| is_transcript(name));
    let kept = kept.map(|(name, kept)| {
        of(name, Content::Archived(run.run.clone(), kept.object.clone()), kept.size, end_of(run))
    });
    live.chain(kept).collect()
}

/// The note beside a transcript; empty if there is none.
pub(super) fn note_of(catalog: &RunCatalog, run: &RunRecord, transcript: &Path) -> TranscriptNote {
    let path = transcript.with_extension("meta.json");
    let kept = catalog.archive.kept(&run.run);
    let object = path.to_str().and_then(|path| kept.get(path)).map(|kept| kept.object.as_str());
    // The path of an imported transcript belongs to another machine.
    let is_known = object.is_some() || run.imported.is_none();
    let note = is_known.then(|| read_note(&catalog.archive, &run.run, &path, object).ok()).flatten();
    note.unwrap_or_default()
}

// The agent to which a transcript belongs.

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
        let above = path.to_str().filter(|_| is_agent_transcript(path)).and_then(paths::parent);
        let session = above.and_then(paths::parent);
        let session = session.map_or_else(|| path.with_extension(""), PathBuf::from);
        let is_own = |run: &&RunRecord| source.run.as_ref().is_none_or(|own| *own == run.run);
        let is_of_session = |run: &&RunRecord| {
            let transcripts = run.sessions.iter().filter_map(|one| one.transcript.as_deref());
            transcripts.map(|path| Path::new(path).with_extension("")).any(|other| other == session)
        };
        let run = self.catalog.runs.iter().rev().filter(is_own).find(is_of_session);
        let (id, is_agent) = (agent_of(path), is_agent_transcript(path));
        let note = run.filter(|_| is_agent).map(|run| note_of(self.catalog, run, path));
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
        for source in events(self.catalog, range).unwrap_or_default().iter().filter(|one| is_own(one)) {
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

const BLOCK_BYTES: usize = 1 << 20;
/// The part before a block that stays readable, in bytes: the call of a tool is shortly before its result.
const CONTEXT_BYTES: usize = 256 << 10;
/// A longer line is not searched, in bytes.
const MAX_LINE_BYTES: usize = 64 << 20;

#[derive(Debug)]
pub(super) struct Block<'a> {
    /// The end of what was read before.
    pub context: &'a [u8],
    /// Whole lines. The last line of a file can be incomplete.
    pub lines: &'a [u8],
    /// The number of lines before the block.
    pub lines_before: u64,
}

/// Reads a file in blocks of whole lines, in bounded memory.
pub(super) struct Blocks<'b, R> {
    from: R,
    /// Reused for each file.
    buffer: &'b mut Vec<u8>,
    /// The present block, and the end of what was read.
    block: std::ops::Range<usize>,
    end: usize,
    lines: u64,
    /// Why the file cannot be read any further.
    pub problem: Option<io::Error>,
    is_at_end: bool,
}

impl<'b, R: Read> Blocks<'b, R> {
    pub(super) fn new(from: R, buffer: &'b mut Vec<u8>) -> Blocks<'b, R> {
        Blocks { from, buffer, block: 0..0, end: 0, lines: 0, problem: None, is_at_end: false }
    }

    /// The next block; `None` at the end, and where the file cannot be read.
    pub(super) fn next(&mut self) -> Option<Block<'_>> {
        self.lines += count_lines(&self.buffer[self.block.clone()]);
        let keep = self.block.end.saturating_sub(CONTEXT_BYTES);
        self.buffer.copy_within(keep..self.end, 0);
        self.end -= keep;
        let start = self.block.end - keep;
        let mut is_skipped = false;
        let mut searched = start;
        loop {
            self.fill(start + BLOCK_BYTES.max(2 * (self.end - start)).min(MAX_LINE_BYTES + 1));
            if is_skipped {
                // The rest of a line that is too long.
                let newline = memchr(b'\n', &self.buffer[start..self.end]);
                self.end = match newline {
                    Some(newline) => {
                        self.buffer.copy_within(start + newline + 1..self.end, start);
                        self.lines += 1;
                        is_skipped = false;
                        self.end - newline - 1
                    }
                    None => start,
                };
            }
            let newline = memrchr(b'\n', &self.buffer[searched..self.end]).map(|at| searched + at + 1);
            if let Some(end) = newline.or_else(|| self.is_at_end.then_some(self.end)) {
                self.block = start..end;
                break;
            }
            if self.end - start > MAX_LINE_BYTES {
                (self.end, is_skipped) = (start, true);
                self.buffer.truncate(start + BLOCK_BYTES);
                self.buffer.shrink_to_fit();
            }
            searched = self.end;
        }
        let context = &self.buffer[..start];
        let lines = &self.buffer[self.block.clone()];
        (!lines.is_empty()).then_some(Block { context, lines, lines_before: self.lines })
    }

    /// Reads until the buffer has this size.
    fn fill(&mut self, size: usize) {
        if self.buffer.len() < size {
            self.buffer.resize(size, 0);
        }
        while self.end < size && !self.is_at_end {
            match self.from.read(&mut self.buffer[self.end..size]) {
                Ok(0) => self.is_at_end = true,
                Ok(count) => self.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => (self.problem, self.is_at_end) = (Some(error), true),
            }
        }
    }
}

pub(super) fn count_lines(bytes: &[u8]) -> u64 {
    memchr_iter(b'\n', bytes).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All lines with their numbers.
    fn read(bytes: &[u8]) -> (Vec<(u64, Vec<u8>)>, usize) {
        let mut buffer = Vec::new();
        let mut blocks = Blocks::new(bytes, &mut buffer);
        let (mut lines, mut most) = (Vec::new(), 0);
        while let Some(block) = blocks.next() {
            let whole = block.lines.split_inclusive(|byte| *byte == b'\n');
            lines.extend((block.lines_before..).zip(whole.map(<[u8]>::to_vec)));
            most = most.max(block.context.len());
        }
        (lines, most)
    }

    #[test]
    fn every_line_is_read_once_whatever_its_size() {
        let mut bytes = Vec::new();
        for size in [0, 1, 5, 300_000, 700_000, 100, 3 * BLOCK_BYTES, 0, 7, CONTEXT_BYTES, BLOCK_BYTES, 1, 2]
        {
            bytes.extend(std::iter::repeat_n(b'x', size));
            bytes.push(b'\n');
        }
        bytes.extend_from_slice(b"the end");
        let expected: Vec<_> =
            (0..).zip(bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec)).collect();
        let (lines, most) = read(&bytes);
        assert!(lines == expected && most <= CONTEXT_BYTES);
    }

    #[test]
    fn a_line_that_is_too_long_is_left_out_and_counted() {
        let long = vec![b'x'; MAX_LINE_BYTES + 3 * BLOCK_BYTES];
        let (lines, _) = read(&[b"one\n", &long[..], b"\ntwo\n", b"three"].concat());
        let expected = [(0, &b"one\n"[..]), (2, b"two\n"), (3, b"three")];
        assert!(lines == expected.map(|(number, line)| (number, line.to_vec())));
    }

    #[test]
    fn what_was_read_before_an_error_is_kept() {
        let mut buffer = Vec::new();
        let broken = (&b"one\ntw"[..]).chain(Broken);
        let mut blocks = Blocks::new(broken, &mut buffer);
        assert_eq!(blocks.next().unwrap().lines, b"one\n");
        assert_eq!(blocks.next().unwrap().lines, b"tw");
        assert!(blocks.next().is_none() && blocks.problem.is_some());
    }

    struct Broken;

    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("broken"))
        }
    }
}
