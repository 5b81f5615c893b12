//! Runs a program in its own process group, with a time limit, and collects its output.

use std::io::{self, PipeReader, Read};
use std::ops::ControlFlow;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Bytes to read after the process has ended. More than a pipe holds.
const LEFT_BEHIND: usize = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Ended(ExitStatus),
    /// It exceeded the time limit and was killed with all its child processes.
    TimedOut,
    /// The observer stopped it: [`Run::collect`] does so if the output is too large.
    Stopped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapturedOutput {
    Out,
    Both,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    Exit,
    /// The process has ended, and no child process holds its output open.
    OutputClosed,
}

#[derive(Debug, Clone, Copy)]
pub enum Progress<'a> {
    Output(&'a [u8]),
    Running(Duration),
}

/// One run of a program. Everything in its process group ends with it.
#[derive(Debug)]
pub struct Run {
    pub command: Command,
    pub stdin: Stdio,
    pub captured: CapturedOutput,
    pub until: Until,
    pub limit: Duration,
}

impl Run {
    pub fn new(command: Command, limit: Duration) -> Run {
        Run { command, stdin: Stdio::null(), captured: CapturedOutput::Out, until: Until::Exit, limit }
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

    pub fn supervise(
        mut self,
        mut observer: impl FnMut(Progress<'_>) -> ControlFlow<()>,
    ) -> io::Result<Outcome> {
        let start = Instant::now();
        let (mut pipe, writer) = io::pipe()?;
        self.command.stderr(match self.captured {
            CapturedOutput::Both => Stdio::from(writer.try_clone()?),
            CapturedOutput::Out => Stdio::null(),
        });
        let child = self.command.stdin(self.stdin).stdout(writer).process_group(0).spawn()?;
        // This process's copies of the pipe's write end would hide its end.
        drop(self.command);
        let mut group = Group { pid: Pid::from_child(&child), child, ended: false };
        let mut open = true;
        let stop = loop {
            // Checked before reading, so that all output of an ended process is in the pipe.
            if (!open || self.until == Until::Exit) && has_ended(group.pid)? {
                break None;
            }
            let left = self.limit.saturating_sub(start.elapsed());
            if left.is_zero() {
                break Some(Outcome::TimedOut);
            }
            if open && is_ready(&pipe, left.min(POLL_INTERVAL))? {
                let mut is_stopped = false;
                open = read(&mut pipe, &mut |bytes| {
                    is_stopped = observer(Progress::Output(bytes)).is_break();
                })? > 0;
                if is_stopped {
                    break Some(Outcome::Stopped);
                }
            } else if !open {
                std::thread::sleep(left.min(POLL_INTERVAL));
            }
            if observer(Progress::Running(start.elapsed())).is_break() {
                break Some(Outcome::Stopped);
            }
        };
        let status = group.end();
        let mut left_behind = LEFT_BEHIND;
        while open && left_behind > 0 && is_ready(&pipe, Duration::ZERO)? {
            let count = read(&mut pipe, &mut |bytes| {
                let _ = observer(Progress::Output(bytes));
            })?;
            open = count > 0;
            left_behind = left_behind.saturating_sub(count);
        }
        match (stop, status) {
            (Some(stop), _) => Ok(stop),
            (None, Some(status)) => Ok(Outcome::Ended(status)),
            (None, None) => Err(io::Error::other("its exit status is unknown")),
        }
    }
}

/// The exit code as a shell reports it: 128 and more for a signal.
pub fn shell_code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}

struct Group {
    child: Child,
    pid: Pid,
    ended: bool,
}

impl Group {
    /// Kills the processes that are still running. The group is killed before its first process is reaped, because its id
    /// could be reused afterwards.
    fn end(&mut self) -> Option<ExitStatus> {
        self.ended = true;
        super::end(&mut self.child)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.ended {
            let _ = self.end();
        }
    }
}

/// Whether the process has ended. It is not reaped.
fn has_ended(pid: Pid) -> io::Result<bool> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    match waitid(WaitId::Pid(pid), options) {
        Ok(status) => Ok(status.is_some()),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn is_ready(pipe: &PipeReader, patience: Duration) -> io::Result<bool> {
    let timeout = Timespec { tv_sec: patience.as_secs() as _, tv_nsec: patience.subsec_nanos() as _ };
    match poll(&mut [PollFd::new(pipe, PollFlags::IN)], Some(&timeout)) {
        Ok(count) => Ok(count > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Reads the available bytes; 0 at the end.
fn read(pipe: &mut PipeReader, take: &mut impl FnMut(&[u8])) -> io::Result<usize> {
    let mut chunk = [0u8; 16 * 1024];
    loop {
        match pipe.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            Ok(count) => {
                take(&chunk[..count]);
                return Ok(count);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, millis: u64, change: impl FnOnce(&mut Run)) -> (Outcome, Vec<u8>) {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        let mut run = Run::new(command, Duration::from_millis(millis));
        change(&mut run);
        run.collect(64 * 1024).unwrap()
    }

    #[test]
    fn the_output_of_a_program_is_collected_and_a_slow_program_is_killed() {
        let (Outcome::Ended(status), out) = sh("echo yes; echo no >&2; exit 3", 20_000, |_| ()) else {
            panic!("it did not end")
        };
        assert_eq!((status.code(), out.as_slice()), (Some(3), b"yes\n".as_slice()));
        let both = |run: &mut Run| run.captured = CapturedOutput::Both;
        assert_eq!(sh("echo yes; echo no >&2", 20_000, both).1, b"yes\nno\n");
        assert_eq!(sh("sleep 1000 & sleep 1000", 300, |_| ()).0, Outcome::TimedOut);
        assert_eq!(sh("yes", 20_000, |_| ()).0, Outcome::Stopped);
        assert!(Run::new(Command::new("/no/such"), Duration::from_secs(1)).collect(1).is_err());
    }

    #[test]
    fn a_child_that_holds_the_output_open_delays_only_a_run_that_waits_for_it() {
        let script = "echo yes; sleep 1000 &";
        let (outcome, out) = sh(script, 20_000, |_| ());
        assert!(matches!(outcome, Outcome::Ended(_)) && out == b"yes\n");
        let until_closed = |run: &mut Run| run.until = Until::OutputClosed;
        assert_eq!(sh(script, 300, until_closed).0, Outcome::TimedOut);
    }
}
