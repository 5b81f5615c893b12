//! The environment of a command: paths, configuration, clock and terminal, built once and passed by reference.

use crate::pager::{Choice, Paged};
use crate::ui::Ui;
use teamkeep_config::{self as config, Config, Files};
use teamkeep_store::access;
use teamkeep_system::clock::Clock;
use teamkeep_system::env::Env;
use teamkeep_system::error::{Error, Result};
use teamkeep_system::paths::Paths;

#[derive(Debug)]
pub struct Context {
    pub env: Env,
    pub paths: Paths,
    pub config: Config,
    pub clock: Clock,
    pub ui: Ui,
}

impl Context {
    pub fn new(ui: Ui) -> Result<Context> {
        let (context, problem) = Context::lenient(ui)?;
        problem.map_or(Ok(context), Err)
    }

    /// Builds the context like [`Context::new`], for commands that manage the configuration: if the file cannot be
    /// used, returns the defaults and the error.
    pub fn lenient(ui: Ui) -> Result<(Context, Option<Error>)> {
        let context = Context::bare(ui)?;
        let missing = context.check_config_path().err();
        let (config, problem) = Config::load(&Files::find(&context.paths, None));
        Ok((Context { config, ..context }, missing.or(problem)))
    }

    /// Builds the context without the configuration, for commands that do not need it: an invalid file must not prevent
    /// removing the hooks.
    pub fn bare(ui: Ui) -> Result<Context> {
        let env = Env::read();
        if let Some(error) = env.problems().into_iter().next() {
            return Err(error);
        }
        let paths = Paths::find(&env);
        paths.check()?;
        let clock = Clock::new(env.now.as_deref());
        Ok(Context { env, paths, config: Config::default(), clock, ui })
    }

    /// Checks that the store is a directory if it exists, for commands that use it.
    pub fn check_store(&self) -> Result<()> {
        access::not_a_directory(&self.paths, &self.env).map_or(Ok(()), |obstacle| Err(obstacle.into()))
    }

    /// Notes that an override has no effect on the teams of the usual store.
    pub fn note_other_store(&self) {
        if let Some(usual) = access::usual_beside(&self.paths, &self.env) {
            let (store, usual) = (self.paths.store.display(), usual.display());
            self.ui.eprint_line(&format!(
                "note: this is for teams that record to {store} (TEAMKEEP_HOME), not to {usual}"
            ));
        }
    }

    /// Warns that the store does not exist, in commands that would otherwise report that nothing is wrong.
    pub fn warn_missing_store(&self) {
        access::missing(&self.paths, &self.env).iter().for_each(|missing| self.ui.warn(missing));
    }

    /// Adds how to make the store accessible to an error of reading or writing it.
    pub fn with_fix(&self, error: Error) -> Error {
        with_fix(error, &self.paths, &self.env)
    }

    /// A writer for long output: see [`Ui::paged`].
    pub fn paged(&self) -> Paged {
        let command = Env::pager();
        self.ui.paged(Choice::of(command.as_deref(), self.env.search.as_deref()))
    }

    pub fn policy_files(&self) -> Files {
        Files::find(&self.paths, self.env.project_dir().as_deref())
    }

    /// Checks the path in `TEAMKEEP_CONFIG`, for commands that print the configuration: the defaults would mislead.
    pub fn check_config_path(&self) -> Result<()> {
        let Some(problem) = config::misnamed_file(&self.env) else { return Ok(()) };
        let what = match problem.path.is_absolute() {
            true => format!("TEAMKEEP_CONFIG names {}, which does not exist", problem.path.display()),
            false => format!("invalid TEAMKEEP_CONFIG {:?}: not an absolute path", problem.path),
        };
        Err(problem.hint.into_iter().fold(Error::new(what), Error::hint))
    }
}

fn with_fix(error: Error, paths: &Paths, env: &Env) -> Error {
    error.maybe_hint(access::obstacle(paths, env).map(|obstacle| obstacle.fix))
}

/// Adds the same to an error of a command, if a permission is missing.
pub fn explained(error: Error) -> Error {
    if !error.is_inaccessible() {
        return error;
    }
    let env = Env::read();
    with_fix(error, &Paths::find(&env), &env)
}
