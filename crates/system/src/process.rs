//! This process, whose signals can wait and whose stdin may never end; the identity of others; and supervised child processes.

use std::io;
use std::ops::ControlFlow;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use crate::env::absolute_search;
use crate::os;
use crate::os::process::{
    InputSource, TimedInput, is_missing, is_zombie, name_and_parent, own_space, start_of,
};
pub use crate::os::process::{host_name, shell_code, start_background};
use teamkeep_model::ProcessId;
use teamkeep_model::payload::Input;

/// Maximum output of a program that prints a line or a document, in bytes.
pub const MAX_OUTPUT_BYTES: usize = 64 << 10;
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A signal to a program on the whole terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminalSignal {
    /// Ctrl-C.
    Interrupt,
    /// Stop until the shell continues the process.
    Stop,
    /// The terminal has another size.
    Resized,
    /// End, by the signal with this number.
    End(i32),
}

impl TerminalSignal {
    /// The terminal is gone.
    pub const HANGUP: TerminalSignal = TerminalSignal::End(1);
}

/// Whether a signal arrived.
static RECEIVED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Whether a signal that arrives now ends the process, as by default.
static ENDS_PROCESS: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// From now on, signals that would end the process are only noted: they do not end a hook call before the event is recorded. When
/// Claude Code exits, it ends the hooks that still run: 2.1.328 sends SIGTERM, and a closed pane also causes SIGHUP. The payload has
/// arrived by then, and the call needs only a few more milliseconds.
pub fn defer_signals() {
    os::process::note_signals(&RECEIVED, &ENDS_PROCESS);
}

/// Whether a signal arrived, so that no response will be read: then further signals are ignored while the process cleans up.
/// Otherwise, the next signal ends the process. Call this when the event is recorded.
pub fn termination_requested() -> bool {
    ENDS_PROCESS.store(true, Ordering::SeqCst);
    let received = was_signalled();
    if received {
        ENDS_PROCESS.store(false, Ordering::SeqCst);
    }
    received
}

fn was_signalled() -> bool {
    RECEIVED.load(Ordering::SeqCst)
}

/// Until it is dropped, signals are only noted: a child runs that must not outlive this process.
struct HeldSignals {
    /// The former value of [`ENDS_PROCESS`].
    ends_process: bool,
}

impl HeldSignals {
    fn hold() -> HeldSignals {
        HeldSignals { ends_process: ENDS_PROCESS.swap(false, Ordering::SeqCst) }
    }
}

impl Drop for HeldSignals {
    fn drop(&mut self) {
        if self.ends_process {
            termination_requested();
        }
    }
}

/// Reads stdin to its end, for at most `patience` in total. Bytes beyond the first `most` are read and dropped, so that the writer does
/// not get a broken pipe.
pub fn read_stdin(from: impl InputSource, most: usize, patience: Duration) -> Input {
    let start = Instant::now();
    let mut input = TimedInput::new(from);
    let mut bytes = Vec::new();
    let mut dropped = 0u64;
    // Most payloads are small, and each page of the chunk costs a page fault. The chunk is never smaller than the
    // buffer of `Stdin`.
    let mut chunk = vec![0u8; 8 * 1024];
    let problem = loop {
        let left = patience.saturating_sub(start.elapsed());
        // Also stop reading from a stdin that never ends.
        if left.is_zero() {
            break Some(format!("stdin did not end within {} ms", patience.as_millis()));
        }
        match input.read(&mut chunk, left) {
            Ok(None) => {}
            Ok(Some(0)) => break None,
            Ok(Some(count)) => {
                let kept = count.min(most - bytes.len());
                bytes.extend_from_slice(&chunk[..kept]);
                dropped += (count - kept) as u64;
                if count == chunk.len() {
                    chunk.resize(64 * 1024, 0);
                }
            }
            Err(error) => break Some(format!("cannot read stdin: {error}")),
        }
    };
    let held = problem.is_some() && dropped == 0;
    let too_much =
        (dropped > 0).then(|| format!("larger than {most} bytes; only the first {most} were recorded"));
    Input { bytes, problem: too_much.or(problem), held }
}

