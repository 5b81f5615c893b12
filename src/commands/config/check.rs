//! `teamkeep config check` and `teamkeep policy check`: list the problems of the configuration files.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::Part;
use crate::commands::needs;
use crate::commands::problems::{counted, text};
use crate::commands::read_context::print;
use crate::config::{Code, Excerpts, Files, PROJECT_FILE, Problem, layers, misnamed_file};
use crate::context::Context;
use crate::error::Result;
use crate::ui::escape;

/// Arguments of both.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Files to check, instead of the active ones; `.claude/teamkeep.toml` is checked as a project's file
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// Checks this part of the files, or of the active ones. Exit code 1 if there are errors.
///
/// # Errors
/// When stdout cannot be written.
pub fn run(context: &Context, args: &Args, part: Part) -> Result<ExitCode> {
    let files = &args.files;
    let (mut problems, files_checked) = if files.is_empty() {
        in_force(context)?
    } else {
        (files.iter().flat_map(|file| of(context, file)).collect(), files.clone())
    };
    let mut excerpts = Excerpts::default();
    // An error in any table disables the whole file, so it concerns every part.
    problems.retain(|problem| {
        problem.is_error() || excerpts.of(problem).is_none_or(|excerpt| part.holds(excerpt.table))
    });
    let files_checked: Vec<String> =
        files_checked.iter().map(|file| escape(&file.display().to_string()).into_owned()).collect();
    let end = match (problems.is_empty(), files_checked.is_empty()) {
        (true, true) => "no configuration file; the defaults apply\n".to_owned(),
        (true, false) => format!("no problems in {}\n", files_checked.join(", ")),
        (false, _) => format!("{}\n", counted(&problems)),
    };
    print(context, &(text(context, &problems) + &end))?;
    Ok(ExitCode::from(u8::from(problems.iter().any(Problem::is_error))))
}

/// The problems of the active files, including rules that the hooks do not cover, and the files that exist.
fn in_force(context: &Context) -> Result<(Vec<Problem>, Vec<PathBuf>)> {
    let files = context.policy_files();
    let effective = layers::load(&files);
    let mut problems = effective.problems;
    problems.extend(needs::unasked(context, &effective.config.rule)?);
    if let Some(problem) = misnamed_file(&context.env) {
        problems.retain(|other| other.path != problem.path);
        problems.insert(0, problem);
    }
    let there = |path: &PathBuf| path.symlink_metadata().is_ok();
    Ok((problems, [Some(files.user), files.project].into_iter().flatten().filter(there).collect()))
}

fn of(context: &Context, file: &Path) -> Vec<Problem> {
    if file.symlink_metadata().is_err() {
        return vec![Problem::of_file(Code::Unreadable, file, "no such file")];
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
