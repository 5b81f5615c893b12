//! Passes the arguments to [`teamkeep::run`].

use std::process::ExitCode;

fn main() -> ExitCode {
    teamkeep::run(std::env::args_os().collect())
}
