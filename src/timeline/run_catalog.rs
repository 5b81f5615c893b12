//! The recorded runs, and how a user refers to one.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::PathBuf;

use super::events::DetailLevel;
use super::log_lines::lines_of;
use super::{RunData, by_run, is_client_gone};
use crate::archive::{Archive, RunRecord};
use crate::error::{Error, Result};
use crate::event::OVERRIDE;
use crate::log::{self, Line, Range, ReadErrors, Reader, SegmentName};
use crate::suggest::nearest;
use crate::team;

/// Everything recorded.
#[derive(Debug)]
pub struct RunCatalog {
    /// The archive.
    pub archive: Archive,
    /// All runs, oldest first.
    pub runs: Vec<RunRecord>,
    /// Runs whose `run.json` cannot be read.
    pub damaged: Vec<String>,
    /// Why the runs cannot be listed, if so.
    pub unlisted: Option<String>,
    pub(super) log: PathBuf,
}

/// Some opened runs.
#[derive(Debug)]
pub struct OpenedRun {
    /// The recorded data of each run.
    pub runs: Vec<RunData>,
    /// Unreadable lines of the log.
    pub problems: ReadErrors,
}

impl RunCatalog {
    /// Lists the runs.
    pub fn open(archive: Archive, log: PathBuf) -> RunCatalog {
        let (runs, damaged) = archive.runs();
        let unlisted = archive.why_unlisted();
        RunCatalog { archive, runs, damaged, unlisted, log }
    }

    /// The ids of all runs.
    pub fn ids(&self) -> Vec<&str> {
        self.runs.iter().map(|run| run.run.as_str()).collect()
    }

    /// Whether no session ever joined the run and none will: it has ended, or its process is gone.
    pub fn is_stray(&self, run: &RunRecord) -> bool {
        let nobody = run.team.is_some() && run.sessions.is_empty() && run.imported.is_none();
        run.is_stray() || (nobody && is_client_gone(&self.archive, run))
    }

    /// The number of recorded hook calls.
    ///
    /// # Errors
    /// When the log's directory cannot be listed.
    pub fn events(&self) -> io::Result<usize> {
        // Pauses are recorded without a hook.
        Ok(Reader::open(&self.log, Range::default())?.filter(|line| line.recorded.event != OVERRIDE).count())
    }

    /// Why there are no runs.
    pub fn empty(&self) -> Error {
        let events = match self.events() {
            _ if !self.damaged.is_empty() => {
                let error = Error::not_found("cannot read the recorded runs: all of them are damaged");
                return error.hint("teamkeep verify");
            }
            Err(error) => return error.into(),
            Ok(events) => events,
        };
        match events {
            0 => Error::not_found("no runs recorded yet")
                .hint("check the hooks: teamkeep doctor")
                .hint("see an example run: teamkeep demo"),
            1 => Error::not_found("no runs recorded yet; hooks are working (1 event)"),
            events => Error::not_found(format!("no runs recorded yet; hooks are working ({events} events)")),
        }
    }

    /// Why the runs cannot be listed, if so: an empty list would mean that nothing was recorded.
    pub fn listing_error(&self) -> Option<Error> {
        let why = self.unlisted.as_ref()?;
        Some(Error::caused("cannot list the recorded runs", why.clone()).hint("teamkeep doctor"))
    }

