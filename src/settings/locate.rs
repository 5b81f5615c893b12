//! Which settings file a scope means.

use std::path::{Path, PathBuf};

use crate::env::Env;
use crate::error::{Error, Result};
use crate::paths::Paths;

/// Whose sessions the hooks are for, as the client calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Scope {
    /// All sessions of this user: settings.json in the client's directory
    #[default]
    User,
    /// All sessions in this project, for everybody: .claude/settings.json
    Project,
    /// This user's sessions in this project: .claude/settings.local.json
    Local,
}

/// The settings file of a scope, whether it exists or not; an absolute path.
///
/// # Errors
/// When there is no telling where the client's or the current directory is.
pub fn settings_of(scope: Scope, env: &Env, paths: &Paths) -> Result<PathBuf> {
    match scope {
        Scope::User => match &paths.client {
            Some(client) => absolute(&client.join("settings.json")),
            None => Err(Error::new("cannot tell where the client's settings are: HOME is not set")
                .hint("name the file: --settings PATH")),
        },
        Scope::Project => Ok(project(env)?.join(".claude/settings.json")),
        Scope::Local => Ok(project(env)?.join(".claude/settings.local.json")),
    }
}

/// The path, from the root.
///
/// # Errors
/// When it is empty, or relative to a directory that is gone.
pub fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(|error| {
        Error::caused(format!("cannot make the path \"{}\" absolute", path.display()), error)
    })
}

fn project(env: &Env) -> Result<PathBuf> {
    absolute(env.project.as_deref().unwrap_or(Path::new(".")))
}
