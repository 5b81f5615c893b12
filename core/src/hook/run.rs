//! One call of `teamkeep hook`: from stdin to the exit code. The preparation never fails: it falls back to the defaults.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::{BackgroundMode, Outcome, Recorder};
use crate::client::compat::find_client_ancestor;
use crate::client::payload;
use crate::client::response::{Answer, BLOCK_EXIT_CODE};
use crate::client::settings::plugin_dedupe::{HookEvent, settings_cover_event};
use crate::config::{Files, OnError, layers, misnamed_file};
use crate::error::Error;
use crate::model::Note;
use crate::sys::clock::Clock;
use crate::sys::diagnostics;
use crate::sys::env::Env;
use crate::sys::paths::Paths;
use crate::sys::process;
use crate::sys::unicode::escape;

/// The entry for which Claude Code calls the hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CalledBy {
    /// An entry in a settings file.
    Settings,
    /// The plugin. Events that the hooks in the settings record are skipped.
    Plugin,
}

/// Records one hook call and prints the response. `event` is the one on the command line.
pub fn run(event: Option<&str>, by: CalledBy) -> ExitCode {
    process::defer_signals();
    let (recorder, unsafe_store) = recorder();
    let hook = &recorder.config.hook;
    let input = payload::read(std::io::stdin(), hook.largest_input as usize, hook.stdin_patience);
    if by == CalledBy::Plugin && should_skip(&input.bytes, event, &recorder) {
        return ExitCode::SUCCESS;
    }
    let start = Instant::now();
    let mut outcome = recorder.record(&input, event);
    note_problems(&recorder, &mut outcome, event, start.elapsed());
    respond(&outcome.answer, unsafe_store.as_ref())
}

/// The recorder of the call, and why the store must not be written, if so.
fn recorder() -> (Recorder, Option<Error>) {
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
    if misnamed.as_ref().and_then(|problem| layers::last_on_error(&problem.path, &files.cache))
        == Some(OnError::Block)
    {
        config.policy.on_error = OnError::Block;
    }
    let problems = misnamed.into_iter().chain(effective.problems).collect();
    (Recorder { env, paths, config, problems, clock, finish: BackgroundMode::Detached }, unsafe_store)
}

#[derive(Default, Deserialize)]
struct Call<'a> {
    #[serde(default, borrow)]
    hook_event_name: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    tool_name: Option<Cow<'a, str>>,
}

/// Whether a hook in the settings records the event, so that the plugin's hook skips it.
fn should_skip(input: &[u8], asked: Option<&str>, recorder: &Recorder) -> bool {
    let call: Call<'_> = serde_json::from_slice(input).unwrap_or_default();
    let named = call.hook_event_name.as_deref().or(asked);
    let event = named.map_or("", |named| match payload::Kind::named(named) {
        payload::Kind::Unknown => named,
        kind => kind.name(),
    });
    // The plugin's script adds the event if Claude Code passes `args` to it.
    let knows_args = asked.is_some();
    let occasion = HookEvent { event, tool: call.tool_name.as_deref(), knows_args };
    let project = recorder.env.project_dir();
    settings_cover_event(occasion, &recorder.env, &recorder.paths, project.as_deref())
}

/// Writes the problems of a call, which took this long, to the diagnostics.
fn note_problems(recorder: &Recorder, outcome: &mut Outcome, event: Option<&str>, took: Duration) {
    outcome.notes.extend(recorder.paths.warning.clone().map(Note::problem));
    recorder.env.problems().iter().for_each(|odd| outcome.add(format!("{odd}; using the default")));
    outcome.add_notes();
    let mut notes = outcome.diagnostics();
    // Problems of the policy files are reported at the start of a session.
    let errors = recorder.problems.iter().filter(|problem| problem.is_error());
    notes.extend(errors.map(ToString::to_string));
    if took > recorder.config.hook.slow {
        notes.push(format!("hook call {} took {} ms", event.unwrap_or("hook"), took.as_millis()));
    }
    if !notes.is_empty() {
        diagnostics::note(&recorder.paths.diagnostics(), &recorder.clock, &notes.join("; "));
    }
}

/// Prints the response. A store that must not be written is reported on stderr.
fn respond(answer: &Answer, unsafe_store: Option<&Error>) -> ExitCode {
    if let Some(error) = unsafe_store {
        // One line: Claude Code shows no more of a hook's stderr.
        let hints = error.hints.iter().map(|hint| format!("; hint: {hint}"));
        eprint_line(&format!("teamkeep: {error}{}", hints.collect::<String>()));
        if answer.exit != BLOCK_EXIT_CODE {
            return ExitCode::from(error.exit_code());
        }
    }
    if !answer.stderr.is_empty() {
        eprint_line(answer.stderr.trim_end());
    }
    ExitCode::from(if print(&answer.stdout).is_ok() { answer.exit } else { 1 })
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
