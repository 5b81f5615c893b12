//! Checks the store for damage: every object against its hash, every manifest, every event in the log.
//!
//! Changes nothing, and keeps only hashes and ids in memory, regardless of the size of the store.

mod check;
mod events;
mod finding;
mod runs;

use check::Check;
use teamkeep_core::error::Result;
use teamkeep_core::store::log;

pub use check::{Scope, Verifier};
pub use finding::{Finding, Findings, Kind, VerifyStats};

/// Number of attempts while other processes add and remove runs.
const MAX_ATTEMPTS: u32 = 3;

/// The hint for an unreadable directory of runs.
const UNLISTED: &str = "restore the directory; until then no run can be shown or pruned";

impl Verifier<'_> {
    /// Approximate number of bytes to check.
    pub fn size(&self) -> u64 {
        let mut bytes = 0;
        if self.scope == Scope::All {
            // Errors are reported later, by the check itself.
            let _ = self.archive.objects.each(|stored| {
                bytes += stored.size;
                Ok(())
            });
        }
        let segments = log::list(self.log).unwrap_or_default();
        bytes + segments.iter().map(|segment| segment.size).sum::<u64>()
    }

    /// Checks everything in the scope and calls `done` with the number of bytes read. Repeats checks with findings if
    /// runs were added or removed in the meantime: prune removes a run before its objects. Fails when a directory of the
    /// store cannot be listed.
    pub fn run(&self, done: &mut dyn FnMut(u64)) -> Result<Findings> {
        for _ in 1..MAX_ATTEMPTS {
            let before = self.run_names();
            let findings = self.check(done)?;
            if findings.is_ok() || self.run_names() == before {
                return Ok(findings);
            }
        }
        self.check(done)
    }

    /// The existing runs in the scope.
    fn run_names(&self) -> Vec<String> {
        match &self.scope {
            Scope::All => self.archive.run_names(),
            Scope::Run(run) => {
                let dir = self.archive.run_dir(run).filter(|dir| dir.symlink_metadata().is_ok());
                dir.map(|_| run.clone()).into_iter().collect()
            }
        }
    }

    fn check(&self, done: &mut dyn FnMut(u64)) -> Result<Findings> {
        let mut check = Check::new(self, done);
        let names = match &self.scope {
            Scope::All => {
                self.archive.objects.each(|stored| {
                    check.object(&stored);
                    Ok(())
                })?;
                if let Some(why) = self.archive.why_unlisted() {
                    let what = format!("cannot list the runs: {why}");
                    check.add(Finding::new(Kind::DamagedFile, &self.archive.runs_dir(), what, UNLISTED));
                }
                self.archive.run_names()
            }
            Scope::Run(run) => vec![run.clone()],
        };
        names.iter().for_each(|run| check.run(run));
        check.indexes();
        check.states();
        check.log()?;
        Ok(check.findings)
    }
}
