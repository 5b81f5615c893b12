//! The environment of a command: paths, configuration, clock and terminal, built once and passed by reference.

use crate::ui::Ui;
use crate::ui::pager::{Choice, Paged};
use teamkeep_core::config::{self, Config, Files};
use teamkeep_core::error::{Error, Result};
use teamkeep_core::sys::clock::Clock;
use teamkeep_core::sys::env::Env;
use teamkeep_core::sys::paths::Paths;

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
