//! Passes the arguments to [`teamkeep::run`].

use std::process::ExitCode;

/// musl's own allocator takes a third of the instructions of a hook call and maps its memory page by page.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    teamkeep::run(std::env::args_os().collect())
}
