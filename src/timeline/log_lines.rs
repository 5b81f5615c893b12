//! The log lines of a run, unchanged, for export.

use std::collections::HashSet;
use std::io;
use std::path::Path;

use super::earlier_life::{EarlierLife, EventKey, tool_of};
use super::events::parts;
use crate::archive::{Archive, Claims, RunRecord};
use crate::event::Recorded;
use crate::log::{self, Line, Range, ReadErrors, Reader};

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
    let mut earlier_life = EarlierLife::new(&run.started_at);
    let mut first = Reader::with(log, &parts, Range::default())?;
    for line in first.by_ref().filter(|line| belongs(line)) {
        earlier_life.note(&EventKey::of_line(&line.recorded));
    }
    let mut reader = Reader::with(log, &parts, Range::default())?;
    for line in reader.by_ref().filter(|line| belongs(line)) {
        if earlier_life.selects(&EventKey::of_line(&line.recorded), || tool_of(&line.recorded)) {
            each(&line)?;
        }
    }
    problems.merge(reader.into_problems());
    Ok(problems)
}