/// Kills the process group of a child, and the child in case it left the group. Waits at most one second.
fn end(child: &mut Child) -> Option<ExitStatus> {
    os::process::kill_group(child);
    let _ = child.kill();
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(1) {
        match child.try_wait() {
            Ok(None) => std::thread::sleep(POLL_INTERVAL),
            Ok(status) => return status,
            Err(_) => return None,
        }
    }
    None
}

/// Whether the process has certainly ended. Another host or namespace, or missing data, is not certain. A process with the same
/// number and another start time is another process.
pub fn is_gone(pid: u32, space: Option<&str>, start: Option<&str>) -> bool {
    !is_elsewhere(space) && (is_missing(pid) || began_at_another_time(pid, start) || is_zombie(pid))
}

/// Identifies a process in this process's namespace.
pub fn identify(pid: u32) -> ProcessId {
    let space = own_space().map(|namespace| format!("{}#{namespace}", host_name()));
    ProcessId { pid, space, start: start_of(pid) }
}

/// Whether this process has certainly ended.
pub fn is_over(process: &ProcessId) -> bool {
    is_gone(process.pid, process.space.as_deref(), process.start.as_deref())
}

/// Returns whether the process with this number is certainly not the expected one.
pub fn is_different_process(pid: u32, space: Option<&str>, start: Option<&str>) -> bool {
    is_elsewhere(space) || began_at_another_time(pid, start)
}

fn began_at_another_time(pid: u32, start: Option<&str>) -> bool {
    matches!((start, start_of(pid)), (Some(then), Some(now)) if then != now)
}

/// Whether a process-id namespace, spelled `host#pid:[4026531836]`, is not this process's. The number is not unique: the first
/// namespace of every Linux host has the same one.
fn is_elsewhere(space: Option<&str>) -> bool {
    let Some((host, namespace)) = space.and_then(|space| space.split_once('#')) else { return false };
    own_space().is_some_and(|own| own != namespace) || (!host.is_empty() && host_name() != host)
}

/// A command whose program is found only in the absolute entries of the search path.
pub fn program(name: &str) -> Command {
    let mut command = Command::new(name);
    command.env("PATH", absolute_search());
    command
}

/// Bytes to read after the process has ended. More than a pipe holds.
const LEFT_BEHIND: usize = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Ended(ExitStatus),
    /// It exceeded the time limit and was killed with all its child processes.
    TimedOut,
    /// A signal arrived after [`defer_signals`], or the observer stopped it: [`Run::collect`] does so if the output is too large.
    Stopped,
}

#[derive(Debug, Clone, Copy)]
pub enum Progress<'a> {
    Output(&'a [u8]),
    Running(Duration),
}

#[derive(Debug)]
pub struct Run {
    pub command: Command,
    pub stdin: Stdio,
    /// Whether its errors are output, too.
    pub captures_stderr: bool,
    /// Where its errors go otherwise.
    pub stderr: Stdio,
    /// Whether to wait until no child process holds its output open.
    pub until_closed: bool,
    pub limit: Duration,
}

impl Run {
    pub fn new(command: Command, limit: Duration) -> Run {
        let [stdin, stderr] = [Stdio::null(), Stdio::null()];
        Run { command, stdin, captures_stderr: false, stderr, until_closed: false, limit }
    }

