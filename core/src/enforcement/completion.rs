//! Completion checks: the user's commands that must succeed before a task is completed. They can take minutes, so no
//! lock may be held meanwhile.

mod finding;
mod result_cache;
mod worktree;

use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::config::Check;
use crate::policy::{Reason, escaped};
use crate::sys::clock;
use crate::sys::fs::Lock;
use crate::sys::process::{Outcome, Progress, Run, shell_code};

pub use finding::finding;
pub use worktree::directory;

use result_cache::ResultCache;

/// Time for all checks of one call. After 600 s, Claude Code stops waiting and allows the completion.
pub const BUDGET: Duration = Duration::from_secs(570);

const MAX_OUTPUT_BYTES: usize = 16 * 1024;
const MAX_OUTPUT_LINES: usize = 10;
const MAX_LINE_CHARS: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckResult {
    pub command: String,
    pub outcome: CheckOutcome,
    /// Whether the outcome is reused, because the worktree has not changed.
    pub cached: bool,
}

/// The outcome of a check. Texts are escaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckOutcome {
    Passed,
    /// Another exit code; 128 and more for a signal.
    Failed {
        exit: i32,
        last_lines: Vec<String>,
    },
    /// It exceeded its time limit and was ended with all its child processes.
    TimedOut {
        after: Duration,
        last_lines: Vec<String>,
    },
    /// No time was left for it, or its directory is gone. It counts as failed.
    NotBegun {
        why: String,
    },
    /// It could not be run, which proves nothing about the task.
    CouldNotRun {
        why: String,
    },
}

/// Runs the checks in a directory, each command once. `budget` includes waiting for other calls
/// that run the same check.
pub fn run(checks: &[&Check], cwd: &Path, store: &Path, budget: Duration) -> Vec<CheckResult> {
    let start = Instant::now();
    let mut done: Vec<CheckResult> = Vec::new();
    for check in checks {
        if done.iter().any(|checked| checked.command == check.run) {
            continue;
        }
        let runner = CheckRunner { check, cwd, results: ResultCache::new(store), budget, start };
        let (outcome, cached) = runner.check().unwrap_or_else(|not_run| (not_run, false));
        done.push(CheckResult { command: check.run.clone(), outcome, cached });
    }
    done
}

struct CheckRunner<'a> {
    check: &'a Check,
    cwd: &'a Path,
    results: ResultCache,
    budget: Duration,
    start: Instant,
}

impl CheckRunner<'_> {
    /// The outcome, and whether it was reused. The error is the outcome of a check that was not run.
    fn check(&self) -> Result<(CheckOutcome, bool), CheckOutcome> {
        if !self.cwd.is_dir() {
            let dir = self.cwd.to_string_lossy();
            let why = Reason::default().then("its directory ").quote(&dir).then(" does not exist").finish();
            return Err(CheckOutcome::NotBegun { why });
        }
        let key = || ResultCache::key(&self.check.run, self.cwd);
        let find =
            |key: Option<blake3::Hash>| key.and_then(|key| self.results.find(key, self.start.elapsed()));
        let mut before = key();
        if let Some(outcome) = find(before) {
            return Ok((outcome, true));
        }
        let (_lock, waited) = self.lock()?;
        if waited {
            before = key();
            if let Some(outcome) = find(before) {
                return Ok((outcome, true));
            }
        }
        let began = Instant::now();
        let outcome = self.run()?;
        // If the worktree changed during the run, the outcome belongs to neither state.
        if let Some(key) = before.filter(|before| key() == Some(*before)) {
            let _ = self.results.store(key, &self.check.run, &outcome, began.elapsed());
        }
        Ok((outcome, false))
    }

    /// Waits while another call runs the same check in the same directory. Without a lock the check is run anyway.
    fn lock(&self) -> Result<(Option<Lock>, bool), CheckOutcome> {
        let lock = |timeout| self.results.lock(&self.check.run, self.cwd, timeout);
        if let Ok(Some(lock)) = lock(Duration::ZERO) {
            return Ok((Some(lock), false));
        }
        match lock(self.left()) {
            Ok(None) => {
                let why = format!(
                    "other runs of it did not end within {}",
                    clock::duration(self.budget.as_millis() as i64)
                );
                Err(CheckOutcome::NotBegun { why })
            }
            locked => Ok((locked.ok().flatten(), true)),
        }
    }

    fn run(&self) -> Result<CheckOutcome, CheckOutcome> {
        let limit = self.left().min(self.check.timeout);
        if limit.is_zero() {
            return Err(CheckOutcome::NotBegun { why: "no time was left for it".to_owned() });
        }
        let mut output = Vec::new();
        let run = Run { captures_stderr: true, ..Run::new(shell(&self.check.run, self.cwd), limit) };
        let ended = run.supervise(|progress| {
            if let Progress::Output(bytes) = progress {
                add_output(&mut output, bytes);
            }
            ControlFlow::Continue(())
        });
        let ended = ended.map_err(|error| CheckOutcome::CouldNotRun {
            why: format!("no shell could be started: {error}"),
        })?;
        let last_lines = last_lines(&output);
        Ok(match ended {
            Outcome::Ended(status) if status.success() => CheckOutcome::Passed,
            Outcome::Ended(status) => CheckOutcome::Failed { exit: shell_code(status), last_lines },
            Outcome::TimedOut => CheckOutcome::TimedOut { after: limit, last_lines },
            Outcome::Stopped => {
                return Err(CheckOutcome::CouldNotRun { why: "the hook was interrupted".to_owned() });
            }
        })
    }

    fn left(&self) -> Duration {
        self.budget.saturating_sub(self.start.elapsed())
    }
}

fn shell(line: &str, cwd: &Path) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", line]).current_dir(cwd).env_remove("CLAUDE_CODE_MESSAGING_TOKEN");
    command
}

/// Adds output to the end that is kept.
fn add_output(output: &mut Vec<u8>, bytes: &[u8]) {
    output.extend_from_slice(&bytes[bytes.len().saturating_sub(MAX_OUTPUT_BYTES)..]);
    if output.len() > 2 * MAX_OUTPUT_BYTES {
        output.drain(..output.len() - MAX_OUTPUT_BYTES);
    }
}

/// The last lines that are not blank, without colors and in their final state: a progress bar rewrites its line.
fn last_lines(output: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(&output[output.len().saturating_sub(MAX_OUTPUT_BYTES)..]);
    let text = anstream::adapter::strip_str(&text).to_string();
    let lines = text.lines().map(|line| line.trim_end().rsplit('\r').next().unwrap_or_default());
    let last = lines.rev().filter(|line| !line.trim().is_empty()).take(MAX_OUTPUT_LINES);
    let mut last: Vec<String> = last.map(|line| escaped(line.trim_end(), MAX_LINE_CHARS)).collect();
    last.reverse();
    last
}

#[cfg(test)]
mod tests;
