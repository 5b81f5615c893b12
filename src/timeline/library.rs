//! The runs on record, and how a person names one.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::PathBuf;

use super::events::Depth;
use super::lines::lines_of;
use super::{Material, by_run, is_client_gone};
use crate::archive::{Archive, RunRecord};
use crate::error::{Error, Result};
use crate::log::{self, Line, Name, Problems, Range, Reader};
use crate::near::nearest;
use crate::team;

/// Everything on record.
#[derive(Debug)]
pub struct Library {
    /// The archive.
    pub archive: Archive,
    /// All runs, the oldest first.
    pub runs: Vec<RunRecord>,
    /// Runs whose record cannot be read.
    pub damaged: Vec<String>,
    /// Why nobody can tell which runs there are, if so.
    pub unlisted: Option<String>,
    pub(super) log: PathBuf,
}

/// Some runs, opened.
#[derive(Debug)]
pub struct Opened {
    /// What is on record of each.
    pub runs: Vec<Material>,
    /// Lines of the log that could not be read.
    pub problems: Problems,
}

impl Library {
    /// Lists the runs.
    pub fn open(archive: Archive, log: PathBuf) -> Library {
        let (runs, damaged) = archive.runs();
        let unlisted = archive.why_unlisted();
        Library { archive, runs, damaged, unlisted, log }
    }

    /// The ids of all runs.
    pub fn ids(&self) -> Vec<&str> {
        self.runs.iter().map(|run| run.run.as_str()).collect()
    }

    /// Whether no session ever took part in a run, and none will: it has ended, or its client is gone.
    pub fn is_stray(&self, run: &RunRecord) -> bool {
        let nobody = run.team.is_some() && run.sessions.is_empty() && run.imported.is_none();
        run.is_stray() || (nobody && is_client_gone(&self.archive, run))
    }

    /// How many events are on record.
    pub fn events(&self) -> usize {
        Reader::open(&self.log, Range::default()).map_or(0, Iterator::count)
    }

    /// Why there is no run at all.
    pub fn empty(&self) -> Error {
        match self.events() {
            _ if !self.damaged.is_empty() || self.unlisted.is_some() => {
                Error::not_found("no run on record can be read")
            }
            0 => Error::not_found("nothing is on record yet").hint(
                "`teamkeep doctor` says whether the hooks are there; `teamkeep demo` shows a recorded run",
            ),
            1 => Error::not_found("hooks work: 1 event is on record, but no run of a team"),
            events => {
                Error::not_found(format!("hooks work: {events} events are on record, but no run of a team"))
            }
        }
    }

    /// The run that a person means: `latest`, a team's name (the last run of it), a session's id (the last run that it was
    /// in), or the beginning of a run's or a session's id.
    ///
    /// # Errors
    /// When there is none, or more than one id begins so.
    pub fn find(&self, name: &str) -> Result<&RunRecord> {
        if name.is_empty() {
            return Err(Error::usage("RUN is empty").hint(
                "a team's name, `latest`, or the beginning of a run's id: `teamkeep teams` lists them",
            ));
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
        // A team's directory is not always called as the team was.
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
                let error = Error::not_found(format!("no run is called {name:?}"));
                let error = match self.meant(name).as_slice() {
                    [] => error,
                    near => error.hint(format!("did you mean {}?", near.join(" or "))),
                };
                Err(error.hint("`teamkeep teams --all` lists what is on record"))
            }
            several => {
                let what = format!("{name:?} is the beginning of {} runs", several.len());
                Err(several.iter().fold(Error::not_found(what), |error, run| {
                    let team = run.team.as_deref().unwrap_or("(no team)");
                    error.hint(format!("{} {team}, {}", run.run, run.started_at))
                }))
            }
        }
    }

    /// Team names that somebody may have meant: those that the word is a part of, else the nearest.
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

    /// Leads over the lines of one run as they stand in the log, what its story has no use for left out.
    ///
    /// # Errors
    /// When the log's directory cannot be listed, or what `each` fails with.
    pub fn lines_of(&self, run: &RunRecord, each: impl FnMut(&Line) -> io::Result<()>) -> Result<Problems> {
        Ok(lines_of(&self.log, &self.archive, &self.runs, run, each)?)
    }

    /// Opens runs, reading the log once.
    ///
    /// # Errors
    /// When the log's directory cannot be listed.
    pub fn open_runs(&self, wanted: &[&RunRecord]) -> Result<Opened> {
        self.opened(wanted, Depth::Whole)
    }

    /// Opens runs as far as their stories are made of it: a large log costs less so.
    ///
    /// # Errors
    /// When the log's directory cannot be listed.
    pub fn open_stories(&self, wanted: &[&RunRecord]) -> Result<Opened> {
        self.opened(wanted, Depth::Story)
    }

    fn opened(&self, wanted: &[&RunRecord], depth: Depth) -> Result<Opened> {
        if wanted.is_empty() {
            return Ok(Opened { runs: Vec::new(), problems: Problems::default() });
        }
        let names: HashSet<&str> = wanted.iter().map(|run| run.run.as_str()).collect();
        let is_wanted = |run: &str| names.contains(run);
        let (mut events, problems): (HashMap<_, _>, _) =
            by_run(&self.log, &self.archive, &self.runs, is_wanted, depth)?;
        let began: Vec<Name> = log::list(&self.log)?.into_iter().map(|segment| segment.name).collect();
        let runs = wanted.iter().map(|run| {
            let events = events.remove(&run.run).unwrap_or_default();
            let mut material = Material::open(&self.archive, (*run).clone(), events, &self.runs);
            let dir = self.archive.run_dir(&run.run);
            let parts = dir.map(|dir| log::parts_in(&dir)).unwrap_or_default();
            let names = began.iter().chain(parts.keys()).filter(|name| !name.is_solo());
            material.miss_events(names.map(Name::start));
            material
        });
        Ok(Opened { runs: runs.collect(), problems })
    }
}
