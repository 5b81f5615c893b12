//! Passes the arguments to [`teamkeep::run`].

#[cfg(target_env = "musl")]
use std::alloc::System;
use std::process::ExitCode;

#[cfg(target_env = "musl")]
use spinning_top::RawSpinlock;
#[cfg(target_env = "musl")]
use talc::{TalcLock, source::GlobalAllocSource};

/// musl's own allocator takes a third of the instructions of a hook call. This one takes blocks from it.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: TalcLock<RawSpinlock, GlobalAllocSource<System>> =
    TalcLock::new(GlobalAllocSource::new(System));

fn main() -> ExitCode {
    teamkeep::run(std::env::args_os().collect())
}
