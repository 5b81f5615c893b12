//! `teamkeep policy check`: everything that is wrong, at once.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::{counted, told};
use crate::commands::needs;
use crate::commands::reading::print;
use crate::config::{Code, Files, PROJECT_FILE, Problem, layers};
use crate::context::{Context, misnamed_config};
use crate::error::Result;
use crate::ui::escape;

/// Arguments of `teamkeep policy check`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Files to check instead of the ones in force; `.claude/teamkeep.toml` is checked as a project's
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

const EXAMPLES: &str = "Examples:
  teamkeep policy check
  teamkeep policy check .claude/teamkeep.toml";

/// Runs it. Exit code 1 when there are errors.
///
/// # Errors
/// When stdout cannot be written.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let (problems, looked) = if args.files.is_empty() {
        in_force(context)?
    } else {
        (args.files.iter().flat_map(|file| of(context, file)).collect(), args.files.clone())
    };
    let looked: Vec<String> =
        looked.iter().map(|file| escape(&file.display().to_string()).into_owned()).collect();
    let end = match (problems.is_empty(), looked.is_empty()) {
        (true, true) => "no configuration file: the defaults are in force\n".to_owned(),
        (true, false) => format!("no problems in {}\n", looked.join(", ")),
        (false, _) => format!("{}\n", counted(&problems)),
    };
    print(context, &(told(&problems) + &end))?;
    Ok(ExitCode::from(u8::from(problems.iter().any(Problem::is_error))))
}

/// The problems of the files in force, including rules that the hooks do not cover, and which files exist.
fn in_force(context: &Context) -> Result<(Vec<Problem>, Vec<PathBuf>)> {
    let files = context.policy_files();
    let effective = layers::load(&files);
    let mut problems = effective.problems;
    problems.extend(needs::unasked(context, &effective.config.rule)?);
    if let Some(problem) = misnamed_config(&context.env) {
        problems.retain(|other| other.path != problem.path);
        problems.insert(0, problem);
    }
    let there = |path: &PathBuf| path.symlink_metadata().is_ok();
    Ok((problems, [Some(files.user), files.project].into_iter().flatten().filter(there).collect()))
}

fn of(context: &Context, file: &Path) -> Vec<Problem> {
    if file.symlink_metadata().is_err() {
        return vec![Problem::of_file(Code::Unreadable, file, "there is no such file")];
    }
    let mut files = context.policy_files();
    if file.ends_with(PROJECT_FILE) {
        files.project = Some(file.to_path_buf());
    } else {
        files = Files { user: file.to_path_buf(), project: None, ..files };
    }
    let mut problems = layers::load(&files).problems;
    problems.retain(|problem| problem.path == file);
    problems
}
