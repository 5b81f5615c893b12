//! The program `teamkeep-ship`.

use std::process::ExitCode;

fn main() -> ExitCode {
    teamkeep_ship::cli::main(std::env::args_os().collect())
}
