//! The command line. A usage error is exit code 64: clap's own 2 would block a tool call.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use crate::commands;
use crate::context::Context;
use crate::ui::Ui;
use teamkeep_core::error::{EXIT_CODES, Result, USAGE};
use teamkeep_core::sys::clock;
use teamkeep_core::sys::env::Env;

/// Flight recorder and gatekeeper for Claude Code agent teams
#[derive(Debug, Parser)]
#[command(name = "teamkeep", version, about, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    options: Options,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
struct Options {
    /// Use colors: auto, always or never
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_default_value = true,
        hide_possible_values = true,
        display_order = 1_000
    )]
    color: Color,
    /// Do not start a pager
    #[arg(long, global = true, display_order = 1_001)]
    no_pager: bool,
    /// Suppress notes, hints and warnings on stderr
    #[arg(short, long, global = true, display_order = 1_002)]
    quiet: bool,
    /// Show times in UTC, and read times without a zone as UTC
    #[arg(long, global = true, display_order = 1_003)]
    utc: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List recorded runs
    #[command(visible_alias = "ls", alias = "teams")]
    List(commands::list::Args),
    /// Show the status of running teams
    Status(commands::status::Args),
    /// Show a run live, or play it back: a board of agents, tasks and messages on the whole terminal
    Watch(commands::watch::Args),
    /// Show the members, tasks and messages of a run
    Show(commands::show::Args),
    /// Show the facts about a team for an agent that has lost its context
    Brief(commands::brief::Args),
    /// Show what happened in a run, in order
    Replay(commands::replay::Args),
    /// Summarize a run: verdict, incidents, agents, tasks, messages, time, cost
    Report(commands::report::Args),
    /// Show recorded events
    Log(commands::log::Args),
    /// Search messages, prompts, tasks, tool uses and transcripts of all runs
    Search(commands::search::Args),
    /// Serve recorded data to models, on stdin and stdout (MCP)
    Mcp(commands::mcp::Args),
    /// Show which agents changed which files, and their commits
    Files(commands::files::Args),
    /// Show which agent changed a file, or wrote a line, when and for which task
    Blame(commands::blame::Args),
    /// Inspect, test and pause the policy
    Policy(commands::policy::Args),
    /// Export a run to a single portable file
    Export(commands::export::Args),
    /// Import a run that was exported on another machine
    Import(commands::import::Args),
    /// Restore a run's files, its unfinished tasks, or the work of removed git worktrees
    Restore(commands::restore::Args),
    /// Delete old runs (dry run unless --yes)
    Prune(commands::prune::Args),
    /// Check the recorded data for damage
    Verify(commands::verify::Args),
    /// Check the installation and suggest fixes
    Doctor(commands::doctor::Args),
    /// Add teamkeep's hooks to Claude Code's settings
    Install(commands::install::Args),
    /// Remove teamkeep's hooks from Claude Code's settings
    Uninstall(commands::uninstall::Args),
    /// Manage the configuration file
    Config(commands::config::Args),
    /// Test the notifications about incidents
    Notify(commands::notify::Args),
    /// Send recorded data to an object store or an OpenTelemetry receiver
    Ship(commands::ship::Args),
    /// Print the completion script of a shell
    Completions(commands::completions::Args),
    /// Replay a bundled example run (reads and writes none of your files)
    Demo(commands::demo::Args),
    /// Record one hook call from stdin
    Hook(commands::hook::Args),
    /// Archive the transcripts of runs that have ended
    #[command(hide = true)]
    Finish(commands::hook::FinishArgs),
}

/// The commands as `teamkeep --help` groups them.
pub const GROUPS: &[(&str, &[&str])] = &[
    (
        "Inspect",
        &[
            "list", "status", "watch", "show", "brief", "replay", "report", "log", "search", "files",
            "blame", "mcp",
        ],
    ),
    ("Policy", &["policy"]),
    ("Maintain", &["export", "import", "restore", "prune", "verify", "doctor"]),
    ("Set up", &["install", "uninstall", "config", "notify", "ship", "completions", "demo"]),
    ("Run by Claude Code", &["hook"]),
];

pub fn main(args: &[OsString]) -> ExitCode {
    if let Some(shell) = Env::completion_shell() {
        return commands::completions::complete(parser(), &shell, args);
    }
    let parsed = parser().try_get_matches_from(args).and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { USAGE } else { 0 });
        }
    };
    // A hook call must not read the files of the time zone.
    if !cli.options.utc && !matches!(cli.command, Command::Hook(_) | Command::Finish(_)) {
        clock::use_local();
    }
    let ui = cli.options.ui();
    match dispatch(cli.command, ui, &cli.options) {
        Ok(code) => code,
        Err(error) => {
            ui.report(&error);
            ExitCode::from(error.exit_code())
        }
    }
}

