//! The program that Claude Code runs at its hooks. It links nothing but [`teamkeep_core`], because every hook call waits for
//! all code that is loaded.

use std::process::ExitCode;

/// musl's own allocator takes a third of the instructions of a hook call and maps its memory page by page.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args_os().collect();
    teamkeep_core::hook::main(&args)
}
