//! `teamkeep policy`: one file a subcommand; [`scope`] and [`record`] are what some of them share.

mod allow;
mod cases;
mod check;
mod explain;
mod path;
mod pause;
mod pauses;
mod record;
mod resume;
mod scope;
mod show;
mod source;
mod test;
mod trust;

use std::process::ExitCode;

use crate::config::Problem;
use crate::context::Context;
use crate::error::Result;
use crate::ui::escape;

/// Arguments of `teamkeep policy`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Find everything that is wrong with the policy's files
    Check(check::Args),
    /// Show the policy in force: every key, its value, where it comes from
    Show(show::Args),
    /// Let a project's checks and rules run, as they are now
    Trust(trust::Args),
    /// Run recorded runs through a policy: what it would have blocked, and what really happened
    Test(test::Args),
    /// Show how the policy decides on a payload that comes on stdin
    Explain(explain::Args),
    /// Let a gate, or all, hold nothing back for a time
    Pause(pause::Args),
    /// End pauses before their time
    Resume(resume::Args),
    /// Let one occasion through
    Allow(allow::Args),
    /// List what is let through at present
    Pauses(pauses::Args),
}

/// Runs it.
///
/// # Errors
/// As the subcommand fails.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    match &args.command {
        Command::Check(args) => check::run(context, args),
        Command::Show(args) => show::run(context, args),
        Command::Trust(args) => trust::run(context, args),
        Command::Test(args) => test::run(context, args),
        Command::Explain(args) => explain::run(context, args),
        Command::Pause(args) => pause::run(context, args),
        Command::Resume(args) => resume::run(context, args),
        Command::Allow(args) => allow::run(context, args),
        Command::Pauses(args) => pauses::run(context, args),
    }
}

/// Problems as a compiler tells them, safe for a terminal.
fn told(problems: &[Problem]) -> String {
    let mut text = String::new();
    for problem in problems {
        text.push_str(&format!("{}\n", escape(&problem.to_string())));
        if let Some(hint) = &problem.hint {
            text.push_str(&format!("  hint: {}\n", escape(hint)));
        }
    }
    text
}

/// Prints problems to stderr.
fn report(context: &Context, problems: &[Problem]) {
    for line in told(problems).lines() {
        context.ui.say(line);
    }
}

/// `2 errors and 1 warning`.
fn counted(problems: &[Problem]) -> String {
    let count = |count: usize, what: &str| match count {
        0 => None,
        1 => Some(format!("1 {what}")),
        more => Some(format!("{more} {what}s")),
    };
    let errors = problems.iter().filter(|problem| problem.is_error()).count();
    let all = [count(errors, "error"), count(problems.len() - errors, "warning")];
    all.into_iter().flatten().collect::<Vec<_>>().join(" and ")
}
