//! All recorded data.

use serde::Serialize;

use crate::timeline::{RunCatalog, is_client_gone, open_index};
use crate::verify::{Scope, Verifier};
use teamkeep_core::error::{Error, Result};
use teamkeep_core::store::archive::{Archive, RunRecord};
use teamkeep_core::sys::clock::Timestamp;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// It has ended and can be deleted.
    Over,
    /// Its Claude Code process may be running.
    Alive,
    /// It has ended, but its transcripts are not stored yet.
    Unfinished,
    /// Parts of it cannot be read.
    Damaged,
}

#[derive(Debug, Clone)]
pub struct RunInventory {
    pub run: RunRecord,
    pub state: RunState,
    /// When it ended or was imported.
    pub since: Option<Timestamp>,
    /// The bytes of its files.
    pub bytes: u64,
    /// The uncompressed bytes of its journals, from before they were read.
    pub journal: u64,
}

#[derive(Debug, Default)]
pub struct Inventory {
    /// The runs, oldest first.
    pub runs: Vec<RunInventory>,
    /// Runs whose `run.json` cannot be read.
    pub damaged: Vec<String>,
}

pub fn survey(catalog: &RunCatalog, done: &mut dyn FnMut(u64)) -> Result<Inventory> {
    let archive = &catalog.archive;
    if let Some(why) = &catalog.unlisted {
        return Err(Error::new(format!("cannot prune: {why}"))
            .hint("nothing was removed, because the list of runs is incomplete")
            .hint("restore the directory, then run: teamkeep verify"));
    }
    let mut survey = Inventory { damaged: catalog.damaged.clone(), ..Inventory::default() };
    for run in &catalog.runs {
        let journal = archive.journal_size(&run.run);
        done(1);
        survey.runs.push(RunInventory {
            state: state(archive, run),
            since: since(archive, run),
            bytes: archive.run_size(&run.run),
            journal,
            run: run.clone(),
        });
    }
    Ok(survey)
}

fn state(archive: &Archive, run: &RunRecord) -> RunState {
    match () {
        () if archive.is_unfinished(&run.run) => RunState::Unfinished,
        () if run.ended_at.is_some() => RunState::Over,
        // An imported run gets no more events here, unless its session continues here.
        () if run.imported.is_some() && open_index(archive, run).is_none() => RunState::Over,
        () if is_client_gone(archive, run) => RunState::Over,
        () => RunState::Alive,
    }
}

/// When a run ended, or was imported.
fn since(archive: &Archive, run: &RunRecord) -> Option<Timestamp> {
    let imported = run.imported.as_ref().map(|imported| imported.at);
    let last = || archive.journal(&run.run).snapshots.pop().map(|last| last.at);
    imported.or(run.ended_at).or_else(last).or(Some(run.started_at)).filter(|at| at.is_valid())
}

impl Inventory {
    /// Verifies these runs and marks those that cannot be read. Returns whether there are any.
    pub fn verify(
        &mut self,
        catalog: &RunCatalog,
        runs: &[usize],
        done: &mut dyn FnMut(u64),
    ) -> Result<bool> {
        let mut any = false;
        for index in runs {
            let held = &mut self.runs[*index];
            let scope = Scope::Run(held.run.run.clone());
            let verifier =
                Verifier { archive: &catalog.archive, logs: &catalog.logs, paths: None, scope, against: &[] };
            let findings = verifier.run(done)?;
            if !findings.is_readable() {
                held.state = RunState::Damaged;
                any = true;
            }
        }
        Ok(any)
    }

    /// The bytes of the archive.
    pub fn bytes(&self) -> u64 {
        self.runs.iter().map(|held| held.bytes).sum()
    }
}
