//! `teamkeep finish`: the work that a hook call leaves to a process of its own. It is hidden from users.

use std::process::ExitCode;

use crate::clock::Clock;
use crate::config::Config;
use crate::diagnostics;
use crate::env::Env;
use crate::hook::{self, BackgroundMode, FinishStart, Recorder};
use crate::paths::Paths;

/// Arguments of `teamkeep finish`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Wait up to a few seconds for this process to end
    #[arg(long, value_name = "PID")]
    after: Option<u32>,
    /// Skip runs that another such process waits for
    #[arg(long)]
    beside: bool,
}

/// Runs it. With an invalid configuration it archives, but does not prune: the limits may not be the user's.
pub fn run(args: &Args) -> ExitCode {
    // The session comes first. Without permission to change it, the priority stays.
    let _ = rustix::process::nice(10);
    let env = Env::read();
    let paths = Paths::find(&env);
    if paths.check().is_err() {
        return ExitCode::FAILURE;
    }
    let clock = Clock::new(env.now.as_deref());
    let (config, problem) = Config::load(&paths.config);
    let recorder =
        Recorder { env, paths, config, problems: Vec::new(), clock, finish: BackgroundMode::Detached };
    let mut notes = hook::finish(&recorder, FinishStart { client: args.after, in_session: args.beside });
    match problem {
        Some(problem) => notes.push(format!("nothing was pruned: {problem}")),
        None => notes.extend(hook::prune(&recorder)),
    }
    if !notes.is_empty() {
        diagnostics::note(&recorder.paths.diagnostics(), &recorder.clock, &notes.join("; "));
    }
    ExitCode::from(u8::from(!notes.is_empty()))
}
