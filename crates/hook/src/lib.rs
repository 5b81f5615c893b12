//! One hook call, from the payload to the response, and the work in the background after it. Claude Code waits for everything that this
//! crate loads, so its dependencies are few.
//!
//! ```text
//! stdin ──▶ payload ──▶ capture ──▶ attribute ──▶ append ──▶ judge ──▶ runs, session ──▶ exit code, stdout, stderr
//! ```
//!
//! [`Call`](call::Call) has these steps in the order in which they happen, and the facts known so far. The event is in the log before
//! a policy can fail. [`attribution`] finds who acted, in which team and run. [`enforcement`] reads what the gates need, runs
//! completion checks and counts blocks. [`finish()`] and [`prune`] run in a process of their own, which lives on after the response.

#![warn(unreachable_pub)]

pub mod attribution;
mod background;
mod call;
mod delete_guard;
pub mod enforcement;
mod facts;
mod judge;
mod notices;
mod repetition;
pub mod response;
mod runs;
mod team_context;
mod worktree;

use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

pub use background::{BackgroundMode, FinishStart, find_shipper, finish, finish_in_background, prune};

use crate::response::{BLOCK_EXIT_CODE, Response};
use teamkeep_config::{
    self as config, Config, Files, OnError, Problem, last_on_error, layers, misnamed_file,
};
use teamkeep_model::unicode::escape;
use teamkeep_model::{Note, Severity};
use teamkeep_store::access::obstacle;
use teamkeep_store::archive::Archive;
use teamkeep_store::log::Appending;
use teamkeep_system::clock::Clock;
use teamkeep_system::env::Env;
use teamkeep_system::error::{Error, USAGE};
use teamkeep_system::paths::Paths;
use teamkeep_system::process::find_client_ancestor;
use teamkeep_system::{diagnostics, os, process};

/// Maximum length of a quoted text in a message, in characters.
const MAX_CHARS: usize = 300;

#[derive(Debug)]
pub struct Recorder {
    pub env: Env,
    pub paths: Paths,
    pub config: Config,
    pub problems: Vec<Problem>,
    /// Whether there is an organization's file. Then errors in other files are not failures of the policy.
    pub has_organization: bool,
    pub clock: Clock,
    pub by: CalledBy,
    pub finish: BackgroundMode,
}

impl Recorder {
    pub fn archive(&self) -> Archive {
        Archive::open(self.paths.store.clone(), &self.config)
    }

    /// How lines are appended to the logs.
    fn appending(&self) -> Appending {
        let limits = &self.config.log;
        Appending { segment_size: limits.segment_size, patience: limits.lock_patience, durable: false }
    }

    /// Whether metadata-only mode is on: texts are recorded as sizes and hashes.
    fn is_metadata_only(&self) -> bool {
        self.config.privacy.record == config::RecordMode::Metadata
    }
}

#[derive(Debug, Default)]
pub struct HookOutcome {
    pub response: Response,
    pub notes: Vec<Note>,
    /// Data that is lost with a TeamDelete that was allowed. It is recorded with the event.
    pub lost_with_team: Option<String>,
}

impl HookOutcome {
    fn note<T>(&mut self, what: &str, result: Result<T, impl Display>) -> Option<T> {
        result.map_err(|error| self.add(format!("cannot {what}: {error}"))).ok()
    }

    pub fn add(&mut self, text: impl Into<String>) {
        self.notes.push(Note::problem(text));
    }

    fn texts(&self, severities: &[Severity]) -> impl Iterator<Item = &str> {
        let wanted = self.notes.iter().filter(|note| severities.contains(&note.severity));
        wanted.map(|note| note.text.as_str())
    }

    pub fn diagnostics(&self) -> Vec<String> {
        let texts =
            self.texts(&[Severity::Problem, Severity::Loss]).chain(self.texts(&[Severity::Contention]));
        texts.map(str::to_owned).collect()
    }

    /// Adds the notes to stderr on one line if the response has no message. If data was lost, the call fails, because
    /// Claude Code shows only failures; if the response has content, which a failure would hide, the line is added to it.
    pub(crate) fn add_notes(&mut self) {
        if self.response.exit != 0 || !self.response.stderr.is_empty() {
            return;
        }
        let shown = self.texts(&[Severity::Problem, Severity::Loss]).chain(self.texts(&[Severity::Payload]));
        let text = shown.collect::<Vec<_>>().join("; ");
        if !text.is_empty() {
            // The diagnostics and the log have the full text.
            let short: String = text.chars().take(3 * MAX_CHARS).collect();
            let cut = if short.len() < text.len() { "…" } else { "" };
            let is_lost = self.notes.iter().any(|note| note.severity == Severity::Loss);
            let line = format!("teamkeep: {short}{cut}");
            if is_lost {
                match self.response.with_message(&line) {
                    Some(response) => self.response = response,
                    None => self.response.exit = u8::from(self.response.stdout.is_empty()),
                }
            }
            self.response.stderr = line;
        }
    }
}

