//! Where the policy of a test comes from.

use std::path::{Path, PathBuf};

use super::told;
use crate::config::{Config, Files, PROJECT_FILE, Policy, Problem, Rule, layers};
use crate::context::{Context, misnamed_config};
use crate::error::{Error, Result};
use crate::ui::escape;

/// A policy and what it is called.
#[derive(Debug)]
pub struct Source {
    /// The files, as the user named them.
    pub name: String,
    /// The gates.
    pub policy: Policy,
    /// The rules.
    pub rules: Vec<Rule>,
}

/// Which policy is meant.
#[derive(Debug, Clone, clap::Args)]
pub struct Wanted {
    /// Another policy than the one in force; a project's file tightens it only with --project
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// The project whose `.claude/teamkeep.toml` tightens the policy, instead of the one that is meant by itself
    #[arg(long, value_name = "DIR")]
    pub project: Option<PathBuf>,
}

impl Wanted {
    /// Reads it. `here` is the project that is meant where nothing is named.
    ///
    /// # Errors
    /// When a file cannot be read or makes no sense. What is named must be there.
    pub fn read(&self, context: &Context, here: Option<&Path>) -> Result<Source> {
        let named = self.project.as_deref().map(file_of).transpose()?;
        let meant = || here.filter(|_| self.policy.is_none()).map(|project| project.join(PROJECT_FILE));
        let project = named.or_else(meant);
        let name = match &self.policy {
            Some(file) => file.display().to_string(),
            None => "the policy in force".to_owned(),
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
        // Where it is named alone it may be a pipe.
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
    if let Some(problem) = misnamed_config(&context.env).filter(|_| file.is_none()) {
        let error = Error::caused("cannot use the policy in force", &problem);
        return Err(problem.hint.iter().fold(error, |error, hint| error.hint(hint.clone())));
    }
    let effective = layers::load(&Files { user, project, trust: context.paths.trust() });
    if let Some(error) = effective.error() {
        return Err(error);
    }
    let Some(project) = effective.project else {
        return Ok(Source { name, policy: effective.config.policy, rules: effective.config.rule });
    };
    let left: Vec<Problem> =
        effective.problems.into_iter().filter(|problem| problem.path != context.paths.config).collect();
    if !left.is_empty() {
        context.ui.say(told(&left).trim_end());
    }
    let name = format!("{name}, and {}", escape(&project.path.display().to_string()));
    Ok(Source { name, policy: effective.config.policy, rules: effective.config.rule })
}
