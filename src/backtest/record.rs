//! The recorded data of one run that a policy needs.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use crate::archive::{Archive, Claims, Journal, RunRecord};
use crate::clock;
use crate::event::Recorded;
use crate::log::{self, Parts, Range, ReadErrors, Reader};
use crate::policy::{Decision, RecordedVerdict, Verdict, failure};

/// A run's events and files.
#[derive(Debug)]
pub struct Record {
    /// The run, or the session for events outside a run.
    pub run: String,
    /// The team.
    pub team: Option<String>,
    /// Claude Code's events, by time.
    pub events: Vec<Recorded>,
    /// The verdicts of that time, by event id.
    pub verdicts: HashMap<String, Vec<Verdict>>,
    /// The changes of the files.
    pub journal: Journal,
    /// By session, its events from before it joined this run. Their counts apply in the run, too.
    pub before: HashMap<String, Vec<Recorded>>,
}

/// How far before a run its sessions' events are read.
const BEFORE: chrono::TimeDelta = chrono::TimeDelta::days(1);

/// Reads the log once and returns the data of each wanted run, ordered by first event. An event outside a run belongs
/// to its session, as for the gatekeeper.
///
/// # Errors
/// The log's directory cannot be read.
pub fn records(
    dir: &Path,
    archive: &Archive,
    wanted: Option<&[&RunRecord]>,
) -> io::Result<(Vec<Record>, ReadErrors)> {
    let first = wanted.and_then(|runs| runs.iter().map(|run| clock::parse(&run.started_at)).min().flatten());
    let since = first.and_then(|first| first.checked_sub_signed(BEFORE));
    let concerned = |session: &str| {
        let of = |run: &&RunRecord| {
            run.lead_session.as_deref() == Some(session) || run.sessions.iter().any(|part| part.id == session)
        };
        wanted.is_none_or(|runs| runs.iter().any(of))
    };
    let mut alone: HashMap<String, Vec<Recorded>> = HashMap::new();
    // An event of a session may be stored with any run of that session.
    let (all, _) = archive.runs();
    let claims = Claims::new(&all);
    let is_wanted =
        |run: &&RunRecord| wanted.is_none_or(|wanted| wanted.iter().any(|one| one.run == run.run));
    let dirs = all.iter().filter(is_wanted).flat_map(|run| claims.related(run));
    let parts: BTreeSet<PathBuf> = dirs.filter_map(|run| archive.run_dir(&run.run)).collect();
    let mut reader = Reader::with(dir, &Parts::of(parts), Range { since, until: None })?;
    let mut records: Vec<Record> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut take = |recorded: Recorded| {
        let Some(key) = counted_under(&recorded) else { return };
        if let Some(session) = recorded.session.as_ref().filter(|_| recorded.team.is_none())
            && concerned(session)
        {
            alone.entry(session.clone()).or_default().push(recorded.clone());
        }
        if wanted.is_some_and(|runs| !runs.iter().any(|run| run.run == *key)) {
            return;
        }
        let place = *places.entry(key.clone()).or_insert_with(|| {
            records.push(Record {
                run: key.clone(),
                team: None,
                events: Vec::new(),
                verdicts: HashMap::new(),
                journal: recorded.run.as_ref().map(|run| archive.journal(run)).unwrap_or_default(),
                before: HashMap::new(),
            });
            records.len() - 1
        });
        if let Some(record) = records.get_mut(place) {
            record.take(recorded);
        }
    };
    let mut problems = ReadErrors::default();
    // The events of an imported run are not in the log.
    for run in wanted.unwrap_or_default().iter().filter(|run| run.imported.is_some()) {
        if let Some(path) = archive.events_file(&run.run) {
            problems.merge(log::read_lines(&path, |line| {
                take(line.recorded);
                Ok(())
            })?);
        }
    }
    reader.by_ref().for_each(|line| take(line.recorded));
    problems.merge(reader.into_problems());
    for record in &mut records {
        // Stable sort: calls of the same moment stay in the order of the log.
        record.events.sort_by(|a, b| a.at.cmp(&b.at));
        record.look_back(&alone);
    }
    Ok((records, problems))
}

impl Record {
    /// Adds the events of each session from before it was in this run, and their verdicts.
    fn look_back(&mut self, alone: &HashMap<String, Vec<Recorded>>) {
        let mut known: HashSet<&str> = HashSet::new();
        let (mut events, mut verdicts) = (HashMap::new(), Vec::new());
        for first in &self.events {
            let Some(session) = first.session.as_deref().filter(|session| known.insert(session)) else {
                continue;
            };
            let is_before = |one: &&Recorded| counted_under(one) != Some(&self.run) && one.at < first.at;
            let all = alone.get(session).into_iter().flatten().filter(is_before);
            let (told, mut before): (Vec<&Recorded>, Vec<&Recorded>) =
                all.partition(|one| one.verdict.is_some());
            verdicts.extend(told.into_iter().filter_map(ruling));
            before.sort_by(|a, b| a.at.cmp(&b.at));
            if !before.is_empty() {
                events.insert(session.to_owned(), before.into_iter().cloned().collect());
            }
        }
        self.before = events;
        for ruling in verdicts {
            self.verdicts.entry(ruling.of).or_default().push(ruling.verdict);
        }
    }

    fn take(&mut self, recorded: Recorded) {
        if recorded.verdict.is_some() {
            if let Some(ruling) = ruling(&recorded) {
                self.verdicts.entry(ruling.of).or_default().push(ruling.verdict);
            }
            return;
        }
        if self.team.is_none() {
            self.team.clone_from(&recorded.team);
        }
        self.events.push(recorded);
    }

    /// The team's name, else the run's id.
    pub fn name(&self) -> &str {
        self.team.as_deref().unwrap_or(&self.run)
    }
}

/// The run or, outside a run, the session under which an event is counted, as at the hook call. The timeline instead
/// assigns the events of a session from before its run to the run ([`Claims`]).
fn counted_under(recorded: &Recorded) -> Option<&String> {
    recorded.run.as_ref().or(recorded.session.as_ref())
}

/// The verdict on a log line. A failure of the policy that blocked nothing is not one.
fn ruling(recorded: &Recorded) -> Option<RecordedVerdict> {
    let ruling = RecordedVerdict::read(recorded.verdict.as_ref()?)?;
    let said = ruling.verdict.gate != failure::GATE || ruling.verdict.decision == Decision::Block;
    said.then_some(ruling)
}
