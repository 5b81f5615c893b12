//! A process under supervision: a process group of its own, a limit of time, its output taken as it comes.

use std::io::{self, PipeReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// How often it is asked whether the process still runs.
const PAUSE: Duration = Duration::from_millis(5);
/// More than a pipe holds: what a process has left there when it ends is read to this bound.
const LEFT_BEHIND: usize = 1 << 20;

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this exit code; 128 and more for a signal, as a shell says it.
    Exit(i32),
    /// It was ended, with all that it had started.
    TimedOut,
}

/// Which of the process's streams are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// What it says on stdout.
    Out,
    /// What it says on stdout and stderr, as it comes.
    Both,
}

/// Runs a command without stdin, and gives `take` what it says. Whatever it started in its group ends with it.
///
/// # Errors
/// When it cannot be started or watched.
pub fn supervise(
    mut command: Command,
    limit: Duration,
    taken: Taken,
    mut take: impl FnMut(&[u8]),
) -> io::Result<Ended> {
    let start = Instant::now();
    let (mut pipe, writer) = io::pipe()?;
    command.stderr(if taken == Taken::Both { Stdio::from(writer.try_clone()?) } else { Stdio::null() });
    command.stdin(Stdio::null()).stdout(writer).process_group(0);
    let child = command.spawn()?;
    // Our own copies of the pipe's other end: they would hide its end.
    drop(command);
    let mut group = Group { pid: Pid::from_child(&child), child, ended: false };
    let mut open = true;
    let ended = loop {
        // Asked before reading: what an ended process has said is in the pipe by then.
        if has_ended(group.pid)? {
            break true;
        }
        let left = limit.saturating_sub(start.elapsed());
        if left.is_zero() {
            break false;
        }
        if open && is_ready(&pipe, left.min(PAUSE))? {
            open = read(&mut pipe, &mut take)? > 0;
        } else if !open {
            std::thread::sleep(left.min(PAUSE));
        }
    };
    let status = group.end()?;
    let mut left_behind = LEFT_BEHIND;
    while open && left_behind > 0 && is_ready(&pipe, Duration::ZERO)? {
        let count = read(&mut pipe, &mut take)?;
        open = count > 0;
        left_behind = left_behind.saturating_sub(count);
    }
    Ok(if ended { Ended::Exit(code(status)) } else { Ended::TimedOut })
}

/// The process and all that it started, as far as it stayed in its group.
struct Group {
    child: Child,
    pid: Pid,
    ended: bool,
}

impl Group {
    /// Ends what still runs of it. The group goes before its first process is reaped: until then nobody else can have
    /// its number.
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

/// Whether the process has ended. It is not reaped by that.
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

/// Reads what is there; 0 at the end.
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
