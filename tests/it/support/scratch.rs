//! Directories of tests.

use std::path::Path;

use teamkeep_system::os;
use tempfile::TempDir;

/// Linux's file system in memory. The tests create and delete very many files, for which the kernel needs almost twice as long on a disk.
const MEMORY: &str = "/dev/shm";
/// Free space from which memory is used, in bytes: more than all tests write. A container often has 64 MiB.
const ENOUGH: u64 = 4 << 30;

/// A directory in memory, or among the system's temporary files.
pub fn scratch() -> TempDir {
    let memory = Path::new(MEMORY);
    let has_space = cfg!(unix) && os::files::free_space(memory).is_ok_and(|free| free >= ENOUGH);
    let in_memory = if has_space { tempfile::tempdir_in(memory).ok() } else { None };
    in_memory.unwrap_or_else(|| tempfile::tempdir().unwrap())
}
