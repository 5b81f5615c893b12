//! Processes: their identity, their groups, how they are started and ended, the signals that end them, and reads of their output that
//! end after a time.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{self, PipeWriter, Read};
use std::os::windows::process::CommandExt;
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use super::SEARCH_PATH;
use signal_hook::consts::SIGINT;
use winsafe::guard::CloseHandleGuard;
use winsafe::{self as w, HPROCESS, HPROCESSLIST, STARTUPINFO, co};

/// The exit code of a process that runs.
const STILL_ACTIVE: u32 = 259;

/// Windows has no process-id namespaces.
pub fn own_space() -> Option<String> {
    None
}

/// Start time of a process, in units of 100 ns since 1601.
pub fn start_of(pid: u32) -> Option<String> {
    let (created, ..) = open(pid).ok()?.GetProcessTimes().ok()?;
    Some((u64::from(created.dwHighDateTime) << 32 | u64::from(created.dwLowDateTime)).to_string())
}

/// Whether the process has ended, and another one still has it open.
pub fn is_zombie(pid: u32) -> bool {
    open(pid).is_ok_and(|process| process.GetExitCodeProcess().is_ok_and(|code| code != STILL_ACTIVE))
}

/// Whether no process has this number.
pub fn is_missing(pid: u32) -> bool {
    matches!(open(pid), Err(co::ERROR::INVALID_PARAMETER))
}

fn open(pid: u32) -> w::SysResult<CloseHandleGuard<HPROCESS>> {
    HPROCESS::OpenProcess(co::PROCESS::QUERY_LIMITED_INFORMATION, false, pid)
}

/// The name and the parent of a process.
pub fn name_and_parent(pid: u32) -> Option<(String, u32)> {
    listed().into_iter().find(|process| process.pid == pid).map(|process| (process.name, process.parent))
}

/// The process that started this one.
pub fn parent() -> u32 {
    name_and_parent(std::process::id()).map_or(0, |(_, parent)| parent)
}

struct Listed {
    pid: u32,
    parent: u32,
    name: String,
}

/// All processes.
fn listed() -> Vec<Listed> {
    let Ok(mut list) = HPROCESSLIST::CreateToolhelp32Snapshot(co::TH32CS::SNAPPROCESS, None) else {
        return Vec::new();
    };
    let entries = list.iter_processes().map_while(Result::ok);
    entries
        .map(|entry| Listed {
            pid: entry.th32ProcessID,
            parent: entry.th32ParentProcessID,
            name: entry.szExeFile(),
        })
        .collect()
}

/// The name that the system has for this machine.
pub fn host_name() -> String {
    w::GetComputerName().unwrap_or_default()
}

/// The environment names the user.
pub fn account() -> Option<String> {
    None
}

/// Ends a process at once.
pub fn kill(pid: u32) {
    let process = HPROCESS::OpenProcess(co::PROCESS::TERMINATE, false, pid);
    let _ = process.and_then(|process| process.TerminateProcess(1));
}

/// Starts a process that [`kill_group`] can end together with those that it starts.
pub fn spawn_group(command: &mut Command) -> io::Result<Child> {
    command.spawn()
}

/// Ends the processes that a process started, and those that they started.
pub fn kill_group(first: &Child) {
    let all = listed();
    let mut found = BTreeSet::from([first.id()]);
    loop {
        let more = all.iter().filter(|process| found.contains(&process.parent)).map(|process| process.pid);
        let more: Vec<u32> = more.filter(|pid| !found.contains(pid)).collect();
        if more.is_empty() {
            break;
        }
        more.iter().for_each(|pid| kill(*pid));
        found.extend(more);
    }
}

/// Whether a process has ended.
pub fn has_ended(child: &mut Child) -> io::Result<bool> {
    Ok(child.try_wait()?.is_some())
}

/// The exit code as a shell reports it.
pub fn shell_code(status: ExitStatus) -> i32 {
    status.code().unwrap_or(1)
}

/// A command line for the shell.
pub fn shell(line: &str) -> Command {
    let mut command = Command::new("cmd");
    command.raw_arg(format!("/d /s /c \"{line}\""));
    command
}

/// Starts a process without waiting for it. It has no window, and none of this process's pipes: Claude Code waits for their end.
/// It has the variables of this process, except those that are removed.
pub fn start_background(command: &mut Command) -> io::Result<()> {
    let line: Vec<String> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| quoted(&text(word)))
        .collect();
    let removed = command.get_envs().filter(|(_, value)| value.is_none());
    let removed: String = removed.map(|(name, _)| format!("set \"{}=\" & ", text(name))).collect();
    // Not in a list of variables: winsafe 0.0.29 frees it before the call.
    let line = match line.join(" ") {
        line if removed.is_empty() => line,
        line => format!("{SEARCH_PATH}\\cmd.exe /d /s /c \"{removed}{line}\""),
    };
    let flags = co::CREATE::NO_WINDOW | co::CREATE::NEW_PROCESS_GROUP;
    let dir = command.get_current_dir().map(|dir| dir.to_string_lossy().into_owned());
    let mut info = STARTUPINFO::default();
    w::CreateProcess(None, Some(&line), None, None, false, flags, &[], dir.as_deref(), &mut info)
        .map(drop)
        .map_err(|error| io::Error::from_raw_os_error(error.raw() as i32))
}

