//! The runs on record, and how a person names one.

use std::collections::HashMap;
use std::path::PathBuf;

use super::{Material, by_run};
use crate::archive::{Archive, RunRecord};
use crate::error::{Error, Result};
use crate::log::Problems;

/// Everything on record.
#[derive(Debug)]
pub struct Library {
    /// The archive.
    pub archive: Archive,
    /// All runs, the oldest first.
    pub runs: Vec<RunRecord>,
    /// Runs whose record cannot be read.
    pub damaged: Vec<String>,
    log: PathBuf,
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
        Library { archive, runs, damaged, log }
    }

    /// The ids of all runs.
    pub fn ids(&self) -> Vec<&str> {
        self.runs.iter().map(|run| run.run.as_str()).collect()
    }

    /// The run that a person means: `latest`, a team's name (the last run of it), or the beginning of a run's id.
    ///
    /// # Errors
    /// When there is none, or more than one id begins so.
    pub fn find(&self, name: &str) -> Result<&RunRecord> {
        if self.runs.is_empty() {
            let hint = "`teamkeep install` adds the hooks to the client's settings; `teamkeep demo` shows a recorded run";
            return Err(Error::not_found("nothing is on record yet").hint(hint));
        }
        let with_team = || self.runs.iter().rev().find(|run| run.team.is_some());
        if name == "latest" {
            return with_team()
                .or(self.runs.last())
                .ok_or_else(|| Error::not_found("nothing is on record yet"));
        }
        if let Some(run) =
            self.runs.iter().rev().find(|run| run.team.as_deref() == Some(name) || run.run == name)
        {
            return Ok(run);
        }
        let matching: Vec<&RunRecord> = self.runs.iter().filter(|run| run.run.starts_with(name)).collect();
        match matching.as_slice() {
            [run] => Ok(run),
            [] => Err(Error::not_found(format!("no run is called {name:?}"))
                .hint("`teamkeep teams --all` lists what is on record")),
            several => {
                let ids: Vec<&str> = several.iter().map(|run| run.run.as_str()).collect();
                Err(Error::not_found(format!(
                    "{name:?} is the beginning of {} runs: {}",
                    ids.len(),
                    ids.join(", ")
                )))
            }
        }
    }

    /// Opens runs, reading the log once.
    ///
    /// # Errors
    /// When the log's directory cannot be listed.
    pub fn open_runs(&self, wanted: &[&RunRecord]) -> Result<Opened> {
        let is_wanted = |run: &str| wanted.iter().any(|wanted| wanted.run == run);
        let (mut events, problems): (HashMap<_, _>, _) = by_run(&self.log, &self.runs, is_wanted)?;
        let runs = wanted.iter().map(|run| {
            let events = events.remove(&run.run).unwrap_or_default();
            Material::open(&self.archive, (*run).clone(), events, &self.runs)
        });
        Ok(Opened { runs: runs.collect(), problems })
    }
}
