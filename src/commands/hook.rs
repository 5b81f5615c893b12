//! `teamkeep hook [EVENT]`: records one hook call from stdin and prints the response. `teamkeep finish`, which is hidden
//! from users: the work that a hook call leaves to a process of its own.

use std::ffi::OsString;
use std::process::ExitCode;

use teamkeep_core::config::{Config, Files};
use teamkeep_core::hook::{self, BackgroundMode, CalledBy, FinishStart, Recorder};
use teamkeep_core::sys::clock::Clock;
use teamkeep_core::sys::diagnostics;
use teamkeep_core::sys::env::Env;
use teamkeep_core::sys::paths::Paths;

#[derive(Debug, Default, clap::Args)]
#[command(after_help = "Examples:
  teamkeep hook subagent-stop < payload.json
  echo '{\"hook_event_name\": \"Stop\", \"session_id\": \"s\"}' | teamkeep hook")]
pub struct Args {
    /// Event of the hook: subagent-start, subagent-stop, teammate-idle, task-created, task-completed, pre-tool-use,
    /// post-tool-use, session-start, session-end, stop, stop-failure, user-prompt-submit, pre-compact, file-changed,
    /// permission-request, notification; for rules, every event of Claude Code except WorktreeCreate and MessageDisplay.
    /// The event in the payload takes precedence
    #[arg(value_name = "EVENT")]
    event: Option<String>,
    /// The plugin's hook calls: skip events that the hooks in the settings record
    #[arg(long, hide = true)]
    plugin: bool,
}

/// The arguments of `teamkeep hook [EVENT] [--plugin]`; nothing for any other command line.
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

pub fn run(args: &Args) -> ExitCode {
    let by = if args.plugin { CalledBy::Plugin } else { CalledBy::Settings };
    hook::run(args.event.as_deref(), by)
}

#[derive(Debug, clap::Args)]
pub struct FinishArgs {
    /// Wait up to a few seconds for this process to end
    #[arg(long, value_name = "PID")]
    after: Option<u32>,
    /// Skip runs that another such process waits for
    #[arg(long)]
    beside: bool,
}

/// With an invalid configuration it archives, but does not prune: the limits may not be the user's.
pub fn finish(args: &FinishArgs) -> ExitCode {
    // The session comes first. Without permission to change it, the priority stays.
    let _ = rustix::process::nice(10);
    let env = Env::read();
    let paths = Paths::find(&env);
    if paths.check().is_err() {
        return ExitCode::FAILURE;
    }
    let clock = Clock::new(env.now.as_deref());
    let (config, problem) = Config::load(&Files::find(&paths, None));
    let recorder =
        Recorder { env, paths, config, problems: Vec::new(), clock, finish: BackgroundMode::Detached };
    let mut notes = hook::finish(&recorder, FinishStart { client: args.after, in_session: args.beside });
    match problem {
        Some(problem) => notes.push(format!("nothing was pruned: {problem}")),
        None => {
            notes.extend(hook::prune(&recorder));
            notes.extend(recorder.ship());
        }
    }
    if notes.is_empty() {
        return ExitCode::SUCCESS;
    }
    diagnostics::note(&recorder.paths.diagnostics(), &recorder.clock, &notes.join("; "));
    ExitCode::FAILURE
}
