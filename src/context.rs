//! The environment of a command: paths, configuration, clock and terminal, built once and passed by reference.

use std::io::ErrorKind;

use crate::clock::{self, Clock};
use crate::config::{Code, Config, Files, Problem};
use crate::env::Env;
use crate::error::{Error, Result};
use crate::paths::Paths;
use crate::ui::Ui;
use crate::ui::pager::{Choice, Paged};

/// Everything that a command depends on.
#[derive(Debug)]
pub struct Context {
    /// Environment variables.
    pub env: Env,
    /// Paths of the store, the configuration and Claude Code.
    pub paths: Paths,
    /// The user's configuration.
    pub config: Config,
    /// The clock.
    pub clock: Clock,
    /// The terminal.
    pub ui: Ui,
}

impl Context {
    /// Builds the context from this process's environment.
    ///
    /// # Errors
    /// When an environment variable is invalid, the store is not safe, or the configuration file cannot be used. A hook
    /// call does not build a context: it continues with the defaults.
    pub fn new(ui: Ui) -> Result<Context> {
        match Context::lenient(ui)? {
            (context, None) => Ok(context),
            (_, Some(error)) => Err(error),
        }
    }

    /// Builds the context like [`Context::new`], for commands that manage the configuration: if the file cannot be
    /// used, returns the defaults and the error.
    ///
    /// # Errors
    /// When an environment variable is invalid, or the store is not safe.
    pub fn lenient(ui: Ui) -> Result<(Context, Option<Error>)> {
        let context = Context::bare(ui)?;
        let missing = unusable_config(&context.env);
        let (config, problem) = Config::load(&context.paths.config);
        Ok((Context { config, ..context }, missing.or(problem)))
    }

    /// A writer for long output: see [`Ui::paged`].
    pub fn paged(&self) -> Paged {
        let command = Env::pager();
        let choice = Choice::of(command.as_deref(), self.env.search.as_deref(), Env::has_less_options());
        self.ui.paged(choice)
    }

    /// The policy files for the current project.
    pub fn policy_files(&self) -> Files {
        Files::find(&self.paths, self.env.project_dir().as_deref())
    }

    /// Checks the path in `TEAMKEEP_CONFIG`, for commands that print the configuration: the defaults would mislead.
    ///
    /// # Errors
    /// When the path is not absolute, or the file does not exist.
    pub fn check_config_path(&self) -> Result<()> {
        unusable_config(&self.env).map_or(Ok(()), Err)
    }

    /// Builds the context without the configuration, for commands that do not need it: an invalid file must not prevent
    /// removing the hooks.
    ///
    /// # Errors
    /// When an environment variable is invalid, or the store is not safe.
    pub fn bare(ui: Ui) -> Result<Context> {
        let env = Env::read();
        if let Some(error) = misplaced_store(&env).or_else(|| unreadable_now(&env)) {
            return Err(error);
        }
        let paths = Paths::find(&env);
        paths.check()?;
        let clock = Clock::new(env.now.as_deref());
        Ok(Context { env, paths, config: Config::default(), clock, ui })
    }
}

/// Errors in environment variables whose defaults are used instead.
pub fn oddities(env: &Env) -> Vec<Error> {
    [misplaced_store(env), unreadable_now(env)].into_iter().flatten().collect()
}

fn misplaced_store(env: &Env) -> Option<Error> {
    let store = env.store.as_ref().filter(|store| !store.is_absolute())?;
    let what = format!("invalid TEAMKEEP_HOME {store:?}: not an absolute path");
    Some(Error::new(what).hint("set it to an absolute path, or unset it"))
}

fn unreadable_now(env: &Env) -> Option<Error> {
    let now = env.now.as_deref().filter(|now| clock::parse(now).is_none())?;
    let what = format!("invalid TEAMKEEP_NOW {now:?}: not an RFC 3339 time");
    Some(Error::new(what).hint("set it to a time such as 2026-02-03T04:05:06Z, or unset it"))
}

/// A problem with the path in `TEAMKEEP_CONFIG`, found before the file is read.
pub fn misnamed_config(env: &Env) -> Option<Problem> {
    let named = env.config.as_deref()?;
    let (what, hint) = if !named.is_absolute() {
        let what = "TEAMKEEP_CONFIG is not an absolute path, and hooks run in any directory";
        (what, "set TEAMKEEP_CONFIG to an absolute path, or unset it")
    } else if named.try_exists().map_or_else(|error| error.kind() == ErrorKind::NotADirectory, |there| !there)
    {
        let hint = "create it with `teamkeep config init`, or unset TEAMKEEP_CONFIG";
        ("TEAMKEEP_CONFIG names a file that does not exist", hint)
    } else {
        return None;
    };
    Some(Problem::of_file(Code::Unreadable, named, what).hint(hint))
}

/// The error for a path in `TEAMKEEP_CONFIG` that cannot be used.
fn unusable_config(env: &Env) -> Option<Error> {
    let problem = misnamed_config(env)?;
    let what = match problem.path.is_absolute() {
        true => format!("TEAMKEEP_CONFIG names {}, which does not exist", problem.path.display()),
        false => format!("invalid TEAMKEEP_CONFIG {:?}: not an absolute path", problem.path),
    };
    Some(problem.hint.into_iter().fold(Error::new(what), Error::hint))
}