/// The entry for which Claude Code calls the hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CalledBy {
    /// An entry in a settings file.
    Settings,
    /// The plugin. Beside hooks in the settings, each event is recorded by one of both: see [`repetition`].
    Plugin,
}

/// Records one hook call and prints the response. `event` is the one on the command line.
pub fn run(event: Option<&str>, by: CalledBy) -> ExitCode {
    if io::stdin().is_terminal() {
        return explain_to_people();
    }
    process::defer_signals();
    let (recorder, unsafe_store) = recorder(by);
    let hook = &recorder.config.hook;
    let input = process::read_stdin(std::io::stdin(), hook.largest_input as usize, hook.stdin_patience);
    let start = Instant::now();
    let mut outcome = recorder.handle(&input, event);
    report_problems(&recorder, &mut outcome, event, start.elapsed());
    respond(&outcome.response, unsafe_store.as_ref())
}

/// A hook call has its payload on stdin, so a terminal means that somebody typed the command. Nothing is recorded.
fn explain_to_people() -> ExitCode {
    eprint_line("error: a hook call needs a payload on stdin, and stdin is a terminal");
    eprint_line("hint: Claude Code runs this command; to add it to its settings: teamkeep install");
    eprint_line(
        "hint: to try it: echo '{\"hook_event_name\": \"Stop\", \"session_id\": \"s\"}' | teamkeep hook",
    );
    ExitCode::from(USAGE)
}

/// The recorder of the call, and why the store must not be written, if so.
fn recorder(by: CalledBy) -> (Recorder, Option<Error>) {
    let mut env = Env::read();
    env.client_pid = env.client_pid.or_else(find_client_ancestor);
    let mut paths = Paths::find(&env);
    let clock = Clock::new(env.now.as_deref());
    let unsafe_store = paths.secure().err();
    if unsafe_store.is_some() {
        // The directory belongs to another user. The policy still judges the call.
        paths.abandon();
    }
    let misnamed = misnamed_file(&env);
    let mut files = Files::find(&paths, env.project_dir().as_deref());
    if misnamed.is_some() {
        // No other file replaces the one that the variable names.
        files.user = PathBuf::new();
    }
    let effective = layers::load_cached(&files);
    let mut config = effective.config;
    let has_organization = effective.has_organization;
    if !has_organization
        && misnamed.as_ref().and_then(|problem| last_on_error(&problem.path, &files.cache))
            == Some(OnError::Block)
    {
        config.policy.on_error = OnError::Block;
    }
    let problems = misnamed.into_iter().chain(effective.problems).collect();
    let finish = BackgroundMode::Detached;
    (Recorder { env, paths, config, problems, has_organization, clock, by, finish }, unsafe_store)
}

/// Writes the problems of a call, which took this long, to the diagnostics.
fn report_problems(recorder: &Recorder, outcome: &mut HookOutcome, event: Option<&str>, took: Duration) {
    outcome.notes.extend(recorder.paths.warning.clone().map(Note::problem));
    recorder.env.problems().iter().for_each(|odd| outcome.add(format!("{odd}; using the default")));
    outcome.add_notes();
    if outcome.response.exit != BLOCK_EXIT_CODE && !outcome.response.stderr.is_empty() {
        outcome.response.stderr.extend(store_hint(recorder));
    }
    let mut notes = outcome.diagnostics();
    // Problems of the policy files are reported at the start of a session.
    let errors = recorder.problems.iter().filter(|problem| problem.is_error());
    notes.extend(errors.map(ToString::to_string));
    if took > recorder.config.hook.slow {
        let event = event.unwrap_or("unknown event");
        notes.push(format!("{}{event} took {} ms", diagnostics::SLOW_CALL, took.as_millis()));
    }
    if !notes.is_empty() {
        diagnostics::note(&recorder.paths.diagnostics(), &recorder.clock, &notes.join("; "));
    }
}

/// The remedy for a store that cannot be written, on the line of the error: Claude Code shows no more of a hook's stderr.
fn store_hint(recorder: &Recorder) -> Option<String> {
    let obstacle = obstacle(&recorder.paths, &recorder.env)?;
    Some(format!("; hint: {}", obstacle.fix))
}

