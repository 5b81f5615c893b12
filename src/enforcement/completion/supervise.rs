//! Runs a process in its own process group, with a time limit, and collects its output.

use std::io::{self, PipeReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// Pause between two checks whether the process is running.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Bytes to read after the process has ended. More than a pipe holds.
const LEFT_BEHIND: usize = 1 << 20;

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitOutcome {
    /// It exited with this code; 128 and more for a signal, as in a shell.
    Exit(i32),
    /// It was ended with all its child processes.
    TimedOut,
}

/// Which streams of the process are collected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapturedOutput {
    /// Stdout.
    Out,
    /// Stdout and stderr, interleaved.
    Both,
}

/// Runs a command without stdin and passes its output to `take`. Everything in its process group ends with it.
///
/// # Errors
/// It cannot be started or watched.
pub fn supervise(
    mut command: Command,
    limit: Duration,
    taken: CapturedOutput,
    mut take: impl FnMut(&[u8]),
) -> io::Result<ExitOutcome> {
    let start = Instant::now();
    let (mut pipe, writer) = io::pipe()?;
    command.stderr(if taken == CapturedOutput::Both {
        Stdio::from(writer.try_clone()?)
    } else {
        Stdio::null()
    });
    command.stdin(Stdio::null()).stdout(writer).process_group(0);
    let child = command.spawn()?;
    // This process's copies of the pipe's write end would hide its end.
    drop(command);
    let mut group = Group { pid: Pid::from_child(&child), child, ended: false };
    let mut open = true;
    let ended = loop {
        // Checked before reading, so that all output of an ended process is in the pipe.
        if has_ended(group.pid)? {
            break true;
        }
        let left = limit.saturating_sub(start.elapsed());
        if left.is_zero() {
            break false;
        }
        if open && is_ready(&pipe, left.min(POLL_INTERVAL))? {
            open = read(&mut pipe, &mut take)? > 0;
        } else if !open {
            std::thread::sleep(left.min(POLL_INTERVAL));
        }
    };
    let status = group.end()?;
    let mut left_behind = LEFT_BEHIND;
    while open && left_behind > 0 && is_ready(&pipe, Duration::ZERO)? {
        let count = read(&mut pipe, &mut take)?;
        open = count > 0;
        left_behind = left_behind.saturating_sub(count);
    }
    Ok(if ended { ExitOutcome::Exit(code(status)) } else { ExitOutcome::TimedOut })
}

/// The process and those of its children that stayed in its group.
struct Group {
    child: Child,
    pid: Pid,
    ended: bool,
}

impl Group {
    /// Kills the processes that are still running. The group is killed before its first process is reaped, because its id could be
    /// reused afterwards.
    fn end(&mut self) -> io::Result<ExitStatus> {
        self.ended = true;
        let _ = kill_process_group(self.pid, Signal::KILL);
        self.child.wait()
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

fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}
