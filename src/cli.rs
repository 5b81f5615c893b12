//! The command line. A usage error is exit 64: clap's own 2 would block a tool call.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::commands;
use crate::context::Context;
use crate::error::Result;
use crate::ui::Ui;

/// The flight recorder for Claude Code agent teams.
#[derive(Debug, Parser)]
#[command(name = "teamkeep", version, about, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Record one hook call: the payload comes on stdin
    Hook(commands::hook::Args),
    /// Archive the transcripts of runs that have ended
    #[command(hide = true)]
    Finish(commands::finish::Args),
    /// List the teams on record
    Teams(commands::teams::Args),
    /// Say how the teams stand that are alive now
    Status(commands::status::Args),
    /// Show a run's roster, tasks and mail as they were
    Show(commands::show::Args),
    /// Tell the story of a run
    Replay(commands::replay::Args),
    /// Say what a run amounts to: who did what, how long, at what cost, and what went wrong
    Report(commands::report::Args),
    /// Give back a run's files, or put its unfinished tasks into a task list of the client
    Restore(commands::restore::Args),
    /// Show what was recorded
    Log(commands::log::Args),
    /// Write a run to one file that can be carried elsewhere
    Export(commands::export::Args),
    /// Bring a run on record that was exported elsewhere
    Import(commands::import::Args),
    /// Look whether the record is whole
    Verify(commands::verify::Args),
    /// Look whether everything is set up, and say what mends what is not
    Doctor(commands::doctor::Args),
    /// Remove old runs from the record: a plan first
    Prune(commands::prune::Args),
    /// Look after the configuration file
    Config(commands::config::Args),
    /// Play a small recorded run and tell it; touches nothing of yours
    Demo(commands::demo::Args),
    /// Look after the policy: check, show, trust, pause, allow
    Policy(commands::policy::Args),
    /// Add the hooks to the client's settings
    Install(commands::install::Args),
    /// Take the hooks out of the client's settings again
    Uninstall(commands::uninstall::Args),
}

/// Runs a whole command line.
pub fn main(args: &[OsString]) -> ExitCode {
    let ui = Ui;
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            let usage = error.use_stderr();
            return ExitCode::from(if usage { 64 } else { 0 });
        }
    };
    match dispatch(cli.command) {
        Ok(code) => code,
        Err(error) => {
            ui.report(&error);
            ExitCode::from(error.exit_code())
        }
    }
}

fn dispatch(command: Command) -> Result<ExitCode> {
    // What the client starts goes on whatever the configuration says; what a person starts and needs it does not.
    let (context, bare) = (Context::new, Context::bare);
    // And what looks after the configuration must not stumble over it.
    let lenient = || Context::lenient().map(|(context, _)| context);
    // Whoever looks at the record gets to it with a configuration that makes no sense, too; whatever takes texts out or
    // removes runs as the configuration says does not.
    let reading = || {
        let (context, problem) = Context::lenient()?;
        if let Some(problem) = problem {
            context.ui.report(&problem.hint("the defaults stand in for it"));
        }
        Ok::<_, crate::error::Error>(context)
    };
    match command {
        Command::Hook(args) => Ok(commands::hook::run(&args)),
        Command::Finish(args) => Ok(commands::finish::run(&args)),
        Command::Teams(args) => commands::teams::run(&reading()?, &args),
        Command::Status(args) if args.is_line() => Ok(commands::status::line()),
        Command::Status(args) => commands::status::run(&reading()?, &args),
        Command::Show(args) => commands::show::run(&reading()?, &args),
        Command::Replay(args) => commands::replay::run(&reading()?, &args),
        Command::Report(args) if args.redacts() => commands::report::run(&context()?, &args),
        Command::Report(args) => commands::report::run(&reading()?, &args),
        Command::Restore(args) => commands::restore::run(&reading()?, &args),
        Command::Log(args) => commands::log::run(&reading()?, &args),
        Command::Export(args) if args.redacts() => commands::export::run(&context()?, &args),
        Command::Export(args) => commands::export::run(&reading()?, &args),
        Command::Import(args) => commands::import::run(&reading()?, &args),
        Command::Prune(args) => commands::prune::run(&context()?, &args),
        Command::Verify(args) => commands::verify::run(&reading()?, &args),
        Command::Doctor(args) => commands::doctor::run(&lenient()?, &args),
        Command::Demo(args) => commands::demo::run(&bare()?, &args),
        Command::Policy(args) => commands::policy::run(&lenient()?, &args),
        Command::Config(args) => commands::config::run(&lenient()?, &args),
        Command::Install(args) => commands::install::run(&bare()?, &args),
        Command::Uninstall(args) => commands::uninstall::run(&bare()?, &args),
    }
}
