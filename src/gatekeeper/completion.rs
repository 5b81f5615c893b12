//! Completion checks: commands of the user's that must succeed before a task is completed. They may take minutes, so
//! no lock of the gatekeeper's is to be held meanwhile.

mod finding;
mod results;
mod shell;
mod supervise;
mod tree;

use std::path::Path;
use std::time::{Duration, Instant};

use crate::config::Check;
use crate::policy::Reason;

pub use finding::{Task, finding};
pub use tree::place;

use results::Results;
use supervise::Ended;

/// What all checks of one call may take together: less than the 600 s after which the client gives the hook up and
/// lets the completion through.
pub const BUDGET: Duration = Duration::from_secs(570);
/// How long a pass is believed without running the check again. A failure is not: what it wanted may have been mended
/// where git does not look, and a block that nobody can mend is worse than a check that runs twice.
const PASS_HOLDS: Duration = Duration::from_secs(60 * 60);

/// One check and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// The command, as the user wrote it.
    pub command: String,
    /// What came of it.
    pub outcome: Outcome,
    /// Whether it was not run for this completion: the work tree is as it was when this came of it.
    pub cached: bool,
}

/// What came of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It ended with 0.
    Passed,
    /// It ended otherwise.
    Failed {
        /// Its exit code; 128 and more for a signal.
        exit: i32,
        /// The last lines that it said, escaped.
        last_lines: Vec<String>,
    },
    /// It did not end in time, and was ended with all that it had started.
    TimedOut {
        /// The time that it had.
        after: Duration,
        /// The last lines that it said, escaped.
        last_lines: Vec<String>,
    },
    /// No time was left for it, or its directory is gone: the task was not checked, and is held back like one that
    /// failed.
    NotBegun {
        /// Why, escaped.
        why: String,
    },
    /// It says nothing of the task: it was not run.
    CouldNotRun {
        /// Why.
        why: String,
    },
}

/// Runs the checks in a directory, one after the other, each command once. `dir` is the gatekeeper's own, where results
/// are kept for a work tree that does not change; `budget` is what all of them may take together, with the wait for other
/// calls that run the same.
pub fn run(checks: &[&Check], cwd: &Path, dir: &Path, budget: Duration) -> Vec<Checked> {
    let start = Instant::now();
    let mut done: Vec<Checked> = Vec::new();
    for check in checks {
        if done.iter().any(|checked| checked.command == check.run) {
            continue;
        }
        let bench = Bench { check, cwd, results: Results::new(dir), budget, start };
        let (outcome, cached) = bench.check().unwrap_or_else(|unrun| (unrun, false));
        done.push(Checked { command: check.run.clone(), outcome, cached });
    }
    done
}

/// One check at work.
struct Bench<'a> {
    check: &'a Check,
    cwd: &'a Path,
    results: Results,
    budget: Duration,
    start: Instant,
}

impl Bench<'_> {
    /// The outcome, and whether it was kept from before.
    fn check(&self) -> Result<(Outcome, bool), Outcome> {
        if !self.cwd.is_dir() {
            let dir = self.cwd.to_string_lossy();
            let why = Reason::default().then("its directory ").quote(&dir).then(" is not there").finish();
            return Err(Outcome::NotBegun { why });
        }
        let key = || Results::key(&self.check.run, self.cwd);
        let mut before = key();
        let kept =
            |key: Option<blake3::Hash>| key.and_then(|key| self.results.find(key, self.start.elapsed()));
        if let Some(outcome) = kept(before) {
            return Ok((outcome, true));
        }
        let (_lock, waited) = self.wait()?;
        if waited {
            before = key();
        }
        if let Some(outcome) = kept(before) {
            return Ok((outcome, true));
        }
        let began = Instant::now();
        let outcome = self.run()?;
        // A tree that changed under the check's feet is neither the one before nor the one after.
        if let Some(key) = before.filter(|before| key() == Some(*before)) {
            let _ = self.results.keep(key, &self.check.run, &outcome, began.elapsed());
        }
        Ok((outcome, false))
    }

    /// Waits while another call runs the same check in the same place: several may stand in line, so that as long as
    /// there is time. Without a disk to lock on it is run all the same.
    fn wait(&self) -> Result<(Option<crate::fs::Lock>, bool), Outcome> {
        let lock = |patience| self.results.lock(&self.check.run, self.cwd, patience);
        if let Ok(Some(lock)) = lock(Duration::ZERO) {
            return Ok((Some(lock), false));
        }
        match lock(self.left()) {
            Ok(None) => {
                let why = format!("other runs of it did not end within {}", span(self.budget));
                Err(Outcome::NotBegun { why })
            }
            Ok(lock) => Ok((lock, true)),
            Err(_) => Ok((None, true)),
        }
    }

    /// The outcome of a run; as an error where there was none.
    fn run(&self) -> Result<Outcome, Outcome> {
        let limit = self.left().min(self.check.timeout);
        if limit.is_zero() {
            return Err(Outcome::NotBegun { why: "there was no time left for it".to_owned() });
        }
        let (ended, last_lines) = shell::run(&self.check.run, self.cwd, limit).map_err(|error| {
            Outcome::CouldNotRun { why: format!("no shell could be run for it: {error}") }
        })?;
        Ok(match ended {
            Ended::Exit(0) => Outcome::Passed,
            Ended::Exit(exit) => Outcome::Failed { exit, last_lines },
            Ended::TimedOut => Outcome::TimedOut { after: limit, last_lines },
        })
    }

    fn left(&self) -> Duration {
        self.budget.saturating_sub(self.start.elapsed())
    }
}

/// A time as a reason names it.
fn span(time: Duration) -> String {
    if time.subsec_millis() == 0 {
        format!("{} s", time.as_secs())
    } else {
        format!("{} ms", time.as_millis())
    }
}

#[cfg(test)]
mod tests;
