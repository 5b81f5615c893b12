//! The command `teamkeep` for the tests of this crate, which cannot name the binary of another one.

use std::process::ExitCode;

fn main() -> ExitCode {
    teamkeep::run(std::env::args_os().collect())
}
