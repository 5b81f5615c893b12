//! Runs git where agents work, without running a program that the repository's configuration names.

use std::ffi::OsString;
use std::fs::File;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::sys::process::{Outcome, Progress, Run, program};

/// Variables that would point git to another repository or to a program, and a secret that it does not need.
const REMOVED_VARIABLES: [&str; 6] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "GIT_EXTERNAL_DIFF",
    "CLAUDE_CODE_MESSAGING_TOKEN",
];
/// Settings with which git starts no program of the configuration and writes no cache.
const SETTINGS: [&str; 7] = [
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    // The part that several indexes share is a file in the repository.
    "core.splitIndex=false",
    // `git log` would run gpg, and print its output before the format.
    "log.showSignature=false",
    "core.quotePath=true",
    "core.hooksPath=/dev/null",
    "protocol.allow=never",
];

/// Commands in one directory that share a deadline.
#[derive(Debug)]
pub struct Git {
    dir: PathBuf,
    until: Instant,
    settings: Vec<String>,
    variables: Vec<(&'static str, OsString)>,
}

impl Git {
    pub fn new(dir: &Path, limit: Duration) -> Git {
        let until = Instant::now() + limit;
        Git { dir: dir.to_owned(), until, settings: Vec::new(), variables: Vec::new() }
    }

    /// Adds a variable for the commands that follow.
    pub fn set(&mut self, name: &'static str, value: impl Into<OsString>) {
        self.variables.push((name, value.into()));
    }

    /// Lets the commands that follow read each file unchanged: a filter of the configuration is a program.
    pub fn disable_filters(&mut self) -> Option<()> {
        for name in filters(&self.configuration()?) {
            let off = ["clean=", "smudge=", "process=", "required=false"];
            self.settings.extend(off.iter().map(|setting| format!("filter.{name}.{setting}")));
        }
        Some(())
    }

    /// The keys and values of the configuration.
    pub fn configuration(&self) -> Option<Vec<(String, String)>> {
        let listed = self.output(&["config", "--null", "--list"])?;
        let entries = listed.split(|byte| *byte == 0).map(String::from_utf8_lossy);
        let parse = |entry: &str| {
            let (key, value) = entry.split_once('\n').unwrap_or((entry, "true"));
            (key.to_owned(), value.to_owned())
        };
        Some(entries.map(|entry| parse(&entry)).collect())
    }

    /// The output without the newline at its end.
    pub fn line(&self, args: &[&str]) -> Option<Vec<u8>> {
        self.output(args)?.strip_suffix(b"\n").map(<[u8]>::to_vec)
    }

    pub fn output(&self, args: &[&str]) -> Option<Vec<u8>> {
        let mut output = Vec::new();
        self.run(args, |bytes| output.extend_from_slice(bytes))?;
        Some(output)
    }

    /// Runs a command and passes its output on; `None` if it fails or takes too long.
    pub fn run(&self, args: &[&str], mut take: impl FnMut(&[u8])) -> Option<()> {
        self.run_with(Stdio::null(), args, |bytes| {
            take(bytes);
            ControlFlow::Continue(())
        })
    }

    /// Runs a command that reads a file; `None` if it fails, takes too long, or has more output than `most` bytes.
    pub fn output_of(&self, input: File, args: &[&str], most: usize) -> Option<Vec<u8>> {
        let mut output = Vec::new();
        self.run_with(input.into(), args, |bytes| {
            output.extend_from_slice(bytes);
            if output.len() > most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Some(output)
    }

    fn run_with(
        &self,
        stdin: Stdio,
        args: &[&str],
        mut take: impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Option<()> {
        let mut command = program("git");
        for setting in SETTINGS.into_iter().chain(self.settings.iter().map(String::as_str)) {
            command.args(["-c", setting]);
        }
        command.args(args).current_dir(&self.dir);
        for name in REMOVED_VARIABLES {
            command.env_remove(name);
        }
        // Takes no lock, asks nothing, and fetches nothing.
        command.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_TERMINAL_PROMPT", "0").env("GIT_NO_LAZY_FETCH", "1");
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        let run = Run { stdin, ..Run::new(command, self.until.saturating_duration_since(Instant::now())) };
        let outcome = run.supervise(|progress| match progress {
            Progress::Output(bytes) => take(bytes),
            Progress::Running(_) => ControlFlow::Continue(()),
        });
        matches!(outcome.ok()?, Outcome::Ended(status) if status.success()).then_some(())
    }
}

/// The names of the filters in a configuration.
pub fn filters(configuration: &[(String, String)]) -> Vec<String> {
    let keys = configuration.iter().filter_map(|(key, _)| key.strip_prefix("filter.")?.rsplit_once('.'));
    let mut names: Vec<String> = keys.map(|(name, _)| name.to_owned()).collect();
    names.sort();
    names.dedup();
    names
}