    /// Finds a run by `latest`, a team name (its last run), a session ID (its last run), or a unique prefix of a run ID or
    /// a session ID.
    ///
    /// # Errors
    /// When no run matches, or the prefix is not unique.
    pub fn find(&self, name: &str) -> Result<&RunRecord> {
        if name.is_empty() {
            return Err(Error::usage("RUN is empty").hint("list the runs: teamkeep list"));
        }
        let last = |wanted: &dyn Fn(&RunRecord) -> bool| self.runs.iter().rev().find(|run| wanted(run));
        let latest = || {
            let told = last(&|run| run.team.is_some() && !self.is_stray(run));
            told.or_else(|| last(&|run| run.team.is_some())).or(self.runs.last())
        };
        if name == "latest" || self.runs.is_empty() {
            return latest().ok_or_else(|| self.empty());
        }
        if let Some(run) = self
            .runs
            .iter()
            .rev()
            .find(|run| run.team.as_deref() == Some(name) || run.name() == Some(name) || run.run == name)
        {
            return Ok(run);
        }
        // The directory of a team can have another name than the team.
        let called = team::directory(name);
        if let Some(run) = self.runs.iter().rev().find(|run| run.team.as_ref() == Some(&called)) {
            return Ok(run);
        }
        let takes_part = |run: &&RunRecord| run.sessions.iter().any(|session| session.id == name);
        if let Some(run) = self.runs.iter().rev().find(takes_part) {
            return Ok(run);
        }
        let mut matching: Vec<&RunRecord> =
            self.runs.iter().filter(|run| run.run.starts_with(name)).collect();
        if matching.is_empty() {
            let begins = |run: &&RunRecord| run.sessions.iter().any(|session| session.id.starts_with(name));
            matching.extend(self.runs.iter().filter(begins));
        }
        match matching.as_slice() {
            [run] => Ok(run),
            [] => {
                let error = Error::not_found(format!("no run matches {name:?}"));
                let error = match self.meant(name).as_slice() {
                    [] => error,
                    near => error.hint(format!("did you mean {}?", near.join(" or "))),
                };
                Err(error.hint("list all runs: teamkeep list --all"))
            }
            several => {
                let what = format!("{name:?} matches {} runs", several.len());
                Err(several.iter().fold(Error::not_found(what), |error, run| {
                    let team = run.team.as_deref().unwrap_or("(no team)");
                    error.hint(format!("{} {team}, {}", run.run, run.started_at))
                }))
            }
        }
    }

    /// Suggestions for a team name: names that contain the word, else the most similar one.
    fn meant(&self, name: &str) -> Vec<&str> {
        let mut teams: Vec<&str> = self.runs.iter().rev().filter_map(|run| run.team.as_deref()).collect();
        let mut known = HashSet::new();
        teams.retain(|team| known.insert(*team));
        let part = name.to_lowercase();
        let mut parts: Vec<&str> =
            teams.iter().copied().filter(|team| team.to_lowercase().contains(&part)).collect();
        parts.truncate(3);
        if parts.is_empty() {
            teams.push("latest");
            parts.extend(nearest(name, &teams, 2));
        }
        parts
    }

    /// Calls `each` for the log lines of one run that its timeline needs.
    ///
    /// # Errors
    /// The log's directory cannot be read, or `each` fails.
    pub fn lines_of(&self, run: &RunRecord, each: impl FnMut(&Line) -> io::Result<()>) -> Result<ReadErrors> {
        Ok(lines_of(&self.log, &self.archive, &self.runs, run, each)?)
    }

    /// Opens runs, reading the log once.
    ///
    /// # Errors
    /// The log's directory cannot be read.
    pub fn open_runs(&self, wanted: &[&RunRecord]) -> Result<OpenedRun> {
        self.opened(wanted, DetailLevel::Whole)
    }

    /// Opens what the timelines of runs need, which is faster with a large log.
    ///
    /// # Errors
    /// The log's directory cannot be read.
    pub fn open_stories(&self, wanted: &[&RunRecord]) -> Result<OpenedRun> {
        self.opened(wanted, DetailLevel::Story)
    }

    fn opened(&self, wanted: &[&RunRecord], depth: DetailLevel) -> Result<OpenedRun> {
        if wanted.is_empty() {
            return Ok(OpenedRun { runs: Vec::new(), problems: ReadErrors::default() });
        }
        let names: HashSet<&str> = wanted.iter().map(|run| run.run.as_str()).collect();
        let is_wanted = |run: &str| names.contains(run);
        let (mut events, problems): (HashMap<_, _>, _) =
            by_run(&self.log, &self.archive, &self.runs, is_wanted, depth)?;
        let began: Vec<SegmentName> = log::list(&self.log)?.into_iter().map(|segment| segment.name).collect();
        let runs = wanted.iter().map(|run| {
            let events = events.remove(&run.run).unwrap_or_default();
            let mut material = RunData::open(&self.archive, (*run).clone(), events, &self.runs);
            let dir = self.archive.run_dir(&run.run);
            let parts = dir.map(|dir| log::parts_in(&dir)).unwrap_or_default();
            let names = began.iter().chain(parts.keys()).filter(|name| !name.is_single_line());
            material.miss_events(names.map(SegmentName::start));
            material
        });
        Ok(OpenedRun { runs: runs.collect(), problems })
    }
}
