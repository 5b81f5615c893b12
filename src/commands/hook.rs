//! `teamkeep hook [EVENT]`: records one hook call from stdin and prints the response.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::hook::{self, CalledBy};

/// Arguments of `teamkeep hook`.
#[derive(Debug, Default, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Event of the hook: subagent-start, subagent-stop, teammate-idle, task-created, task-completed, pre-tool-use,
    /// post-tool-use, session-start, session-end, stop, stop-failure, user-prompt-submit, pre-compact, file-changed; for
    /// rules, every event of Claude Code except WorktreeCreate and MessageDisplay. The event in the payload takes
    /// precedence
    #[arg(value_name = "EVENT")]
    pub event: Option<String>,
    /// The plugin's hook calls: skip events that the hooks in the settings record
    #[arg(long, hide = true)]
    pub plugin: bool,
}

const EXAMPLES: &str = "Examples:
  teamkeep hook subagent-stop < payload.json
  echo '{\"hook_event_name\": \"Stop\", \"session_id\": \"s\"}' | teamkeep hook";

/// Records one hook call and prints the response.
pub fn run(args: &Args) -> ExitCode {
    let by = if args.plugin { CalledBy::Plugin } else { CalledBy::Settings };
    hook::run(args.event.as_deref(), by)
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
