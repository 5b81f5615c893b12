//! The program that Claude Code runs at its hooks. It links nothing but [`teamkeep_core`], because every hook call waits for
//! all code that is loaded.

#[cfg(target_env = "musl")]
use std::alloc::System;
use std::process::ExitCode;

#[cfg(target_env = "musl")]
use spinning_top::RawSpinlock;
#[cfg(target_env = "musl")]
use talc::{TalcLock, source::GlobalAllocSource};

/// musl's own allocator takes a third of the instructions of a hook call and maps its memory page by page. This one takes
/// blocks from it.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: TalcLock<RawSpinlock, GlobalAllocSource<System>> =
    TalcLock::new(GlobalAllocSource::with_block_size(System, 1 << 16));

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args_os().collect();
    teamkeep_core::hook::main(&args)
}
