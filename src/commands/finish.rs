//! `teamkeep finish`: what a hook call leaves to a process of its own. Not meant for people, and harmless to them.

use std::process::ExitCode;

use crate::context::Context;
use crate::diagnostics;
use crate::recorder::{self, Finish, Recorder};

/// Arguments of `teamkeep finish`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Wait for this process to end, a few seconds at most
    #[arg(long, value_name = "PID")]
    after: Option<u32>,
}

/// Runs it.
pub fn run(context: Context, args: &Args) -> ExitCode {
    let Context { env, paths, config, clock, .. } = context;
    let recorder = Recorder { env, paths, config, clock, finish: Finish::Detached };
    let notes = recorder::finish(&recorder, args.after);
    if !notes.is_empty() {
        diagnostics::note(&recorder.paths.diagnostics(), &recorder.clock, &notes.join("; "));
    }
    ExitCode::from(u8::from(!notes.is_empty()))
}
