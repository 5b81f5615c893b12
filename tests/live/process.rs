//! The processes of a run, found by their command line.

use std::fs;
use std::time::{Duration, Instant};

use super::interrupt;

/// The process ids whose arguments contain these, one after the other.
pub fn find(arguments: &[&str]) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter(|id| {
        // A zombie has no arguments.
        let line = fs::read_to_string(format!("/proc/{id}/cmdline")).unwrap_or_default();
        let words: Vec<&str> = line.split('\0').collect();
        words.windows(arguments.len()).any(|window| window == arguments)
    })
    .collect()
}

/// What runs in a pane's process: if it is a shell, what was typed in it.
pub fn inside(pane: u32) -> Option<u32> {
    let name = fs::read_to_string(format!("/proc/{pane}/comm")).ok()?;
    if !name.trim().ends_with("sh") {
        return Some(pane);
    }
    let children = fs::read_to_string(format!("/proc/{pane}/task/{pane}/children")).ok()?;
    children.split_whitespace().next()?.parse().ok()
}

/// Ends a process with SIGKILL.
pub fn kill(id: u32) -> Result<(), String> {
    let pid = i32::try_from(id).ok().and_then(rustix::process::Pid::from_raw);
    let pid = pid.ok_or(format!("invalid process id {id}"))?;
    rustix::process::kill_process(pid, rustix::process::Signal::KILL)
        .map_err(|error| format!("cannot kill process {id}: {error}"))
}

/// Waits until a condition holds.
pub fn wait(what: &str, most: Duration, done: impl Fn() -> bool) -> Result<(), String> {
    let began = Instant::now();
    while !done() {
        if interrupt::came() {
            return Err("interrupted".to_owned());
        }
        if began.elapsed() > most {
            return Err(format!("waited {}s for {what}", most.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(500));
    }
    Ok(())
}

/// Whether the process is gone, or a zombie.
pub fn is_gone(id: u32) -> bool {
    fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default().is_empty()
}
