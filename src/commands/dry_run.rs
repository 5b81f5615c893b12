//! The end of a dry run, the same for all commands: the command that does it, and the exit code. The output before it has
//! `would delete` or `would restore`.

use std::process::ExitCode;

use crate::context::Context;
use teamkeep_core::client::settings::command::{quoted, shell_invocation};
use teamkeep_core::error::Error;

/// The present command line without `--dry-run`, and with this option.
pub fn command(context: &Context, option: Option<&str>) -> String {
    let given = std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned());
    let words = given.filter(|arg| arg != "--dry-run").chain(option.map(str::to_owned));
    let words: Vec<String> = words.map(|word| quoted(&word)).collect();
    format!("{} {}", shell_invocation(&context.env), words.join(" "))
}

pub struct DryRun<'a> {
    /// Whether the user passed `--dry-run`.
    pub is_asked: bool,
    /// The past tense of what was not done: `deleted`, `restored`.
    pub not_done: &'a str,
    /// The command that does it.
    pub command: &'a str,
}

impl DryRun<'_> {
    /// Prints how to do it. A script that forgot `--yes` must not mistake the dry run for success: in a pipe it is a failure
    /// unless it was asked for.
    pub fn end(&self, context: &Context) -> ExitCode {
        let ui = &context.ui;
        ui.eprint_line(&format!("to do it: {}", self.command));
        if self.is_asked || ui.is_terminal() {
            return ExitCode::SUCCESS;
        }
        let error = Error::new(format!("dry run only: nothing was {}", self.not_done));
        ui.report(&error.hint("pass --yes to do it, or --dry-run to exit with 0"));
        ExitCode::FAILURE
    }
}
