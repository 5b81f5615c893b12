//! Finds the texts of one source that match.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Instant;

use memchr::memmem;

use super::hit::{Hit, Snippet};
use super::pattern::{Pattern, last_line};
use super::sources::{Agents, Blocks, Content, Lines, TextSource, count_lines};
use super::texts;
use super::texts::{SearchText, TextKind};
use crate::reader::Claims;
use crate::timeline::RunCatalog;
use teamkeep_model::paths;
use teamkeep_model::time::Timestamp;
use teamkeep_store::archive::{RunRecord, agent_of, is_agent_transcript};
use teamkeep_store::log;
use teamkeep_system::error::Error;

/// The question of a search.
#[derive(Debug)]
pub struct Request<'a> {
    pub pattern: Pattern,
    pub run: Option<&'a RunRecord>,
    /// The names of one agent; empty for all agents.
    pub agents: Vec<String>,
    pub kinds: Vec<TextKind>,
    pub since: Option<Timestamp>,
    pub until: Option<Timestamp>,
    pub limit: usize,
    /// The search stops then, with what it has found.
    pub deadline: Option<Instant>,
}

/// A search in progress, which several threads share.
pub(super) struct Scan<'a> {
    catalog: &'a RunCatalog,
    request: &'a Request<'a>,
    claims: Claims<'a>,
    agents: Agents<'a>,
    /// Maximum number of hits of a source.
    most: usize,
    /// Older hits are not needed, in milliseconds.
    pub floor: AtomicI64,
    /// Whether no more hits are needed.
    pub is_done: AtomicBool,
    /// Whether the deadline ended the search.
    pub is_late: AtomicBool,
}

/// The result of one source.
#[derive(Debug, Default)]
pub(super) struct Scanned {
    /// The newest hits.
    pub hits: Vec<Hit>,
    /// Whether there are older ones.
    pub has_more: bool,
    /// Agents with matching texts that are not the requested one.
    pub other_agents: BTreeSet<String>,
    /// Why the source could not be read to its end.
    pub problem: Option<String>,
}

/// Where a text is.
#[derive(Clone, Copy)]
struct Place<'a> {
    source: &'a TextSource,
    line: u64,
    session: Option<&'a str>,
    run: Option<&'a str>,
}

/// A line, and the lines before it as far as they are in memory: the last part first.
#[derive(Clone, Copy)]
struct Line<'a> {
    bytes: &'a [u8],
    before: [&'a [u8]; 2],
}

impl Line<'_> {
    /// The last line before that contains this text, and is accepted.
    fn find_before<T>(&self, text: &str, accept: impl Fn(&[u8]) -> Option<T>) -> Option<T> {
        self.before.iter().find_map(|part| last_line(part, text.as_bytes(), &accept))
    }
}

impl<'a> Scan<'a> {
    pub(super) fn new(catalog: &'a RunCatalog, request: &'a Request<'a>, most: usize) -> Scan<'a> {
        Scan {
            catalog,
            request,
            claims: Claims::new(&catalog.runs),
            agents: Agents::of(catalog),
            most,
            floor: AtomicI64::new(i64::MIN),
            is_done: AtomicBool::new(false),
            is_late: AtomicBool::new(false),
        }
    }

    pub(super) fn is_over(&self) -> bool {
        if self.request.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            self.is_late.store(true, Ordering::Relaxed);
        }
        self.is_done.load(Ordering::Relaxed) || self.is_late.load(Ordering::Relaxed)
    }

    /// Whether all texts of the source are older than the hits that are needed.
    pub(super) fn is_too_old(&self, source: &TextSource) -> bool {
        source.until.is_some_and(|until| until.millis() < self.floor.load(Ordering::Relaxed))
    }

    /// Searches a source. `buffer` is memory to read it into.
    pub(super) fn source(&self, source: &TextSource, buffer: &mut Vec<u8>) -> Scanned {
        let mut scanned = Scanned::default();
        if source.lines == Lines::TeamFiles {
            self.team_files(source, &mut scanned);
        } else {
            self.lines(source, buffer, &mut scanned);
        }
        scanned.keep_newest(self.most);
        scanned
    }

    fn lines(&self, source: &TextSource, buffer: &mut Vec<u8>, scanned: &mut Scanned) {
        let from = match source.open(self.catalog) {
            Ok(from) => from,
            Err(error) => return scanned.problem = problem(source, &error),
        };
        let mut blocks = Blocks::new(from, buffer);
        let owner = OnceCell::new();
        while let Some(block) = blocks.next()
            && !self.is_over()
        {
            let (mut counted, mut number) = (0, block.lines_before);
            self.request.pattern.lines.each_line(block.lines, |at, line| {
                number += count_lines(&block.lines[counted..at]);
                counted = at;
                let before = [&block.lines[..at], block.context];
                let line = Line { bytes: line, before };
                let place = Place { source, line: number + 1, session: None, run: source.run.as_deref() };
                match &source.lines {
                    Lines::Transcript(path) => {
                        let owner = || owner.get_or_init(|| self.agents.owner(source, path)).clone();
                        self.turn(line, path, owner, place, scanned);
                    }
                    _ => self.event(line, place, scanned),
                }
                !self.is_over()
            });
        }
        let problem = blocks.problem.take().map(Error::from);
        scanned.problem = problem.and_then(|error| self::problem(source, &error));
    }

