//! What a command works with: paths, configuration, clock and terminal, built once and passed by reference.

use crate::clock::Clock;
use crate::config::Config;
use crate::env::Env;
use crate::error::Result;
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
    /// When the record's place is not safe, or there is a configuration file that cannot be used. A hook call does
    /// not build a context: it loads the configuration by itself and goes on with the defaults.
    pub fn new() -> Result<Context> {
        let context = Context::bare()?;
        match Config::load(&context.paths.config) {
            (config, None) => Ok(Context { config, ..context }),
            (_, Some(error)) => Err(error),
        }
    }

    /// Builds it without the configuration, for commands that need none: a file that makes no sense must not keep
    /// anybody from taking the hooks out.
    ///
    /// # Errors
    /// When the record's place is not safe.
    pub fn bare() -> Result<Context> {
        let env = Env::read();
        let paths = Paths::find(&env);
        paths.check()?;
        let clock = Clock::new(env.now.as_deref());
        Ok(Context { env, paths, config: Config::default(), clock, ui: Ui })
    }
}
