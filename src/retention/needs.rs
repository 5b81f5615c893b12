//! Which runs need which lines of the log.

use std::collections::BTreeSet;
use std::path::Path;

use super::plan::Facts;
use crate::archive::{Archive, Claims, RunRecord};
use crate::log::{Contents, Parts, Segment};

/// The recorded runs that lines of the log are kept for.
#[derive(Debug)]
pub struct Needs<'a> {
    claims: Claims<'a>,
    /// Runs that have ended, and those whose record cannot be read: their events are closed into them.
    over: BTreeSet<&'a str>,
    /// Runs that have not ended.
    running: BTreeSet<&'a str>,
}

impl<'a> Needs<'a> {
    /// The needs of all recorded runs; `damaged` are the names of runs whose `run.json` cannot be read.
    pub fn new(all: &'a [RunRecord], damaged: &'a [String]) -> Needs<'a> {
        // An imported run gets events here only if its session continues here; these are closed into it, too.
        let is_over = |run: &&RunRecord| run.ended_at.is_some() || run.imported.is_some();
        let (over, running): (Vec<&RunRecord>, Vec<&RunRecord>) = all.iter().partition(is_over);
        let mut over: BTreeSet<&str> = over.into_iter().map(|run| run.run.as_str()).collect();
        over.extend(damaged.iter().map(String::as_str));
        let running = running.into_iter().map(|run| run.run.as_str()).collect();
        Needs { claims: Claims::new(all), over, running }
    }

    /// The run that a line is closed into; `None` for a line that no run needs, or whose run has not ended.
    pub(super) fn closes_into(&self, run: Option<&str>, session: Option<&str>, at: &str) -> Option<String> {
        let run = self.claims.run_of(run, session, at)?;
        self.over.contains(run.as_str()).then_some(run)
    }

    /// The facts about a segment for the plan. With `keeps`, they are cached beside the segment.
    pub fn facts(&self, log: &Path, segment: &Segment, keeps: bool, done: &mut dyn FnMut(u64)) -> Facts {
        let contents = Contents::cached(log, segment).unwrap_or_else(|| {
            let contents = Contents::of(log, segment, done);
            if keeps {
                contents.save(log, segment);
            }
            contents
        });
        self.facts_of(&contents)
    }

    /// The facts about a segment with these contents.
    pub fn facts_of(&self, contents: &Contents) -> Facts {
        let mut facts = Facts {
            is_held: contents.runs.iter().any(|run| self.running.contains(run.as_str())),
            ..Facts::default()
        };
        for (session, bytes) in &contents.sessions {
            let runs = self.claims.runs_of(session);
            facts.is_held |= runs.iter().any(|run| self.running.contains(run.run.as_str()));
            if runs.is_empty() {
                facts.loose.insert(session.clone(), *bytes);
            }
        }
        // Runs that were removed, or of which only the name is known.
        let known = |run: &&String| self.over.contains(run.as_str()) || self.running.contains(run.as_str());
        for run in contents.runs.iter().filter(|run| !known(run)) {
            facts.loose.insert(run.clone(), 0);
        }
        facts
    }
}

/// The parts of all runs: events that may no longer be in the log.
pub fn parts(archive: &Archive) -> Parts {
    Parts::of(archive.run_names().iter().filter_map(|run| archive.run_dir(run)))
}
