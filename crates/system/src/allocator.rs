//! The allocator of the static programs. musl's own takes a third of the instructions of a hook call, and maps its memory page
//! by page.

use std::alloc::System;

use spinning_top::RawSpinlock;
use talc::TalcLock;
use talc::source::GlobalAllocSource;

/// The size of a block, in bytes. Most hook calls need one.
const BLOCK_BYTES: usize = 64 << 10;

#[global_allocator]
static ALLOCATOR: TalcLock<RawSpinlock, GlobalAllocSource<System>> =
    TalcLock::new(GlobalAllocSource::with_block_size(System, BLOCK_BYTES));
