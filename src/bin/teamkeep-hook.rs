//! The program that Claude Code runs at its hooks. It links nothing but [`teamkeep_hook`], because every hook call waits for
//! all code that is loaded.

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args_os().collect();
    teamkeep_hook::main(&args)
}
