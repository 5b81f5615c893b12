//! `teamkeep finish`: what a hook call leaves to a process of its own. Not meant for people, and harmless to them.

use std::process::ExitCode;

use crate::clock::Clock;
use crate::config::Config;
use crate::diagnostics;
use crate::env::Env;
use crate::paths::Paths;
use crate::recorder::{self, Finish, Recorder};

/// Arguments of `teamkeep finish`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Wait for this process to end, a few seconds at most
    #[arg(long, value_name = "PID")]
    after: Option<u32>,
    /// Leave runs that another such process still waits for
    #[arg(long)]
    beside: bool,
}

/// Runs it. As at a hook, a configuration that makes no sense does not keep it from archiving; but by limits that
/// the user did not set nothing is pruned.
pub fn run(args: &Args) -> ExitCode {
    let env = Env::read();
    let paths = Paths::find(&env);
    if paths.check().is_err() {
        return ExitCode::FAILURE;
    }
    let clock = Clock::new(env.now.as_deref());
    let (config, problem) = Config::load(&paths.config);
    let recorder = Recorder { env, paths, config, problems: Vec::new(), clock, finish: Finish::Detached };
    let mut notes = recorder::finish(&recorder, args.after, args.beside);
    match problem {
        Some(problem) => notes.push(format!("nothing was pruned: {problem}")),
        None => notes.extend(recorder::prune(&recorder)),
    }
    if !notes.is_empty() {
        diagnostics::note(&recorder.paths.diagnostics(), &recorder.clock, &notes.join("; "));
    }
    ExitCode::from(u8::from(!notes.is_empty()))
}
