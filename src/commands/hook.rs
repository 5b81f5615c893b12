//! `teamkeep hook [EVENT]`: one payload on stdin, recorded and answered.

mod plugin;
mod ready;
mod told;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Instant;

use crate::payload;
use crate::process::outlast;

/// Arguments of `teamkeep hook`.
#[derive(Debug, Default, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The event: subagent-start, subagent-stop, teammate-idle, task-created, task-completed, pre-tool-use,
    /// post-tool-use, session-start, session-end, stop, stop-failure, user-prompt-submit, pre-compact, file-changed;
    /// for rules, also notification and every other event of Claude Code except WorktreeCreate and MessageDisplay. Where
    /// the payload names another one, or this one is not known, the payload decides
    #[arg(value_name = "EVENT")]
    pub event: Option<String>,
    /// The call is the plugin's: an event that the settings' own hooks record is left to them
    #[arg(long, hide = true)]
    pub plugin: bool,
}

const EXAMPLES: &str = "Examples:
  teamkeep hook subagent-stop < payload.json
  echo '{\"hook_event_name\": \"Stop\", \"session_id\": \"s\"}' | teamkeep hook";

/// Handles one hook call.
pub fn run(args: &Args) -> ExitCode {
    outlast::begin();
    let (recorder, unsafe_store) = ready::recorder();
    let hook = &recorder.config.hook;
    let input = payload::read(std::io::stdin(), hook.largest_input as usize, hook.stdin_patience);
    let event = args.event.as_deref();
    if args.plugin && plugin::leaves(&input.bytes, event, &recorder) {
        return ExitCode::SUCCESS;
    }
    let start = Instant::now();
    let mut outcome = recorder.record(&input, event);
    told::note(&recorder, &mut outcome, event, start.elapsed());
    told::answer(&outcome.answer, unsafe_store.as_ref())
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