    pub fn collect(self, max_bytes: usize) -> io::Result<(Outcome, Vec<u8>)> {
        let mut output = Vec::new();
        let outcome = self.supervise(|progress| {
            if let Progress::Output(bytes) = progress {
                output.extend_from_slice(bytes);
            }
            if output.len() > max_bytes { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok((outcome, output))
    }

    /// Runs the command, and ends it with all its child processes when a signal arrives. Signals do not end this process
    /// meanwhile.
    pub fn supervise(
        mut self,
        mut observer: impl FnMut(Progress<'_>) -> ControlFlow<()>,
    ) -> io::Result<Outcome> {
        let _held = HeldSignals::hold();
        if was_signalled() {
            return Ok(Outcome::Stopped);
        }
        let start = Instant::now();
        let (pipe, writer) = io::pipe()?;
        let stderr = if self.captures_stderr { writer.try_clone()?.into() } else { self.stderr };
        self.command.stdin(self.stdin).stdout(writer).stderr(stderr);
        let mut group = Group { child: os::process::spawn_group(&mut self.command)?, ended: false };
        // This process's copies of the pipe's write end would hide its end.
        drop(self.command);
        let (mut pipe, mut chunk) = (TimedInput::new(pipe), [0u8; 16 * 1024]);
        let mut open = true;
        let stop = loop {
            // Checked before reading, so that all output of an ended process is in the pipe.
            if (!open || !self.until_closed) && os::process::has_ended(&mut group.child)? {
                break None;
            }
            let left = self.limit.saturating_sub(start.elapsed());
            if left.is_zero() {
                break Some(Outcome::TimedOut);
            }
            if open {
                let read = pipe.read(&mut chunk, left.min(POLL_INTERVAL))?;
                open = read != Some(0);
                if observer(Progress::Output(&chunk[..read.unwrap_or_default()])).is_break() {
                    break Some(Outcome::Stopped);
                }
            } else {
                std::thread::sleep(left.min(POLL_INTERVAL));
            }
            if was_signalled() || observer(Progress::Running(start.elapsed())).is_break() {
                break Some(Outcome::Stopped);
            }
        };
        let status = group.end();
        let mut left_behind = LEFT_BEHIND;
        while open && left_behind > 0 {
            let Some(count) = pipe.read(&mut chunk, Duration::ZERO)? else { break };
            let _ = observer(Progress::Output(&chunk[..count]));
            open = count > 0;
            left_behind = left_behind.saturating_sub(count);
        }
        let ended = stop.or(status.map(Outcome::Ended));
        ended.ok_or_else(|| io::Error::other("its exit status is unknown"))
    }
}

struct Group {
    child: Child,
    ended: bool,
}

impl Group {
    /// Kills what still runs: the group before its first process is reaped, because its id could be reused afterwards.
    fn end(&mut self) -> Option<ExitStatus> {
        self.ended = true;
        end(&mut self.child)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.ended {
            let _ = self.end();
        }
    }
}

// Versions whose hooks have no `CLAUDE_PID` in their environment: the process of Claude Code is found above the hook. Of
// the measured versions (2.1.47, 2.1.177, 2.1.328), only the last one has the variable.

const CLIENT: &str = "claude";

/// Shells that can be between Claude Code and a hook that it runs as a shell command.
const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "ash", "ksh", "busybox"];

const HEIGHT: usize = 4;

/// Finds the process of Claude Code above this one, with only shells in between. `None` if the system does not show processes.
pub fn find_client_ancestor() -> Option<u32> {
    above(os::process::parent(), &name_and_parent)
}

fn above(first: u32, name_and_parent: &dyn Fn(u32) -> Option<(String, u32)>) -> Option<u32> {
    let mut pid = first;
    for _ in 0..HEIGHT {
        let (name, parent) = name_and_parent(pid)?;
        let name = name.strip_suffix(os::PROGRAM_SUFFIX).unwrap_or(&name);
        if name == CLIENT {
            return Some(pid);
        }
        if !SHELLS.contains(&name) {
            return None;
        }
        pid = parent;
    }
    None
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_child_that_left_its_group_is_killed_too() {
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let status = end(&mut child).unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
    }

    #[cfg(unix)]
    #[test]
    fn only_a_process_that_has_certainly_ended_is_gone() {
        let own = std::process::id();
        assert!(!is_gone(own, None, None));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id();
        while !os::process::has_ended(&mut child).unwrap() {}
        assert_eq!(is_gone(pid, None, None), start_of(pid).is_some(), "a zombie, where the system shows it");
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

    #[cfg(unix)]
    fn sh(script: &str, millis: u64, change: impl FnOnce(&mut Run)) -> (Outcome, Vec<u8>) {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        let mut run = Run::new(command, Duration::from_millis(millis));
        change(&mut run);
        run.collect(64 * 1024).unwrap()
    }

    #[cfg(unix)]
    #[test]
    fn the_output_of_a_program_is_collected_and_a_slow_program_is_killed() {
        let (Outcome::Ended(status), out) = sh("echo yes; echo no >&2; exit 3", 20_000, |_| ()) else {
            panic!("it did not end")
        };
        assert_eq!((status.code(), out.as_slice()), (Some(3), b"yes\n".as_slice()));
        let both = |run: &mut Run| run.captures_stderr = true;
        assert_eq!(sh("echo yes; echo no >&2", 20_000, both).1, b"yes\nno\n");
        assert_eq!(sh("sleep 1000 & sleep 1000", 300, |_| ()).0, Outcome::TimedOut);
        assert_eq!(sh("yes", 20_000, |_| ()).0, Outcome::Stopped);
        assert!(Run::new(Command::new("/no/such"), Duration::from_secs(1)).collect(1).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_child_that_holds_the_output_open_delays_only_a_run_that_waits_for_it() {
        let script = "echo yes; sleep 1000 &";
        let (outcome, out) = sh(script, 20_000, |_| ());
        assert!(matches!(outcome, Outcome::Ended(_)) && out == b"yes\n");
        let until_closed = |run: &mut Run| run.until_closed = true;
        assert_eq!(sh(script, 300, until_closed).0, Outcome::TimedOut);
    }

    fn found(family: &[(u32, &str, u32)]) -> Option<u32> {
        above(9, &|pid| {
            let (_, name, parent) = family.iter().find(|(known, ..)| *known == pid)?;
            Some(((*name).to_owned(), *parent))
        })
    }

    #[test]
    fn the_client_is_found_only_above_shells() {
        assert_eq!(found(&[(9, "claude", 1)]), Some(9));
        assert_eq!(found(&[(9, "sh", 8), (8, "claude", 7)]), Some(8));
        assert_eq!(found(&[(9, "sh", 8), (8, "bash", 7), (7, "claude", 1)]), Some(7));
        assert_eq!(
            found(&[(9, "make", 8), (8, "claude", 7)]),
            None,
            "a program's child is not the client's hook"
        );
        assert_eq!(found(&[(9, "sh", 1), (1, "init", 0)]), None);
        assert_eq!(found(&[(9, "sh", 9)]), None, "a cycle ends the search");
        assert_eq!(found(&[]), None, "nothing is known where the system does not tell");
    }

    #[test]
    fn input_is_read_up_to_its_limit_and_the_rest_is_dropped() {
        let (from, mut to) = io::pipe().unwrap();
        let writer = std::thread::spawn(move || to.write_all(&vec![b'x'; 300_000]).is_ok());
        let input = read_stdin(from, 1_000, Duration::from_secs(60));
        assert_eq!(input.bytes.len(), 1_000);
        assert_eq!(input.problem.unwrap(), "larger than 1000 bytes; only the first 1000 were recorded");
        assert!(writer.join().unwrap(), "the writer met no closed pipe");
    }

    #[test]
    fn reading_an_endless_stdin_times_out() {
        let input = read_stdin(std::fs::File::open("/dev/zero").unwrap(), 1_000, Duration::from_millis(20));
        assert_eq!(input.bytes.len(), 1_000);
        assert!(input.problem.is_some());
    }

    #[test]
    fn reading_an_open_stdin_times_out_with_the_bytes_so_far() {
        let (from, mut to) = io::pipe().unwrap();
        to.write_all(b"{\"half\"").unwrap();
        let input = read_stdin(from, 1_000, Duration::from_millis(20));
        assert_eq!(input.bytes, b"{\"half\"");
        assert_eq!(input.problem.unwrap(), "stdin did not end within 20 ms");
        drop(to);
    }
}
