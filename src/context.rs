//! What a command works with: paths, clock and terminal, built once and passed by reference.

use crate::clock::Clock;
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
    /// The clock.
    pub clock: Clock,
    /// The terminal.
    pub ui: Ui,
}

impl Context {
    /// Builds it from this process's environment.
    ///
    /// # Errors
    /// When the configuration cannot be read.
    pub fn new() -> Result<Context> {
        let env = Env::read();
        let paths = Paths::find(&env);
        let clock = Clock::new(env.now.as_deref());
        Ok(Context { env, paths, clock, ui: Ui })
    }
}