/// The parser, with the commands in groups.
fn parser() -> clap::Command {
    let command = Cli::command();
    let heading = command.get_styles().get_header().to_owned();
    let literal = command.get_styles().get_literal().to_owned();
    let mut groups = String::new();
    for (title, names) in GROUPS {
        groups.push_str(&format!("{heading}{title}:{heading:#}\n"));
        for below in names.iter().filter_map(|name| command.find_subcommand(name)) {
            let about = below.get_about().map(ToString::to_string).unwrap_or_default();
            let aliases: Vec<&str> = below.get_visible_aliases().collect();
            let aliases =
                if aliases.is_empty() { String::new() } else { format!(" [alias: {}]", aliases.join(", ")) };
            groups.push_str(&format!("  {literal}{:11}{literal:#} {about}{aliases}\n", below.get_name()));
        }
        groups.push('\n');
    }
    let codes: String = EXIT_CODES.iter().map(|(code, about)| format!("\n  {code:<2}  {about}")).collect();
    command
        .help_template(format!(
            "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}{heading}Options:{heading:#}\n{{options}}{{after-help}}"
        ))
        .after_help("Run `teamkeep <COMMAND> --help` for the options and examples of a command.")
        .after_long_help(format!(
            "Run `teamkeep <COMMAND> --help` for the options and examples of a command.\n\n\
             {heading}Exit codes:{heading:#}{codes}"
        ))
}

impl Options {
    /// The options as a command line, for a program that has those of them that concern it.
    fn passed_on(&self) -> Vec<OsString> {
        let color = match self.color {
            Color::Auto => "auto",
            Color::Always => "always",
            Color::Never => "never",
        };
        let switches = [("--quiet", self.quiet), ("--utc", self.utc)];
        let switches = switches.into_iter().filter(|(_, is_on)| *is_on).map(|(name, _)| name);
        ["--color", color].into_iter().chain(switches).map(OsString::from).collect()
    }

    fn ui(&self) -> Ui {
        match self.color {
            Color::Auto => anstream::ColorChoice::Auto,
            Color::Always => anstream::ColorChoice::Always,
            Color::Never => anstream::ColorChoice::Never,
        }
        .write_global();
        Ui { quiet: self.quiet, unpaged: self.no_pager }
    }
}

/// The context of a command that reads. A configuration file with errors does not stop it: it warns and uses the defaults.
fn reading(ui: Ui) -> Result<Context> {
    let (context, problem) = Context::lenient(ui)?;
    if let Some(problem) = problem {
        ui.warn_of(&problem.hint("the defaults are used; for every problem: teamkeep config check"));
    }
    Ok(context)
}

fn dispatch(command: Command, ui: Ui, options: &Options) -> Result<ExitCode> {
    // Commands that delete data or redact texts as configured need a valid configuration.
    let strict = || Context::new(ui);
    // Commands that check or edit the configuration report its errors themselves.
    let lenient = || Context::lenient(ui).map(|(context, _)| context);
    let bare = || Context::bare(ui);
    let reading = || reading(ui);
    match command {
        Command::Hook(args) => return Ok(commands::hook::run(&args)),
        Command::Finish(args) => return Ok(commands::hook::finish(&args)),
        Command::Status(args) if args.line => return Ok(commands::status::line()),
        Command::Status(args) => return commands::status::run(&reading()?, &args),
        Command::Watch(args) => return commands::watch::run(&reading()?, &args),
        Command::Replay(args) => return commands::replay::run(&reading()?, &args),
        Command::Restore(args) => return commands::restore::run(&reading()?, &args),
        Command::Prune(args) => return commands::prune::run(&strict()?, &args),
        Command::Verify(args) => return commands::verify::run(&reading()?, &args),
        Command::Doctor(args) => return commands::doctor::run(&lenient()?, &args),
        Command::Policy(args) => return commands::policy::run(&lenient()?, &args),
        Command::Config(args) => return commands::config::run(&lenient()?, &args),
        Command::Ship(args) => return commands::ship::run(&bare()?, &options.passed_on(), &args),
        Command::Notify(args) => return commands::notify::run(strict()?, &args),
        Command::List(args) => commands::list::run(&reading()?, &args)?,
        Command::Brief(args) => commands::brief::run(&reading()?, &args)?,
        Command::Files(args) => commands::files::run(&reading()?, &args)?,
        Command::Blame(args) => commands::blame::run(&reading()?, &args)?,
        Command::Show(args) => commands::show::run(&reading()?, &args)?,
        Command::Report(args) if args.redact => commands::report::run(&strict()?, &args)?,
        Command::Report(args) => commands::report::run(&reading()?, &args)?,
        Command::Log(args) => commands::log::run(&reading()?, &args)?,
        Command::Mcp(args) => commands::mcp::run(strict()?, &args)?,
        Command::Search(args) => commands::search::run(&reading()?, &args)?,
        Command::Export(args) if args.redact => commands::export::run(&strict()?, &args)?,
        Command::Export(args) => commands::export::run(&reading()?, &args)?,
        Command::Import(args) => commands::import::run(&reading()?, &args)?,
        Command::Completions(args) => commands::completions::run(&bare()?, &args)?,
        Command::Demo(args) => commands::demo::run(&bare()?, &args)?,
        Command::Install(args) => commands::install::run(&bare()?, &args)?,
        Command::Uninstall(args) => commands::uninstall::run(&bare()?, &args)?,
    }
    Ok(ExitCode::SUCCESS)
}
