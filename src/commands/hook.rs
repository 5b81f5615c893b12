//! `teamkeep hook [EVENT]`: records one hook call from stdin and prints the response. `teamkeep finish`, which is hidden
//! from users: the work that a hook call leaves to a process of its own.

use std::ffi::OsString;
use std::process::ExitCode;

use teamkeep_hook::{self as hook, CalledBy, FinishStart, Invocation};

#[derive(Debug, clap::Args)]
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

/// The call, if a command line is `teamkeep hook [EVENT] [--plugin]`.
pub fn plain(args: &[OsString]) -> Option<(Option<String>, CalledBy)> {
    let words: Vec<&str> = args.iter().skip(1).map(|word| word.to_str()).collect::<Option<_>>()?;
    let call = match words.as_slice() {
        ["hook", words @ .., "--plugin"] => hook::hook_call(words, CalledBy::Plugin),
        ["hook", words @ ..] => hook::hook_call(words, CalledBy::Settings),
        _ => return None,
    };
    match call {
        Invocation::Hook { event, by } => Some((event, by)),
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
    /// The session that has ended. Runs of others are left to their processes
    #[arg(long, value_name = "SESSION")]
    ended: Option<String>,
}

pub fn finish(args: &FinishArgs) -> ExitCode {
    hook::finish_in_background(FinishStart { client: args.after, ended_session: args.ended.clone() })
}
