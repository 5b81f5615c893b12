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
  # Show what would be sent, and what was sent last
  teamkeep ship run --dry-run
  teamkeep ship status

  # Show the commands and options of teamkeep-ship
  teamkeep ship help

Destinations are set under [ship] in the configuration. The program teamkeep-ship must be installed:
./install.sh --with-ship. The exit code is that of teamkeep-ship.")]
pub struct Args {
    /// Command of teamkeep-ship with its options: run, status or help
    #[arg(value_name = "COMMAND", trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// Replaces this process by the program. `global` are the global options of this call.
pub fn run(context: &Context, global: &[OsString], args: &Args) -> Result<ExitCode> {
    let Some(program) = find_shipper(&context.env) else {
        return Err(Error::new(format!("cannot ship: {PROGRAM} is neither beside teamkeep nor in PATH"))
            .hint("to install it: ./install.sh --with-ship"));
    };
    let error = Command::new(&program).args(global).args(&args.command).exec();
    Err(Error::caused(format!("cannot run {}", program.display()), error))
}
