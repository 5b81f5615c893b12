//! `teamkeep hook [EVENT]`: one payload on stdin, recorded and answered.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::Deserialize;

use crate::clock::Clock;
use crate::config::{Files, OnError, memo};
use crate::context::{misnamed_config, oddities};
use crate::diagnostics;
use crate::env::Env;
use crate::paths::Paths;
use crate::payload;
use crate::process::{client_above, outlast};
use crate::recorder::{Finish, Recorder};
use crate::settings::beside::{Occasion, runs_beside};
use crate::ui::Ui;

/// Arguments of `teamkeep hook`.
#[derive(Debug, Default, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The event: subagent-start, subagent-stop, teammate-idle, task-created, task-completed, pre-tool-use,
    /// post-tool-use, session-start, session-end, stop, stop-failure, user-prompt-submit, pre-compact, file-changed,
    /// notification. Where the payload names another one, or this one is not known, the payload decides
    #[arg(value_name = "EVENT")]
    pub event: Option<String>,
    /// The call is the plugin's: an event that the settings' own hooks record is left to them
    #[arg(long, hide = true)]
    pub plugin: bool,
}

/// The exit code that holds the action back.
const HELD: u8 = 2;

/// What of a payload says whom the settings' hooks are for.
#[derive(Default, Deserialize)]
struct Call<'a> {
    #[serde(default, borrow)]
    hook_event_name: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    tool_name: Option<Cow<'a, str>>,
}

const EXAMPLES: &str = "Examples:
  teamkeep hook subagent-stop < payload.json
  echo '{\"hook_event_name\": \"Stop\", \"session_id\": \"s\"}' | teamkeep hook";

/// Handles one hook call.
pub fn run(args: &Args) -> ExitCode {
    outlast::begin();
    let mut env = Env::read();
    env.client_pid = env.client_pid.or_else(client_above);
    let mut paths = Paths::find(&env);
    let clock = Clock::new(env.now.as_deref());
    let start = std::time::Instant::now();
    let unsafe_store = paths.secure().err();
    if unsafe_store.is_some() {
        // What is there is somebody else's. The policy is asked all the same: a user's rule may stand against the call.
        paths.abandon();
    }
    let project = env.project.clone().or_else(|| std::env::current_dir().ok());
    let misnamed = misnamed_config(&env);
    let mut files = Files::find(&paths, project.as_deref());
    let memo = paths.policy().join(".understood");
    if misnamed.is_some() {
        // No other file stands for the one that was meant.
        files.user = PathBuf::new();
    }
    let effective = memo::load(&files, &memo);
    let mut config = effective.config;
    if misnamed.as_ref().is_some_and(|problem| memo::held_back(&problem.path, &memo)) {
        config.policy.on_error = OnError::Block;
    }
    let problems = misnamed.into_iter().chain(effective.problems).collect();
    let input =
        payload::read(std::io::stdin(), config.hook.largest_input as usize, config.hook.stdin_patience);
    if args.plugin && is_left(&input.bytes, args, &env, &paths, project.as_deref()) {
        return ExitCode::SUCCESS;
    }
    let read = start.elapsed();
    let recorder = Recorder { env, paths, config, problems, clock, finish: Finish::Detached };
    let mut outcome = recorder.record(&input, args.event.as_deref());
    outcome.notes.extend(recorder.paths.warning.clone());
    outcome
        .notes
        .extend(oddities(&recorder.env).iter().map(|odd| format!("{odd}; the default stands instead")));
    outcome.tell_notes();
    outcome.notes.append(&mut outcome.usual);
    // What is wrong with a policy's files is told when a session begins.
    let errors = recorder.problems.iter().filter(|problem| problem.is_error());
    outcome.notes.extend(errors.map(ToString::to_string));
    let took = start.elapsed().saturating_sub(read);
    if took > recorder.config.hook.slow {
        outcome.notes.push(format!(
            "a call of {} took {} ms",
            args.event.as_deref().unwrap_or("hook"),
            took.as_millis()
        ));
    }
    if !outcome.notes.is_empty() {
        diagnostics::note(&recorder.paths.diagnostics(), &recorder.clock, &outcome.notes.join("; "));
    }
    let ui = Ui;
    if let Some(error) = unsafe_store {
        // One line: the client shows no more of a hook's.
        let hints = error.hints.iter().map(|hint| format!("; hint: {hint}"));
        ui.say(&format!("teamkeep: {error}{}", hints.collect::<String>()));
        if outcome.answer.exit != HELD {
            return ExitCode::from(error.exit_code());
        }
    }
    if !outcome.answer.stderr.is_empty() {
        ui.say(outcome.answer.stderr.trim_end());
    }
    let told = ui.raw(outcome.answer.stdout.as_bytes());
    ExitCode::from(if told.is_err() { 1 } else { outcome.answer.exit })
}

/// Whether the plugin's copy of a hook leaves the event to the one in the settings.
fn is_left(input: &[u8], args: &Args, env: &Env, paths: &Paths, project: Option<&Path>) -> bool {
    let call: Call<'_> = serde_json::from_slice(input).unwrap_or_default();
    let named = call.hook_event_name.as_deref().or(args.event.as_deref());
    let event = named.map_or("", |named| match payload::Kind::named(named) {
        payload::Kind::Unknown => named,
        kind => kind.name(),
    });
    // The plugin's script adds the event where the client hands it its `args`.
    let knows_args = args.event.is_some();
    runs_beside(Occasion { event, tool: call.tool_name.as_deref(), knows_args }, env, paths, project)
}

/// The arguments of a call that is nothing but `teamkeep hook [EVENT] [--plugin]`.
pub fn plain(args: &[OsString]) -> Option<Args> {
    let words: Vec<&str> = args.iter().skip(1).map(|word| word.to_str()).collect::<Option<_>>()?;
    let (words, plugin) = match words.as_slice() {
        [words @ .., "--plugin"] => (words, true),
        words => (words, false),
    };
    match words {
        ["hook"] => Some(Args { event: None, plugin }),
        ["hook", event] if !event.starts_with('-') => Some(Args { event: Some((*event).to_owned()), plugin }),
        _ => None,
    }
}
