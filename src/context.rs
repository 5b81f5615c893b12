//! What a command works with: paths, configuration, clock and terminal, built once and passed by reference.

use std::io::ErrorKind;

use crate::clock::{self, Clock};
use crate::config::{Code, Config, Files, Problem};
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
    /// When the environment makes no sense, the record's place is not safe, or there is a configuration file that
    /// cannot be used. A hook call does not build a context: it goes on with the defaults.
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
    /// When the environment makes no sense, or the record's place is not safe.
    pub fn lenient() -> Result<(Context, Option<Error>)> {
        let context = Context::bare()?;
        let missing = missing_config(&context.env);
        let (config, problem) = Config::load(&context.paths.config);
        Ok((Context { config, ..context }, missing.or(problem)))
    }

    /// The policy's files for the project that this command runs in.
    pub fn policy_files(&self) -> Files {
        Files::find(&self.paths, self.env.project_dir().as_deref())
    }

    /// Builds it without the configuration, for commands that need none: a file that makes no sense must not keep
    /// anybody from taking the hooks out.
    ///
    /// # Errors
    /// When the environment makes no sense, or the record's place is not safe.
    pub fn bare() -> Result<Context> {
        let env = Env::read();
        if let Some(error) = misplaced_store(&env).or_else(|| unreadable_now(&env)) {
            return Err(error);
        }
        let paths = Paths::find(&env);
        paths.check()?;
        let clock = Clock::new(env.now.as_deref());
        Ok(Context { env, paths, config: Config::default(), clock, ui: Ui })
    }
}

/// What the environment says that makes no sense. Without it the default stands.
pub fn oddities(env: &Env) -> Vec<Error> {
    [misplaced_store(env), unreadable_now(env)].into_iter().flatten().collect()
}

fn misplaced_store(env: &Env) -> Option<Error> {
    let store = env.store.as_ref().filter(|store| !store.is_absolute())?;
    let what = format!("TEAMKEEP_HOME is {store:?}, and must be an absolute path");
    Some(Error::new(what).hint("give the whole path, or unset it"))
}

fn unreadable_now(env: &Env) -> Option<Error> {
    let now = env.now.as_deref().filter(|now| clock::parse(now).is_none())?;
    let what = format!("TEAMKEEP_NOW is {now:?}, and must be an RFC 3339 time");
    Some(Error::new(what).hint("write it as 2026-02-03T04:05:06Z, or unset it"))
}

/// What is wrong with the file that `TEAMKEEP_CONFIG` names, before anybody reads it.
pub fn misnamed_config(env: &Env) -> Option<Problem> {
    let named = env.config.as_deref()?;
    let (what, hint) = if !named.is_absolute() {
        let what = "TEAMKEEP_CONFIG names it, and must name an absolute path: a hook runs in any directory";
        (what, "give the whole path, or unset TEAMKEEP_CONFIG")
    } else if named.try_exists().map_or_else(|error| error.kind() == ErrorKind::NotADirectory, |there| !there)
    {
        let hint = "`teamkeep config init` writes one there; or unset TEAMKEEP_CONFIG";
        ("TEAMKEEP_CONFIG names it, and there is no such file", hint)
    } else {
        return None;
    };
    Some(Problem::of_file(Code::Unreadable, named, what).hint(hint))
}

fn missing_config(env: &Env) -> Option<Error> {
    if let Some(config) = env.config.as_ref().filter(|config| !config.is_absolute()) {
        let what = format!("TEAMKEEP_CONFIG is {config:?}, and must be an absolute path");
        return Some(Error::new(what).hint("give the whole path, or unset it"));
    }
    let config = env.config.as_ref().filter(|config| !config.exists())?;
    let what = format!("TEAMKEEP_CONFIG names {}, which is not there", config.display());
    Some(Error::new(what).hint("make that file (it may be empty), or unset TEAMKEEP_CONFIG"))
}
