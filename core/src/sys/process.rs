//! Process identity, supervised child processes, and signals during a hook call.

pub mod supervise;

use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process};

/// Interval and number of checks after a kill: one second in total.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
const MAX_POLLS: u32 = 200;

/// Ends a child that was started as the leader of a process group: kills the group, and the child itself in case it
/// left the group. Waits at most one second for its exit status.
fn end(child: &mut Child) -> Option<ExitStatus> {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.kill();
    for _ in 0..MAX_POLLS {
        match child.try_wait() {
            Ok(None) => std::thread::sleep(POLL_INTERVAL),
            Ok(status) => return status,
            Err(_) => return None,
        }
    }
    None
}

/// Returns whether the process has certainly ended. Another host or namespace, or missing data, is not certain. A
/// process with the same number and another start time is another process.
pub fn is_gone(pid: u32, space: Option<&str>, start: Option<&str>) -> bool {
    if is_elsewhere(space) {
        return false;
    }
    let Some(id) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return false };
    match test_kill_process(id) {
        Err(rustix::io::Errno::SRCH) => true,
        Err(_) => false,
        Ok(()) => began_at_another_time(pid, start),
    }
}

/// Returns whether the process with this number is certainly not the expected one.
pub fn is_different_process(pid: u32, space: Option<&str>, start: Option<&str>) -> bool {
    is_elsewhere(space) || began_at_another_time(pid, start)
}

fn began_at_another_time(pid: u32, start: Option<&str>) -> bool {
    matches!((start, start_of(pid)), (Some(then), Some(now)) if then != now)
}

/// Returns whether a process-id namespace, spelled `host#pid:[4026531836]`, differs from this process's. The number is
/// not unique: the first namespace of every Linux host has the same one.
fn is_elsewhere(space: Option<&str>) -> bool {
    let Some((host, namespace)) = space.and_then(|space| space.split_once('#')) else { return false };
    let other_host = || rustix::system::uname().nodename().to_str().is_ok_and(|own| own != host);
    own_space().is_some_and(|own| own != namespace) || (!host.is_empty() && other_host())
}

fn own_space() -> Option<String> {
    std::fs::read_link("/proc/self/ns/pid").ok()?.into_os_string().into_string().ok()
}

/// Start time of a process, in ticks since boot: field 22 of its `stat`, counted after the name in parentheses.
pub fn start_of(pid: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split(' ').nth(19).map(str::to_owned)
}

static CAME: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Whether a signal that arrives now ends the process, as by default.
static ENDS: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// From now on, signals that would end the process are only noted. When Claude Code exits, it ends the hooks that still
/// run: 2.1.328 sends SIGTERM, and a closed pane also causes SIGHUP. The payload has arrived completely by then, so the
/// call needs only a few more milliseconds to record its event.
pub fn defer_signals() {
    for signal in [Signal::HUP, Signal::TERM] {
        // If registration fails, the default behavior remains. Register the note first: the second handler may end the
        // process.
        let _ = signal_hook::flag::register(signal.as_raw(), CAME.clone());
        let _ = signal_hook::flag::register_conditional_default(signal.as_raw(), ENDS.clone());
    }
}

/// Returns whether a signal arrived, so that no response will be read. If so, further signals are still ignored while
/// the process cleans up. If not, the next signal ends the process. Call this when the event is recorded.
pub fn termination_requested() -> bool {
    ENDS.store(true, Ordering::SeqCst);
    let came = CAME.load(Ordering::SeqCst);
    if came {
        ENDS.store(false, Ordering::SeqCst);
    }
    came
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_that_left_its_group_is_killed_too() {
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let status = end(&mut child).unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
    }

    #[test]
    fn only_a_process_that_has_certainly_ended_is_gone() {
        let own = std::process::id();
        assert!(!is_gone(own, None, None));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id();
        child.wait().unwrap();
        assert!(is_gone(pid, None, None));
        assert!(!is_gone(pid, Some("elsewhere#pid:[1]"), None), "another namespace cannot be judged");
        if let Some(space) = own_space() {
            assert!(!is_gone(pid, Some(&format!("another-host#{space}")), None), "nor can another host");
            assert!(is_different_process(own, Some(&format!("another-host#{space}")), None));
        }
        if let Some(start) = start_of(own) {
            assert!(!is_gone(own, None, Some(&start)));
            assert!(is_gone(own, None, Some("1")), "the number was given to another process");
        }
    }
}
