//! The command line. A usage error is exit code 64: clap's own 2 would block a tool call.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use crate::commands;
use crate::usage;
use teamkeep_model::time;
use teamkeep_system::env::Env;
use teamkeep_system::error::{EXIT_CODES, Result, USAGE};
use teamkeep_terminal::{self, Context, Ui, explained};

/// Flight recorder and gatekeeper for Claude Code agent teams
#[derive(Debug, Parser)]
#[command(name = "teamkeep", version, about, max_term_width = 100, disable_help_subcommand = true)]
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
    /// Show running teams: agents, tasks, incidents
    Status(commands::status::Args),
    /// Show a run live on the whole terminal, or play it back
    Watch(commands::watch::Args),
    /// List recorded runs
    #[command(visible_alias = "ls", alias = "teams")]
    List(commands::list::Args),
    /// Show what happened in a run, in order
    #[command(alias = "replay")]
    Log(commands::log::Args),
    /// Show the members, tasks and messages of a run
    Show(commands::show::Args),
    /// Summarize a run: outcome, incidents, tasks, time, cost
    Report(commands::report::Args),
    /// Find a text in all runs: messages, tasks, tool uses
    Search(commands::search::Args),
    /// Show which agent wrote each line of a file, and for which task
    Blame(commands::files::BlameArgs),
    /// Continue the unfinished work of a run
    Restore(commands::restore::Args),
    /// Allow a teammate's next shutdown
    Allow(commands::overrides::AllowArgs),
    /// Pause the policy, or one gate, for a time
    Pause(commands::overrides::PauseArgs),
    /// End pauses and allowances
    Resume(commands::overrides::ResumeArgs),
    /// Add the hooks to Claude Code's settings
    Install(commands::install::Args),
    /// Check the setup, and fix it
    Doctor(commands::doctor::Args),
    /// Show, check and create the configuration
    Config(commands::config::Args),
    /// Test and explain the policy
    Policy(commands::policy::Args),
    /// Try teamkeep on an example run
    Demo(commands::demo::Args),
    /// Show the files that agents changed, and their commits
    Files(commands::files::FilesArgs),
    /// Show the facts about a team for an agent that lost its context
    Brief(commands::brief::Args),
    /// Serve recorded data to models, on stdin and stdout (MCP)
    Mcp(commands::mcp::Args),
    /// Export a run to a single portable file
    Export(commands::export::ExportArgs),
    /// Import a run that was exported on another machine
    Import(commands::export::ImportArgs),
    /// Delete old runs (dry run unless --yes)
    Prune(commands::prune::Args),
    /// Check the recorded data for damage
    Verify(commands::verify::Args),
    /// Remove the hooks from Claude Code's settings
    Uninstall(commands::uninstall::Args),
    /// Send recorded data to an object store or OpenTelemetry
    Ship(commands::ship::Args),
    /// Record one hook call from stdin
    #[command(hide = true)]
    Hook(commands::hook::Args),
    /// Print the completion script of a shell
    #[command(hide = true)]
    Completions(commands::completions::Args),
    /// Show the help of a command, or with --all every command
    #[command(hide = true)]
    Help(HelpArgs),
    /// Send notifications about a running team
    #[command(hide = true)]
    Notify(commands::notify::Args),
    /// Archive the transcripts of runs that have ended
    #[command(hide = true)]
    Finish(commands::hook::FinishArgs),
}

#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
struct HelpArgs {
    /// Command
    command: Vec<String>,
    /// List every command
    #[arg(long)]
    all: bool,
}

/// The commands that `teamkeep` lists.
pub const GROUPS: &[(&str, &[&str])] = &[
    ("Look at a team", &["status", "watch", "list", "log", "show", "report", "search", "blame"]),
    ("Act", &["restore", "allow", "pause", "resume"]),
    ("Set up", &["install", "doctor", "config", "policy", "demo"]),
];

/// The commands that only `teamkeep help --all` lists.
pub const MORE: &[(&str, &[&str])] =
    &[("More", &["files", "brief", "mcp", "export", "import", "prune", "verify", "uninstall", "ship"])];

/// The documented commands that no list shows: programs call them.
pub const FOR_PROGRAMS: &[&str] = &["hook", "completions"];

/// Whether a command has a page: `help` and the commands of background processes have none.
pub fn is_documented(command: &clap::Command) -> bool {
    FOR_PROGRAMS.contains(&command.get_name()) || (!command.is_hide_set() && command.get_name() != "help")
}

const LAST_LINE: &str = "Help for a command: teamkeep help COMMAND. All commands: teamkeep help --all";

pub fn main(args: &[OsString]) -> ExitCode {
    if let Some(shell) = Env::completion_shell() {
        return commands::completions::complete(parser(GROUPS), &shell, args);
    }
    let cli = match parsed(args) {
        Ok(Cli { command: Command::Help(help), options }) => {
            options.ui();
            return show_help(&help);
        }
        Ok(cli) => cli,
        Err(error) => return printed(&error, args),
    };
    let ui = cli.options.ui();
    // A hook call must not read the files of the time zone.
    if !cli.options.utc && !matches!(cli.command, Command::Hook(_) | Command::Finish(_)) {
        time::use_local();
    }
    match dispatch(cli.command, ui, &cli.options) {
        Ok(code) => code,
        Err(error) => {
            let error = explained(error);
            ui.report(&error);
            ExitCode::from(error.exit_code())
        }
    }
}

fn parsed(args: &[OsString]) -> clap::error::Result<Cli> {
    parser(GROUPS).try_get_matches_from(args).and_then(|matches| Cli::from_arg_matches(&matches))
}

