//! The part of its sessions' transcripts that belongs to a run.

use super::run::RunRecord;
use crate::sys::clock::Timestamp;

/// The part of its sessions' transcripts that belongs to a run, by Claude Code's clock, which is also the clock of
/// `createdAt`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Interval {
    /// When Claude Code created the team; else when the run was first seen, if an earlier run shares one of its
    /// sessions.
    pub from: Option<Timestamp>,
    pub until: Option<Timestamp>,
}

impl Interval {
    /// Finds the part of a run. Runs that share a session follow each other.
    pub fn of(run: &RunRecord, all: &[RunRecord]) -> Interval {
        if let Some(imported) = &run.imported {
            return Interval { from: imported.from, until: imported.until };
        }
        let shares = |other: &&RunRecord| {
            other.run != run.run
                && other.imported.is_none()
                && other.sessions.iter().any(|one| run.sessions.iter().any(|own| own.id == one.id))
        };
        let began = |run: &RunRecord| run.created_at.unwrap_or(run.started_at);
        let own = began(run);
        let others: Vec<Timestamp> = all.iter().filter(shares).map(began).collect();
        let from = Some(own).filter(|own| run.created_at.is_some() || others.iter().any(|other| other < own));
        Interval { from, until: others.into_iter().filter(|other| *other > own).min() }
    }

    pub fn contains(&self, at: Option<Timestamp>) -> bool {
        at.is_none_or(|at| {
            self.from.is_none_or(|from| from <= at) && self.until.is_none_or(|until| at < until)
        })
    }
}
