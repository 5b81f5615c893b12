//! Hands the arguments to [`teamkeep::run`], nothing else.

use std::process::ExitCode;

fn main() -> ExitCode {
    teamkeep::run(std::env::args_os().collect())
}
