//! Completion checks: the user's commands that must succeed before a task is completed. They can take minutes, so no
//! lock may be held meanwhile. Each completion runs its checks, also if another does at the same time.

mod finding;

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use teamkeep_config::Check;
use teamkeep_policy::{MAX_TEXT_CHARS, Reason, escaped};
use teamkeep_system::git::Git;
use teamkeep_system::process::{Outcome, Progress, Run, shell_code};

pub(super) use finding::finding;

/// Time for all checks of one call. After 600 s, Claude Code stops waiting and allows the completion.
pub(super) const BUDGET: Duration = Duration::from_secs(570);

/// Time for each git command that finds the directory of a check.
const GIT_TIMEOUT: Duration = Duration::from_secs(30);

const MAX_OUTPUT_BYTES: usize = 16 * 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CheckResult {
    pub command: String,
    pub outcome: CheckOutcome,
}

/// The outcome of a check. Texts are escaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CheckOutcome {
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

/// Runs the checks in a directory, each command once, within `budget`.
pub(super) fn run(checks: &[&Check], cwd: &Path, budget: Duration) -> Vec<CheckResult> {
    let start = Instant::now();
    let mut done: Vec<CheckResult> = Vec::new();
    for check in checks {
        if done.iter().any(|checked| checked.command == check.run) {
            continue;
        }
        let left = budget.saturating_sub(start.elapsed());
        let outcome = run_check(check, cwd, left.min(check.timeout));
        done.push(CheckResult { command: check.run.clone(), outcome });
    }
    done
}

fn run_check(check: &Check, cwd: &Path, limit: Duration) -> CheckOutcome {
    if !cwd.is_dir() {
        let dir = cwd.to_string_lossy();
        let why = Reason::default().then("its directory ").quote(&dir).then(" does not exist").text();
        return CheckOutcome::NotBegun { why };
    }
    if limit.is_zero() {
        return CheckOutcome::NotBegun { why: "no time was left for it".to_owned() };
    }
    let mut output = Vec::new();
    let run = Run { captures_stderr: true, ..Run::new(shell(&check.run, cwd), limit) };
    let ended = run.supervise(|progress| {
        if let Progress::Output(bytes) = progress {
            add_output(&mut output, bytes);
        }
        ControlFlow::Continue(())
    });
    let last_lines = last_lines(&output);
    match ended {
        Ok(Outcome::Ended(status)) if status.success() => CheckOutcome::Passed,
        Ok(Outcome::Ended(status)) => CheckOutcome::Failed { exit: shell_code(status), last_lines },
        Ok(Outcome::TimedOut) => CheckOutcome::TimedOut { after: limit, last_lines },
        Ok(Outcome::Stopped) => CheckOutcome::CouldNotRun { why: "the hook was interrupted".to_owned() },
        Err(error) => CheckOutcome::CouldNotRun { why: format!("no shell could be started: {error}") },
    }
}

/// A project's checks run in the project, and those of an agent in another worktree of its repository in that one.
pub(super) fn directory(project: Option<&Path>, cwd: &Path) -> PathBuf {
    let Some(project) = project else { return cwd.to_owned() };
    other_tree(project, cwd).unwrap_or_else(|| project.to_owned())
}

/// The project's directory in the other worktree that contains `cwd`; `None` if there is none.
fn other_tree(project: &Path, cwd: &Path) -> Option<PathBuf> {
    let ask = |dir: &Path, what: &str| {
        let line = Git::new(dir, GIT_TIMEOUT).line(&["rev-parse", what])?;
        Some(PathBuf::from(OsString::from_vec(line)))
    };
    let top = |dir: &Path| ask(dir, "--show-toplevel");
    let repository = |dir: &Path| dir.join(ask(dir, "--git-common-dir")?).canonicalize().ok();
    let (theirs, ours) = (top(cwd.is_dir().then_some(cwd)?)?, top(project)?);
    if theirs == ours || repository(cwd)? != repository(project)? {
        return None;
    }
    // A prefix ends with a slash.
    Some(theirs.join(ask(project, "--show-prefix")?).components().collect())
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
    let last = lines.rev().filter(|line| !line.trim().is_empty());
    let mut last: Vec<String> = last.map(|line| escaped(line.trim_end(), MAX_TEXT_CHARS)).collect();
    last.reverse();
    last
}

#[cfg(test)]
mod tests;
