//! `teamkeep policy`: one file for each subcommand. [`PolicySource`] is the policy that a backtest or an explanation uses.

mod explain;
mod explain_input;
mod test;
pub mod trust;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::commands::output;
use teamkeep_config::{Config, Files, PROJECT_FILE, Policy, Rule, layers};
use teamkeep_model::unicode::escape;
use teamkeep_system::error::{Error, Result};
use teamkeep_terminal::Context;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Trust this project's checks and rules (until the file changes)
    Trust(trust::Args),
    /// Backtest a policy against recorded runs
    Test(test::Args),
    /// Explain what the policy decides for a recorded event, or for a payload on stdin
    Explain(explain::Args),
}

pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    match &args.command {
        Command::Trust(args) => trust::run(context, args),
        Command::Test(args) => test::run(context, args),
        Command::Explain(args) => explain::run(context, args),
    }
}

#[derive(Debug)]
struct PolicySource {
    /// The files, as the user named them.
    name: String,
    policy: Policy,
    rules: Vec<Rule>,
}

#[derive(Debug, clap::Args)]
struct PolicyOptions {
    /// Policy file to use, instead of the active policy
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Project whose `.claude/teamkeep.toml` is applied on top of the policy, instead of the current one
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
}

impl PolicyOptions {
    /// Reads the policy. `current` is the project if none is given.
    fn read(&self, context: &Context, current: Option<&Path>) -> Result<PolicySource> {
        match &self.policy {
            Some(file) => self.read_file(context, file),
            None => {
                let current = current.map(|project| project.join(PROJECT_FILE));
                let project = self.project_file()?.or(current);
                context.check_config_path()?;
                load(context, "the active policy".to_owned(), context.paths.config.clone(), project)
            }
        }
    }

    /// Reads a policy from this file, for the given project.
    fn read_file(&self, context: &Context, file: &Path) -> Result<PolicySource> {
        let name = file.display().to_string();
        let failed = |error| Error::caused(format!("cannot read the policy {name}"), error);
        let Some(project) = self.project_file()? else {
            // It may be a pipe.
            let text = std::fs::read_to_string(file).map_err(failed)?;
            let config = Config::parse(&text, file)?;
            return Ok(PolicySource { name, policy: config.policy, rules: config.rule });
        };
        file.metadata().map_err(failed)?;
        load(context, name, file.to_owned(), Some(project))
    }

    fn project_file(&self) -> Result<Option<PathBuf>> {
        let Some(file) = self.project.as_ref().map(|project| project.join(PROJECT_FILE)) else {
            return Ok(None);
        };
        let what = || format!("cannot read the project's policy {}", file.display());
        file.symlink_metadata().map_err(|error| Error::caused(what(), error))?;
        Ok(Some(file))
    }
}

fn load(context: &Context, name: String, user: PathBuf, project: Option<PathBuf>) -> Result<PolicySource> {
    let mut effective = layers::load(&Files { user, project, ..context.policy_files() });
    if let Some(error) = effective.error() {
        return Err(error);
    }
    let name = match &effective.project {
        Some(project) => {
            effective.problems.retain(|problem| problem.path != context.paths.config);
            output::print_problems(context, &effective.problems);
            format!("{name}, and {}", escape(&project.path.display().to_string()))
        }
        None => name,
    };
    Ok(PolicySource { name, policy: effective.config.policy, rules: effective.config.rule })
}
