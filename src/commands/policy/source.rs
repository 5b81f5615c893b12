//! Where the policy of a test comes from.

use std::path::Path;

use crate::config::{Config, Policy, Rule};
use crate::context::Context;
use crate::error::{Error, Result};

/// A policy and what it is called.
#[derive(Debug)]
pub struct Source {
    /// The file, as the user named it.
    pub name: String,
    /// The gates.
    pub policy: Policy,
    /// The rules.
    pub rules: Vec<Rule>,
}

/// Reads a policy: this file's, else the one that is in force.
///
/// # Errors
/// When the file cannot be read or makes no sense. One that is named must be there.
pub fn read(context: &Context, file: Option<&Path>) -> Result<Source> {
    let name = file.map_or_else(|| "the policy in force".to_owned(), |file| file.display().to_string());
    let config = match file {
        Some(file) => Config::parse(&text(file)?, file)?,
        None => match Config::load(&context.paths.config) {
            (config, None) => config,
            (_, Some(error)) => return Err(error),
        },
    };
    Ok(Source { name, policy: config.policy, rules: config.rule })
}

fn text(file: &Path) -> Result<String> {
    std::fs::read_to_string(file)
        .map_err(|error| Error::caused(format!("cannot read the policy {}", file.display()), error))
}