/// Prints the requested help, or the error in the command line.
fn printed(error: &clap::Error, args: &[OsString]) -> ExitCode {
    match usage::explain(error, &parser(&[]), args) {
        Some(error) => {
            let quiet = args.iter().any(|arg| arg == "-q" || arg == "--quiet");
            Ui { quiet, ..Ui::default() }.report(&error);
        }
        None => drop(error.print()),
    }
    ExitCode::from(if error.use_stderr() { USAGE } else { 0 })
}

/// `teamkeep help COMMAND` prints what `teamkeep COMMAND --help` prints.
fn show_help(help: &HelpArgs) -> ExitCode {
    if help.all {
        let _ = parser(&[GROUPS, MORE].concat()).print_help();
        return ExitCode::SUCCESS;
    }
    let words = ["teamkeep"].into_iter().chain(help.command.iter().map(String::as_str)).chain(["--help"]);
    let words: Vec<OsString> = words.map(OsString::from).collect();
    parsed(&words).map_or_else(|error| printed(&error, &words), |_| ExitCode::SUCCESS)
}

/// The parser, with these commands in groups.
fn parser(groups: &[(&str, &[&str])]) -> clap::Command {
    let command = Cli::command();
    let heading = command.get_styles().get_header().to_owned();
    let literal = command.get_styles().get_literal().to_owned();
    let mut list = String::new();
    for (title, names) in groups {
        list.push_str(&format!("{heading}{title}:{heading:#}\n"));
        for below in names.iter().filter_map(|name| command.find_subcommand(name)) {
            let about = below.get_about().map(ToString::to_string).unwrap_or_default();
            let aliases: Vec<&str> = below.get_visible_aliases().collect();
            let aliases =
                if aliases.is_empty() { String::new() } else { format!(" [alias: {}]", aliases.join(", ")) };
            list.push_str(&format!("  {literal}{:9}{literal:#} {about}{aliases}\n", below.get_name()));
        }
        list.push('\n');
    }
    let codes: String = EXIT_CODES.iter().map(|(code, about)| format!("\n  {code:<2}  {about}")).collect();
    command
        .mut_subcommands(with_short_examples)
        .mut_subcommands(usage::with_negative_numbers)
        .help_template(format!(
            "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}{heading}Options:{heading:#}\n{{options}}{{after-help}}"
        ))
        .after_help(LAST_LINE)
        .after_long_help(format!("{LAST_LINE}\n\n{heading}Exit codes:{heading:#}{codes}"))
}

/// Shows the examples of `--help` with `-h`, too.
fn with_short_examples(command: clap::Command) -> clap::Command {
    let long = command.get_after_long_help().map(ToString::to_string);
    let Some(long) = long.filter(|_| command.get_after_help().is_none()) else { return command };
    let is_example = |line: &&str| line.is_empty() || line.starts_with("  ") || *line == "Examples:";
    let examples: Vec<&str> = long.lines().take_while(is_example).collect();
    command.after_help(examples.join("\n").trim_end().to_owned())
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
        ui.warn_of(&problem.hint("until it is fixed, the defaults are used"));
    }
    context.check_store()?;
    Ok(context)
}

fn dispatch(command: Command, ui: Ui, options: &Options) -> Result<ExitCode> {
    // Commands that delete data or redact texts as configured need a valid configuration.
    let strict = || Context::new(ui).and_then(|context| context.check_store().map(|()| context));
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
        Command::Log(args) => return commands::log::run(&reading()?, &args),
        Command::Restore(args) => return commands::restore::run(&reading()?, &args),
        Command::Prune(args) => return commands::prune::run(&strict()?, &args),
        Command::Verify(args) => return commands::verify::run(&reading()?, &args),
        Command::Doctor(args) => return commands::doctor::run(&lenient()?, &args),
        Command::Policy(args) => return commands::policy::run(&lenient()?, &args),
        Command::Config(args) => return commands::config::run(&lenient()?, &args),
        Command::Ship(args) => return commands::ship::run(&bare()?, &options.passed_on(), &args),
        Command::Notify(args) => return commands::notify::run(strict()?, &args),
        Command::Allow(args) => commands::overrides::allow(&lenient()?, &args)?,
        Command::Pause(args) => commands::overrides::pause(&lenient()?, &args)?,
        Command::Resume(args) => commands::overrides::resume(&lenient()?, &args)?,
        // Answered before.
        Command::Help(_) => {}
        Command::List(args) => commands::list::run(&reading()?, &args)?,
        Command::Brief(args) => commands::brief::run(&reading()?, &args)?,
        Command::Files(args) => commands::files::files(&reading()?, &args)?,
        Command::Blame(args) => commands::files::blame(&reading()?, &args)?,
        Command::Show(args) => commands::show::run(&reading()?, &args)?,
        Command::Report(args) if args.redact => commands::report::run(&strict()?, &args)?,
        Command::Report(args) => commands::report::run(&reading()?, &args)?,
        Command::Mcp(args) => commands::mcp::run(strict()?, &args)?,
        Command::Search(args) => commands::search::run(&reading()?, &args)?,
        Command::Export(args) if args.redact => commands::export::export(&strict()?, &args)?,
        Command::Export(args) => commands::export::export(&reading()?, &args)?,
        Command::Import(args) => commands::export::import(&reading()?, &args)?,
        Command::Completions(args) => commands::completions::run(&bare()?, &args)?,
        Command::Demo(args) => commands::demo::run(&bare()?, &args)?,
        Command::Install(args) => commands::install::run(&bare()?, &args)?,
        Command::Uninstall(args) => commands::uninstall::run(&bare()?, &args)?,
    }
    Ok(ExitCode::SUCCESS)
}
