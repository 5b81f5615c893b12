//! The policy that a backtest or an explanation uses.

use std::path::{Path, PathBuf};

use crate::commands::problems::report;
use crate::config::{Config, Files, PROJECT_FILE, Policy, Problem, Rule, layers};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::ui::escape;

/// A policy and its name.
#[derive(Debug)]
pub struct Source {
    /// The files, as the user named them.
    pub name: String,
    /// The gates.
    pub policy: Policy,
    /// The rules.
    pub rules: Vec<Rule>,
}

/// Selects the policy.
#[derive(Debug, Clone, clap::Args)]
pub struct Wanted {
    /// Policy file to use, instead of the active policy
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// Project whose `.claude/teamkeep.toml` is applied on top of the policy, instead of the current one
    #[arg(long, value_name = "DIR")]
    pub project: Option<PathBuf>,
}

impl Wanted {
    /// Reads it. `here` is the project if none is given.
    ///
    /// # Errors
    /// When a file cannot be read or is invalid, or a given file does not exist.
    pub fn read(&self, context: &Context, here: Option<&Path>) -> Result<Source> {
        let named = self.project.as_deref().map(file_of).transpose()?;
        let meant = || here.filter(|_| self.policy.is_none()).map(|project| project.join(PROJECT_FILE));
        let project = named.or_else(meant);
        let name = match &self.policy {
            Some(file) => file.display().to_string(),
            None => "the active policy".to_owned(),
        };
        load(context, name, self.policy.as_deref(), project)
    }

    /// Reads another policy to compare it with, for the same project.
    ///
    /// # Errors
    /// As [`Wanted::read`].
    pub fn against(&self, context: &Context, file: &Path) -> Result<Source> {
        let other = Wanted { policy: Some(file.to_owned()), project: self.project.clone() };
        other.read(context, None)
    }
}

fn file_of(project: &Path) -> Result<PathBuf> {
    let file = project.join(PROJECT_FILE);
    match file.symlink_metadata() {
        Ok(_) => Ok(file),
        Err(error) => {
            Err(Error::caused(format!("cannot read the project's policy {}", file.display()), error))
        }
    }
}

fn load(context: &Context, name: String, file: Option<&Path>, project: Option<PathBuf>) -> Result<Source> {
    let user = file.unwrap_or(&context.paths.config).to_owned();
    if let Some(file) = file {
        // Without a project it may be a pipe.
        let text = || match &project {
            Some(_) => file.metadata().map(|_| None),
            None => std::fs::read_to_string(file).map(Some),
        };
        let text = text()
            .map_err(|error| Error::caused(format!("cannot read the policy {}", file.display()), error))?;
        if let Some(text) = text {
            let config = Config::parse(&text, file)?;
            return Ok(Source { name, policy: config.policy, rules: config.rule });
        }
    }
    if file.is_none() {
        context.check_config_path()?;
    }
    let effective = layers::load(&Files { user, project, ..context.policy_files() });
    if let Some(error) = effective.error() {
        return Err(error);
    }
    let Some(project) = effective.project else {
        return Ok(Source { name, policy: effective.config.policy, rules: effective.config.rule });
    };
    let left: Vec<Problem> =
        effective.problems.into_iter().filter(|problem| problem.path != context.paths.config).collect();
    report(context, &left);
    let name = format!("{name}, and {}", escape(&project.path.display().to_string()));
    Ok(Source { name, policy: effective.config.policy, rules: effective.config.rule })
}
