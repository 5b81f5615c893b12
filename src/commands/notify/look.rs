//! `teamkeep notify look`, hidden from users: prints the incidents of a run for the notifier. A process of its own, because a
//! look at a large run needs memory that a notifier must not keep for hours.

use std::process::{Command, ExitCode};
use std::time::Duration;

use crate::commands::catalog::catalog;
use teamkeep_history::report::{Incident, Report};
use teamkeep_history::timeline::merge;
use teamkeep_system::error::{Error, Result};
use teamkeep_system::process::{Outcome, Run, shell_code};
use teamkeep_terminal::Context;

/// Time limit of a look.
const TIMEOUT: Duration = Duration::from_secs(600);
/// Maximum size of the incidents in bytes.
const MAX_BYTES: usize = 64 << 20;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run's ID
    #[arg(long, value_name = "ID")]
    run: String,
}

pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let catalog = catalog(context)?;
    let opened = catalog.open_runs(&[catalog.find(&args.run)?])?;
    let of = |data| Report::of(data, &merge(data), &context.config, context.clock.now()).incidents;
    let incidents = opened.runs.first().map(of).unwrap_or_default();
    context.ui.raw(&serde_json::to_vec(&incidents).map_err(Error::from_json)?)?;
    Ok(ExitCode::SUCCESS)
}

/// The incidents of a run, from a process of its own.
pub fn incidents(run: &str) -> Result<Vec<Incident>> {
    let cannot = |why: String| Error::new(format!("cannot look at run {run}: {why}"));
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["notify", "look", "--run", run]);
    let (outcome, output) = Run::new(command, TIMEOUT).collect(MAX_BYTES)?;
    match outcome {
        Outcome::Ended(status) if status.success() => {
            serde_json::from_slice(&output).map_err(|error| cannot(error.to_string()))
        }
        Outcome::Ended(status) => {
            Err(cannot(format!("exit code {}", shell_code(status))).hint(format!("teamkeep report {run}")))
        }
        Outcome::TimedOut => Err(cannot("it took too long".to_owned())),
        Outcome::Stopped => Err(cannot("interrupted, or its incidents are too large".to_owned())),
    }
}
