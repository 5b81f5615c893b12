//! What a command works with: paths, configuration, clock and terminal, built once and passed by reference.

use crate::clock::Clock;
use crate::config::{Config, Files};
use crate::env::Env;
use crate::error::{Error, Result};
use crate::paths::Paths;
use crate::ui::Ui;

/// The surroundings of one command.
#[derive(Debug)]
pub struct Context {
    /// What the environment says.
    pub env: Env,
    /// Where things are.
    pub paths: Paths,
    /// What the user has set.
    pub config: Config,
    /// The clock.
    pub clock: Clock,
    /// The terminal.
    pub ui: Ui,
}

impl Context {
    /// Builds it from this process's environment.
    ///
    /// # Errors
    /// When the record's place is not safe, or there is a configuration file that cannot be used. A hook call does not build a context: it
    /// loads the configuration by itself and goes on with the defaults.
    pub fn new() -> Result<Context> {
        match Context::lenient()? {
            (context, None) => Ok(context),
            (_, Some(error)) => Err(error),
        }
    }

    /// Builds it as [`Context::new`] does, for commands that look after the configuration: one that cannot be used means
    /// the defaults, and what is wrong with it.
    ///
    /// # Errors
    /// When the record's place is not safe.
    pub fn lenient() -> Result<(Context, Option<Error>)> {
        let env = Env::read();
        let paths = Paths::find(&env);
        paths.check()?;
        let clock = Clock::new(env.now.as_deref());
        let (config, problem) = Config::load(&paths.config);
        Ok((Context { env, paths, config, clock, ui: Ui }, problem))
    }

    /// The policy's files for the project that this command runs in.
    pub fn policy_files(&self) -> Files {
        let here = || std::env::current_dir().ok();
        Files::find(&self.paths, self.env.project.clone().or_else(here).as_deref())
    }
}