/// Prints the response. A store that must not be written is reported on stderr.
fn respond(response: &Response, unsafe_store: Option<&Error>) -> ExitCode {
    if let Some(error) = unsafe_store {
        // One line: Claude Code shows no more of a hook's stderr.
        let hints = error.hints.iter().map(|hint| format!("; hint: {hint}"));
        eprint_line(&format!("teamkeep: {error}{}", hints.collect::<String>()));
        if response.exit != BLOCK_EXIT_CODE {
            return ExitCode::from(error.exit_code());
        }
    }
    if !response.stderr.is_empty() {
        eprint_line(response.stderr.trim_end());
    }
    ExitCode::from(if print(&response.stdout).is_ok() { response.exit } else { 1 })
}

fn eprint_line(line: &str) {
    let _ = writeln!(io::stderr(), "{}", escape(line));
}

/// Writes to stdout in one write. A closed pipe counts as success.
fn print(text: &str) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    let mut out = io::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

// The command line of the hook program. `teamkeep hook` and `teamkeep finish` take the same words after the subcommand.

/// The word that a hook call starts this program with for the work after it.
pub(crate) const FINISH: &str = "finish";

const USAGE_TEXT: &str = "Usage: teamkeep-hook [EVENT] < PAYLOAD

Records one hook call of Claude Code and prints the response. `teamkeep install` adds it to Claude Code's settings.
For the events and everything else: teamkeep --help
";

/// The request of a command line.
#[derive(Debug, PartialEq, Eq)]
pub enum Invocation {
    Hook { event: Option<String>, by: CalledBy },
    Finish(FinishStart),
    Version,
    Help,
    Unknown,
}

impl Invocation {
    /// Of the words after the program.
    pub fn of(words: &[&str]) -> Invocation {
        match words {
            ["--version" | "-V"] => Invocation::Version,
            ["--help" | "-h"] => Invocation::Help,
            [FINISH, options @ ..] => finish_start(options).map_or(Invocation::Unknown, Invocation::Finish),
            [words @ .., "--plugin"] => hook_call(words, CalledBy::Plugin),
            words => hook_call(words, CalledBy::Settings),
        }
    }
}

/// A hook call with at most one word, the event.
pub fn hook_call(words: &[&str], by: CalledBy) -> Invocation {
    match words {
        [] => Invocation::Hook { event: None, by },
        [event] if !event.starts_with('-') => Invocation::Hook { event: Some((*event).to_owned()), by },
        _ => Invocation::Unknown,
    }
}

fn finish_start(options: &[&str]) -> Option<FinishStart> {
    let mut start = FinishStart::default();
    for option in options.chunks(2) {
        match option {
            ["--after", pid] => start.client = Some(pid.parse().ok()?),
            ["--ended", session] => start.ended_session = Some((*session).to_owned()),
            _ => return None,
        }
    }
    Some(start)
}

/// The hook program.
pub fn main(args: &[OsString]) -> ExitCode {
    os::files::report_size_limit();
    os::files::set_umask();
    diagnostics::exit_on_panic(diagnostics::HOOK_PANIC_EXIT_CODE, || {});
    let words: Option<Vec<&str>> = args.iter().skip(1).map(|word| word.to_str()).collect();
    match words.as_deref().map_or(Invocation::Unknown, Invocation::of) {
        Invocation::Hook { event, by } => run(event.as_deref(), by),
        Invocation::Finish(start) => finish_in_background(start),
        Invocation::Version => print_code(concat!("teamkeep-hook ", env!("CARGO_PKG_VERSION"), "\n")),
        Invocation::Help => print_code(USAGE_TEXT),
        Invocation::Unknown => {
            eprint_line("error: unknown arguments; see: teamkeep-hook --help");
            ExitCode::from(USAGE)
        }
    }
}

fn print_code(text: &str) -> ExitCode {
    if print(text).is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_line_is_an_event_or_the_work_after_it() {
        let hook = |event: Option<&str>, by| Invocation::Hook { event: event.map(str::to_owned), by };
        let finish = |client, ended: Option<&str>| {
            Invocation::Finish(FinishStart { client, ended_session: ended.map(str::to_owned) })
        };
        for (line, wanted) in [
            ("", hook(None, CalledBy::Settings)),
            ("stop", hook(Some("stop"), CalledBy::Settings)),
            ("stop --plugin", hook(Some("stop"), CalledBy::Plugin)),
            ("--plugin", hook(None, CalledBy::Plugin)),
            ("finish", finish(None, None)),
            ("finish --after 12 --ended s1", finish(Some(12), Some("s1"))),
            ("--version", Invocation::Version),
            ("hook stop", Invocation::Unknown),
            ("--plugin stop", Invocation::Unknown),
            ("finish --after x", Invocation::Unknown),
            ("finish --ended", Invocation::Unknown),
            ("stop --sync", Invocation::Unknown),
        ] {
            let words: Vec<&str> = line.split_whitespace().collect();
            assert_eq!(Invocation::of(&words), wanted, "{line}");
        }
    }
}
