//! Finds the settings file of a scope.

use std::path::{Path, PathBuf};

use crate::env::Env;
use crate::error::{Error, Result};
use crate::paths::Paths;

/// The sessions that the hooks apply to, in the terms of Claude Code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Scope {
    /// All your sessions: ~/.claude/settings.json
    #[default]
    User,
    /// All sessions in this project, for everyone: .claude/settings.json
    Project,
    /// Your sessions in this project: .claude/settings.local.json
    Local,
}

/// The absolute path of a scope's settings file, whether it exists or not.
///
/// # Errors
/// Claude Code's directory or the current directory is unknown.
pub fn settings_of(scope: Scope, env: &Env, paths: &Paths) -> Result<PathBuf> {
    match scope {
        Scope::User => match &paths.client {
            Some(client) => absolute(&client.join("settings.json")),
            None => Err(Error::new("cannot find Claude Code's settings: HOME is not set")
                .hint("set the file: --settings PATH")),
        },
        Scope::Project => Ok(project(env)?.join(".claude/settings.json")),
        Scope::Local => Ok(project(env)?.join(".claude/settings.local.json")),
    }
}

/// The absolute path.
///
/// # Errors
/// It is empty, or relative to a directory that no longer exists.
pub fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(|error| {
        Error::caused(format!("cannot resolve \"{}\" to an absolute path", path.display()), error)
    })
}

fn project(env: &Env) -> Result<PathBuf> {
    absolute(env.project.as_deref().unwrap_or(Path::new(".")))
}