fn text(word: &OsStr) -> String {
    word.to_string_lossy().into_owned()
}

/// A word of a command line, as the C library of Windows splits it.
fn quoted(word: &str) -> String {
    let mut quoted = String::from("\"");
    let mut backslashes = 0;
    for char in word.chars() {
        match char {
            '\\' => backslashes += 1,
            '"' => {
                quoted.extend(std::iter::repeat_n('\\', backslashes + 1));
                backslashes = 0;
            }
            _ => backslashes = 0,
        }
        quoted.push(char);
    }
    quoted.extend(std::iter::repeat_n('\\', backslashes));
    quoted.push('"');
    quoted
}

/// A background process has no terminal to leave.
pub fn detach() {}

/// The priority of a background process is not changed.
pub fn lower_priority() {}

/// Child processes cannot inherit a pipe that is not their input or output.
pub fn let_children_inherit(_: &PipeWriter) -> io::Result<()> {
    Ok(())
}

/// Runs a program in the place of this one, and returns its exit code.
///
/// # Errors
/// It cannot be run.
pub fn run_instead(command: &mut Command) -> io::Result<ExitCode> {
    let code = command.status()?.code().unwrap_or(1);
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}

/// Windows ends a process without a signal. Ctrl-C ends it as by default.
pub fn note_signals(_: &Arc<AtomicBool>, _: &Arc<AtomicBool>) {}

/// From now on, Ctrl-C is only for the child processes.
pub fn ignore_interrupt() {
    let _ = signal_hook::flag::register(SIGINT, Arc::default());
}

/// How long a read at least waits for the thread that reads.
const MIN_PATIENCE: Duration = Duration::from_millis(20);
const CHUNK_BYTES: usize = 64 << 10;

/// What can be read with a time limit.
pub trait InputSource: Read + Send + 'static {}

impl<T: Read + Send + 'static> InputSource for T {}

/// Input that may never come. A thread reads it, which ends with the process if no more comes.
pub struct TimedInput {
    chunks: Receiver<io::Result<Vec<u8>>>,
    /// What was received and not yet read.
    left: Vec<u8>,
}

impl TimedInput {
    pub fn new(mut source: impl InputSource) -> TimedInput {
        let (sender, chunks) = sync_channel(4);
        thread::spawn(move || {
            let mut chunk = vec![0; CHUNK_BYTES];
            loop {
                let read = source.read(&mut chunk).map(|count| chunk[..count].to_vec());
                // The writer of a pipe may end without closing it.
                let read = read.or_else(|error| match error.kind() {
                    io::ErrorKind::BrokenPipe => Ok(Vec::new()),
                    _ => Err(error),
                });
                let is_last = !matches!(&read, Ok(bytes) if !bytes.is_empty());
                if sender.send(read).is_err() || is_last {
                    return;
                }
            }
        });
        TimedInput { chunks, left: Vec::new() }
    }

    /// Reads available bytes; 0 at the end. `None` if there are none within `patience`.
    pub fn read(&mut self, into: &mut [u8], patience: Duration) -> io::Result<Option<usize>> {
        if self.left.is_empty() {
            match self.chunks.recv_timeout(patience.max(MIN_PATIENCE)) {
                Ok(read) => self.left = read?,
                Err(RecvTimeoutError::Timeout) => return Ok(None),
                Err(RecvTimeoutError::Disconnected) => return Ok(Some(0)),
            }
        }
        let count = self.left.len().min(into.len());
        into[..count].copy_from_slice(&self.left[..count]);
        self.left.drain(..count);
        Ok(Some(count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::time::Instant;

    #[test]
    fn a_background_process_has_the_variables_of_this_one_but_those_that_are_removed() {
        let has = |name: &str| std::env::vars_os().any(|(found, _)| found == name).to_string();
        if Path::new("is background").exists() {
            std::fs::write("draft", has("TMP") + " " + &has("TEMP")).unwrap();
            return std::fs::rename("draft", "found").unwrap();
        }
        let found = |is_removed: bool| {
            let dir = tempfile::tempdir().unwrap();
            std::fs::write(dir.path().join("is background"), "").unwrap();
            let name = "os::process::tests::a_background_process_has_the_variables_of_this_one_but_those_that_are_removed";
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args(["--exact", name]).current_dir(&dir);
            if is_removed {
                command.env_remove("TEMP");
            }
            start_background(&mut command).unwrap();
            let (path, start) = (dir.path().join("found"), Instant::now());
            while !path.exists() && start.elapsed() < Duration::from_secs(20) {
                std::thread::sleep(Duration::from_millis(20));
            }
            std::fs::read_to_string(path).unwrap()
        };
        assert_eq!((found(false).as_str(), found(true).as_str()), ("true true", "true false"));
    }

    #[test]
    fn a_word_is_quoted_for_the_c_library() {
        for (word, expected) in [("a b", r#""a b""#), (r#"a\"b"#, r#""a\\\"b""#), (r"C:\", r#""C:\\""#)] {
            assert_eq!(quoted(word), expected);
        }
    }
}
