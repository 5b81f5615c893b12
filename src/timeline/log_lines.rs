//! The log lines of a run, unchanged, for export.

use std::collections::HashSet;
use std::io;
use std::path::Path;

use super::events::parts;
use crate::archive::{Archive, Claims, RunRecord};
use crate::event::{ActorKind, Recorded};
use crate::log::{self, Line, Range, ReadErrors, Reader};
use crate::model::Tool;
use crate::payload::{Kind, Payload};

/// Visits the log lines of one run, without those from before the run that its timeline does not need. One line is in
/// memory at a time.
///
/// # Errors
/// The log's directory cannot be read, or `each` fails.
pub fn lines_of(
    log: &Path,
    archive: &Archive,
    all: &[RunRecord],
    run: &RunRecord,
    mut each: impl FnMut(&Line) -> io::Result<()>,
) -> io::Result<ReadErrors> {
    let mut known: HashSet<String> = HashSet::new();
    let mut problems = ReadErrors::default();
    if let Some(path) = archive.events_file(&run.run).filter(|_| run.imported.is_some()) {
        problems.merge(log::read_lines(&path, |line| {
            known.insert(line.recorded.id.clone());
            each(&line)
        })?);
    }
    let claims = Claims::new(all);
    let belongs = |line: &Line| {
        let Recorded { run: named, session, at, id, .. } = &line.recorded;
        claims.run_of(named.as_deref(), session.as_deref(), at).as_deref() == Some(&run.run)
            && !known.contains(id)
    };
    let parts = parts(archive, &claims, std::iter::once(run));
    let earlier = |line: &Line| line.recorded.run.is_none() && line.recorded.at < run.started_at;
    // The prompt that led to the run is the latest one, by time and then by position.
    let mut prompt: Option<(String, String)> = None;
    let mut first = Reader::with(log, &parts, Range::default())?;
    for line in first.by_ref().filter(|line| belongs(line) && earlier(line)) {
        let is_prompt = Kind::named(&line.recorded.event) == Kind::UserPromptSubmit
            && line.recorded.actor.kind == ActorKind::Lead;
        if is_prompt && prompt.as_ref().is_none_or(|(at, _)| *at <= line.recorded.at) {
            prompt = Some((line.recorded.at, line.recorded.id));
        }
    }
    let mut reader = Reader::with(log, &parts, Range::default())?;
    for line in reader.by_ref().filter(|line| belongs(line)) {
        let kind = Kind::named(&line.recorded.event);
        let launches = || {
            let payload = Payload::fields_of(&line.recorded.payload);
            kind == Kind::PostToolUse && payload.tool() == Some(Tool::Agent)
        };
        let is_prompt = || prompt.as_ref().is_some_and(|(_, id)| *id == line.recorded.id);
        if !earlier(&line) || kind == Kind::SessionStart || is_prompt() || launches() {
            each(&line)?;
        }
    }
    problems.merge(reader.into_problems());
    Ok(problems)
}
