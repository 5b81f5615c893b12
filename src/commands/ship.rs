//! `teamkeep ship`: runs `teamkeep-ship`, a program of its own, so that TLS and Parquet are not part of this one.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use crate::context::Context;
use teamkeep_core::error::{Error, Result};
use teamkeep_core::hook::find_shipper;
use teamkeep_core::store::shipping::PROGRAM;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Show what would be sent, and send nothing
  teamkeep ship --dry-run

  # Send everything new, and show what is sent
  teamkeep ship --once
  teamkeep ship status

  # Show all options
  teamkeep ship help

Destinations are set under [ship] in the configuration. The program teamkeep-ship must be installed:
./install.sh --with-ship. The exit code is that of teamkeep-ship.")]
pub struct Args {
    /// Command of teamkeep-ship with its options: run, status or help
    #[arg(value_name = "COMMAND", trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// The program with these global options.
pub fn command(context: &Context, global: &[OsString]) -> Result<Command> {
    let Some(program) = find_shipper(&context.env) else {
        return Err(Error::new(format!("cannot ship: {PROGRAM} is neither beside teamkeep nor in PATH"))
            .hint("to install it: ./install.sh --with-ship"));
    };
    let mut command = Command::new(program);
    command.args(global);
    Ok(command)
}

/// Replaces this process by the program. `global` are the global options of this call.
pub fn run(context: &Context, global: &[OsString], args: &Args) -> Result<ExitCode> {
    let mut command = command(context, global)?;
    let error = command.args(&args.command).exec();
    Err(Error::caused(format!("cannot run {}", command.get_program().display()), error))
}
