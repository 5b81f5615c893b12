//! `teamkeep config`. `teamkeep policy` uses [`check`] and [`show`] for its [`Part`].

pub mod show;

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::installation::uncovered_rules;
use super::output::{print, print_json};
use crate::config::schema::schema;
use crate::config::{Code, Excerpts, Files, PROJECT_FILE, Problem, TEMPLATE, layers, misnamed_file};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::fs;
use crate::ui::escape;
use crate::view::{self, count};

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Validate the configuration files
    #[command(
        after_help = "Examples:\n  teamkeep config check\n  teamkeep config check .claude/teamkeep.toml"
    )]
    Check(CheckArgs),
    /// Show the active configuration: each key, its value and origin
    #[command(
        after_help = "Examples:\n  teamkeep config show\n  teamkeep config show --json | jq -r '.settings[] | [.key, .origin.layer] | @tsv'"
    )]
    Show(show::Args),
    /// Print the paths of the configuration files
    #[command(
        after_help = "Examples:\n  teamkeep config path\n  teamkeep config path && teamkeep config check"
    )]
    Path,
    /// Create a configuration file with all keys, their defaults and comments
    #[command(after_help = "Examples:\n  teamkeep config init\n  teamkeep config init --force")]
    Init(InitArgs),
    /// Print the JSON Schema of the configuration file
    #[command(
        after_help = "Examples:\n  teamkeep config schema > teamkeep.schema.json\n  teamkeep config schema | jq '.properties.policy.properties | keys'"
    )]
    Schema,
}

#[derive(Debug, clap::Args)]
struct InitArgs {
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
}

#[derive(Debug, clap::Args)]
pub struct CheckArgs {
    /// Files to check, instead of the active ones; `.claude/teamkeep.toml` is checked as a project's file
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// A part of the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Whole,
    /// `[policy]` and `[[rule]]`.
    Policy,
}

impl Part {
    /// Whether a key such as `policy.max-blocks` or `rule[0].name` is in this part.
    pub fn contains(self, key: &str) -> bool {
        let table = key.split(['.', '[']).next().unwrap_or_default();
        self == Part::Whole || matches!(table, "policy" | "rule")
    }

    pub fn check_command(self) -> &'static str {
        match self {
            Part::Whole => "teamkeep config check",
            Part::Policy => "teamkeep policy check",
        }
    }
}

/// Runs a subcommand. None needs a valid configuration.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    match &args.command {
        Command::Check(args) => return check(context, args, Part::Whole),
        Command::Show(args) => show::run(context, args, Part::Whole)?,
        Command::Path => print_paths(context)?,
        Command::Init(args) => init(context, args)?,
        Command::Schema => print_json(context, &schema())?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints problems to stderr.
pub fn report(context: &Context, problems: &[Problem]) {
    context.ui.print_err(&view::problems(problems, context.ui.columns()));
}

/// `2 errors and 1 warning`.
pub fn counted(problems: &[Problem]) -> String {
    let errors = problems.iter().filter(|problem| problem.is_error()).count();
    let counts = [(errors, "error"), (problems.len() - errors, "warning")];
    let counts = counts.iter().filter(|(number, _)| *number > 0).map(|(number, what)| count(*number, what));
    counts.collect::<Vec<_>>().join(" and ")
}

/// Lists the problems in this part of the files, or of the active ones. Exit code 1 if there are errors.
pub fn check(context: &Context, args: &CheckArgs, part: Part) -> Result<ExitCode> {
    let (mut problems, files) = match args.files.as_slice() {
        [] => active_problems(context)?,
        files => (files.iter().flat_map(|file| problems_of(context, file)).collect(), files.to_vec()),
    };
    let mut excerpts = Excerpts::default();
    // An error in any table disables the whole file, so it concerns every part.
    problems.retain(|problem| {
        problem.is_error() || excerpts.of(problem).is_none_or(|excerpt| part.contains(excerpt.table))
    });
    let files: Vec<String> =
        files.iter().map(|file| escape(&file.display().to_string()).into_owned()).collect();
    let end = match (problems.is_empty(), files.is_empty()) {
        (true, true) => "no configuration file; the defaults apply".to_owned(),
        (true, false) => format!("no problems in {}", files.join(", ")),
        (false, _) => counted(&problems),
    };
    print(context, &format!("{}{end}\n", view::problems(&problems, context.ui.columns())))?;
    Ok(ExitCode::from(u8::from(problems.iter().any(Problem::is_error))))
}

/// The problems of the active files, including rules that the hooks do not cover, and the files that exist.
fn active_problems(context: &Context) -> Result<(Vec<Problem>, Vec<PathBuf>)> {
    let files = context.policy_files();
    let effective = layers::load(&files);
    let mut problems = effective.problems;
    problems.extend(uncovered_rules(context, &effective.config.rule)?);
    if let Some(problem) = misnamed_file(&context.env) {
        problems.retain(|other| other.path != problem.path);
        problems.insert(0, problem);
    }
    let files = [Some(files.user), files.project].into_iter().flatten();
    Ok((problems, files.filter(|path| path.symlink_metadata().is_ok()).collect()))
}

fn problems_of(context: &Context, file: &Path) -> Vec<Problem> {
    if file.symlink_metadata().is_err() {
        return vec![Problem::of_file(Code::Unreadable, file, "no such file")];
    }
    let files = context.policy_files();
    let files = match file.ends_with(PROJECT_FILE) {
        true => Files { project: Some(file.to_path_buf()), ..files },
        false => Files { user: file.to_path_buf(), project: None, ..files },
    };
    let mut problems = layers::load(&files).problems;
    problems.retain(|problem| problem.path == file);
    problems
}

/// Prints the paths of the configuration files. Fails when `TEAMKEEP_CONFIG` cannot be used.
fn print_paths(context: &Context) -> Result<()> {
    let files = context.policy_files();
    let line = |layer: &str, path: &Path| {
        let state = if path.symlink_metadata().is_ok() { "exists" } else { "does not exist" };
        format!("{layer}  {}  ({state})\n", escape(&path.display().to_string()))
    };
    let project = files.project.as_ref().map(|project| line("project", project));
    print(context, &(line("user   ", &files.user) + &project.unwrap_or_default()))?;
    context.check_config_path()
}

fn init(context: &Context, args: &InitArgs) -> Result<()> {
    let path = &context.paths.config;
    if args.force {
        // A symlink is kept: the user stores the file elsewhere.
        let target = path.canonicalize().unwrap_or_else(|_| path.clone());
        fs::write_synced(&target, TEMPLATE.as_bytes())?;
    } else {
        let mut file = fs::create_private(path).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => Error::new(format!("{} already exists", path.display()))
                .hint("to overwrite (loses your settings): teamkeep config init --force"),
            _ => Error::from(error),
        })?;
        file.write_all(TEMPLATE.as_bytes()).and_then(|()| file.sync_all())?;
    }
    context.ui.eprint_line(&format!("wrote {} with every key at its default", path.display()));
    Ok(())
}
