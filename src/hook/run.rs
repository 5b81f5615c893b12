//! One call of `teamkeep hook`: from stdin to the exit code.

use std::process::ExitCode;
use std::time::Instant;

use super::{plugin_call, respond, setup};
use crate::payload;
use crate::process::signal_deferral;

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
    signal_deferral::defer_signals();
    let (recorder, unsafe_store) = setup::recorder();
    let hook = &recorder.config.hook;
    let input = payload::read(std::io::stdin(), hook.largest_input as usize, hook.stdin_patience);
    if by == CalledBy::Plugin && plugin_call::should_skip(&input.bytes, event, &recorder) {
        return ExitCode::SUCCESS;
    }
    let start = Instant::now();
    let mut outcome = recorder.record(&input, event);
    respond::note(&recorder, &mut outcome, event, start.elapsed());
    respond::answer(&outcome.answer, unsafe_store.as_ref())
}
