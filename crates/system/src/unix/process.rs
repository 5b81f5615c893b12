//! Processes: their identity, their groups, how they are started and ended, the signals that end them, and reads of their output that
//! end after a time.

use std::io::{self, ErrorKind, PipeWriter, Read};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group};

pub use super::details::{is_zombie, name_and_parent, own_space, start_of};

/// The name that the system has for this machine.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The name of the account, if the environment names no user.
pub fn account() -> Option<String> {
    let output = Command::new("id").arg("-un").output().ok()?;
    let name = String::from_utf8(output.stdout).ok()?;
    Some(name.trim_end().to_owned()).filter(|name| output.status.success() && !name.is_empty())
}

/// The process that started this one.
pub fn parent() -> u32 {
    std::os::unix::process::parent_id()
}

/// Whether no process has this number.
pub fn is_missing(pid: u32) -> bool {
    to_pid(pid).is_some_and(|pid| rustix::process::test_kill_process(pid) == Err(Errno::SRCH))
}

/// Ends a process at once.
pub fn kill(pid: u32) {
    let _ = to_pid(pid).map(|pid| kill_process(pid, Signal::KILL));
}

fn to_pid(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

/// Starts a process that [`kill_group`] can end together with those that it starts.
pub fn spawn_group(command: &mut Command) -> io::Result<Child> {
    command.process_group(0).spawn()
}

/// Ends the processes of a group that still run.
pub fn kill_group(first: &Child) {
    let _ = to_pid(first.id()).map(|group| kill_process_group(group, Signal::KILL));
}

/// Whether a process has ended. It is not reaped: the number of its group could be reused.
pub fn has_ended(child: &mut Child) -> io::Result<bool> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    match rustix::process::waitid(WaitId::Pid(Pid::from_child(child)), options) {
        Ok(status) => Ok(status.is_some()),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The exit code as a shell reports it: 128 and more for a signal.
pub fn shell_code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}

/// A command line for the shell.
pub fn shell(line: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", line]);
    command
}

/// Starts a process without waiting for it. It leaves the session of this one itself, by [`detach`], which the leader of a process
/// group cannot.
pub fn start_background(command: &mut Command) -> io::Result<()> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().map(drop)
}

/// Leaves the session: its terminal and process group may end at any time.
pub fn detach() {
    let _ = rustix::process::setsid();
}

/// Lets other processes come first. Without permission to change it, the priority stays.
pub fn lower_priority() {
    let _ = rustix::process::nice(10);
}

/// Lets all child processes that start from now on, and theirs, hold this pipe open.
pub fn let_children_inherit(pipe: &PipeWriter) -> io::Result<()> {
    Ok(fcntl_setfd(pipe, FdFlags::empty())?)
}

/// Replaces this process by the program.
///
/// # Errors
/// It cannot be run. Otherwise, this does not return.
pub fn run_instead(command: &mut Command) -> io::Result<ExitCode> {
    Err(command.exec())
}

/// Notes each signal in `received`, and lets it end the process only while `ends_process` is set.
pub fn note_signals(received: &Arc<AtomicBool>, ends_process: &Arc<AtomicBool>) {
    for signal in [Signal::HUP, Signal::INT, Signal::TERM] {
        // If registration fails, the default behavior remains. Register the note first: the second handler may end the
        // process.
        let _ = signal_hook::flag::register(signal.as_raw(), received.clone());
        let _ = signal_hook::flag::register_conditional_default(signal.as_raw(), ends_process.clone());
    }
}

/// From now on, Ctrl-C is only for the child processes.
pub fn ignore_interrupt() {
    let _ = signal_hook::flag::register(Signal::INT.as_raw(), Arc::default());
}

/// What can be read with a time limit.
pub trait InputSource: Read + AsFd {}

impl<T: Read + AsFd> InputSource for T {}

/// Input that may never come. A buffer in the source must not be larger than those that are read into: `poll` does not report its
/// bytes.
pub struct TimedInput<R> {
    source: R,
    /// Whether the writer has closed it: no read waits any more.
    is_closed: bool,
}

impl<R: InputSource> TimedInput<R> {
    pub fn new(source: R) -> TimedInput<R> {
        TimedInput { source, is_closed: false }
    }

    /// Reads available bytes; 0 at the end. `None` if there are none within `patience`, or after a signal.
    pub fn read(&mut self, into: &mut [u8], patience: Duration) -> io::Result<Option<usize>> {
        if !self.is_closed {
            let timeout = Timespec { tv_sec: patience.as_secs() as _, tv_nsec: patience.subsec_nanos() as _ };
            let mut polled = [PollFd::new(&self.source, PollFlags::IN)];
            match poll(&mut polled, Some(&timeout)) {
                Ok(0) | Err(Errno::INTR) => return Ok(None),
                Ok(_) => self.is_closed = polled[0].revents().contains(PollFlags::HUP),
                Err(error) => return Err(error.into()),
            }
        }
        match self.source.read(into) {
            Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => Ok(None),
            read => read.map(Some),
        }
    }
}