    fn event(&self, line: Line<'_>, place: Place<'_>, scanned: &mut Scanned) {
        let Ok(Some(parsed)) = log::parse(Some(line.bytes.to_vec())) else { return };
        let recorded = &parsed.recorded;
        let run = place.run.or(recorded.run.as_deref());
        let place = Place { session: recorded.session.as_deref(), run, ..place };
        for text in texts::of_event(recorded) {
            // The input of a tool is found at the time of its call.
            let is_input = recorded.event.starts_with("PostToolUse") && text.kind != TextKind::Result;
            let is_call = |line: &[u8]| memmem::find(line, b"\"PreToolUse\"").map(drop);
            if is_input && self.is_wanted(&text) && line.find_before(&text.key, is_call).is_some() {
                continue;
            }
            self.add(text, place, scanned);
        }
    }

    fn turn(
        &self,
        line: Line<'_>,
        path: &Path,
        owner: impl FnOnce() -> String,
        place: Place<'_>,
        scanned: &mut Scanned,
    ) {
        let (found, session) = texts::of_transcript_line(line.bytes, owner);
        let session = session.as_deref().or(session_of(path));
        for mut text in found {
            // Finding the tool takes longer.
            if text.kind == TextKind::Result && self.is_wanted(&text) {
                let tool = line.find_before(&text.key, |line| texts::tool_of(line, &text.key));
                if tool.as_deref().is_some_and(texts::is_repeated) {
                    continue;
                }
                text.title = tool.unwrap_or_default();
            }
            let run = place.run.or_else(|| self.run_at(session?, text.at));
            self.add(text, Place { session, run, ..place }, scanned);
        }
    }

    /// The last archived contents of the tasks and inboxes of a run.
    fn team_files(&self, source: &TextSource, scanned: &mut Scanned) {
        let Some(run) = source.run.as_deref() else { return };
        let place = Place { source, line: 0, session: None, run: Some(run) };
        let mut contents = self.catalog.archive.contents(run);
        for (path, state) in self.catalog.archive.journal(run).last() {
            let Some(hash) = state.object.filter(|_| path.ends_with(".json") && !self.is_over()) else {
                continue;
            };
            // `verify` reports a content that is missing or damaged.
            let Ok(bytes) = contents.get(&hash) else { continue };
            if self.request.pattern.lines.selects(&bytes) {
                for text in texts::of_team_file(&path, &bytes, state.at) {
                    self.add(text, place, scanned);
                }
            }
        }
    }

    /// The run of a session at a time: the last one that had begun, else the first.
    fn run_at(&self, session: &str, at: Timestamp) -> Option<&'a str> {
        let runs = self.claims.runs_of(session);
        let began = |run: &RunRecord| run.created_at.unwrap_or(run.started_at);
        let begun = runs.iter().filter(|run| began(run) <= at).max_by_key(|run| began(run));
        begun.or_else(|| runs.iter().min_by_key(|run| began(run))).map(|run| run.run.as_str())
    }

    /// Whether a text matches, and passes the filters by kind and time.
    fn is_wanted(&self, text: &SearchText) -> bool {
        let (request, at) = (self.request, text.at);
        at.millis() >= self.floor.load(Ordering::Relaxed)
            && (request.kinds.is_empty() || request.kinds.contains(&text.kind))
            && request.since.is_none_or(|since| since <= at)
            && request.until.is_none_or(|until| at <= until)
            && request.pattern.is_match(&text.text)
    }

    fn add(&self, text: SearchText, place: Place<'_>, scanned: &mut Scanned) {
        if !self.is_wanted(&text) {
            return;
        }
        let run = place.run.map(str::to_owned);
        let run = run.or_else(|| self.claims.run_of(None, place.session, text.at));
        if self.request.run.is_some_and(|wanted| run.as_ref() != Some(&wanted.run)) {
            return;
        }
        if !self.request.agents.is_empty() && !self.request.agents.contains(&text.agent) {
            if scanned.other_agents.len() < MAX_AGENTS {
                scanned.other_agents.insert(text.agent);
            }
            return;
        }
        let SearchText { kind, at, agent, title, key, text } = text;
        let transcript = match &place.source.lines {
            Lines::Transcript(path) => path.to_str().map(str::to_owned),
            _ => None,
        };
        scanned.hits.push(Hit {
            at,
            kind,
            agent,
            team: None,
            started_at: None,
            run,
            session: place.session.map(str::to_owned),
            title,
            tool_use_id: Some(key).filter(|key| !key.is_empty()),
            transcript,
            line: place.line,
            snippet: Snippet::default(),
            text: Hit::part(text, &self.request.pattern),
            command: None,
        });
        if scanned.hits.len() > 2 * self.most {
            scanned.keep_newest(self.most);
        }
    }
}

/// Maximum number of other agents to name.
pub(super) const MAX_AGENTS: usize = 20;

impl Scanned {
    fn keep_newest(&mut self, most: usize) {
        self.hits.sort_by_key(|hit| (Reverse(hit.at), Reverse(hit.line)));
        self.has_more |= self.hits.len() > most;
        self.hits.truncate(most);
    }
}

/// Why a source could not be searched to its end. A file that is gone by now was pruned, or Claude Code removed it.
fn problem(source: &TextSource, error: &Error) -> Option<String> {
    let path = match &source.content {
        Content::File(path) => path.clone(),
        Content::Segment(segment) => segment.path(),
        Content::Archived(..) | Content::TeamFiles => {
            let name =
                if let Lines::Transcript(path) = &source.lines { path.display() } else { return None };
            return Some(format!("cannot search all of {name}, as archived: {error}"));
        }
    };
    path.exists().then(|| format!("cannot search all of {}: {error}", path.display()))
}

/// The session of a transcript, from its path: `<session>.jsonl` or `<session>/subagents/agent-<id>.jsonl`.
fn session_of(path: &Path) -> Option<&str> {
    if !is_agent_transcript(path) {
        return Some(agent_of(path));
    }
    Some(paths::name(paths::parent(paths::parent(path.to_str()?)?)?))
}
