//! Processes as the kernel of macOS shows them.

use sysinfo::{Pid, ProcessRefreshKind, ProcessStatus, ProcessesToUpdate, System};

/// macOS has no process-id namespaces.
pub fn own_space() -> Option<String> {
    None
}

/// Start time of a process, in seconds since 1970.
pub fn start_of(pid: u32) -> Option<String> {
    with_process(pid, |process| process.start_time().to_string())
}

/// Whether the process has ended and its parent has not collected its status.
pub fn is_zombie(pid: u32) -> bool {
    with_process(pid, |process| process.status() == ProcessStatus::Zombie).unwrap_or(false)
}

/// The name and the parent of a process.
pub fn name_and_parent(pid: u32) -> Option<(String, u32)> {
    with_process(pid, |process| Some((process.name().to_str()?.to_owned(), process.parent()?.as_u32())))?
}

fn with_process<T>(pid: u32, read: impl FnOnce(&sysinfo::Process) -> T) -> Option<T> {
    let (pid, mut system) = (Pid::from_u32(pid), System::new().ok()?);
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), false, ProcessRefreshKind::nothing());
    system.process(pid).map(read)
}
