//! Asks Claude Code for its version.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::env::Env;
use crate::paths::Paths;
use crate::process;
use crate::settings::command::find;
use crate::settings::version::Version;

/// The name of Claude Code's program.
const NAME: &str = "claude";
/// How long the process may take to end after it printed its version.
const KILL_GRACE: Duration = Duration::from_millis(500);
/// Time limit for the version. A version that runs in node took five seconds on a busy machine, and without an answer
/// the hooks of later events are omitted.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How much of that passes before a notice is printed.
const QUIET_PERIOD: Duration = Duration::from_secs(1);
/// Maximum output in bytes.
const MAX_OUTPUT_BYTES: u64 = 16 * 1024;

/// The known version of Claude Code, or why it is unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientVersion {
    /// Claude Code or the user gave it.
    Known(Version),
    /// Unknown, for this reason.
    Unknown(String),
}

/// The result of asking.
#[derive(Debug, Clone)]
pub struct VersionProbe {
    /// The program that was asked, as called; `None` if there is none.
    pub at: Option<PathBuf>,
    /// Its answer.
    pub answer: ClientVersion,
}

/// Asks the first program found on the search path, or else where its installers put it. `say` is called if it takes
/// long.
pub fn ask(env: &Env, paths: &Paths, say: impl FnOnce(&str)) -> ClientVersion {
    look(env, paths, say).answer
}

/// Like [`ask`], and returns which program it was.
pub fn look(env: &Env, paths: &Paths, say: impl FnOnce(&str)) -> VersionProbe {
    let mut places: Vec<(PathBuf, PathBuf)> = Vec::new();
    places.extend(find(NAME, env).map(|found| (PathBuf::from(NAME), found)));
    let installed = [
        paths.client.as_ref().map(|client| client.join("local").join(NAME)),
        env.home.as_ref().map(|home| home.join(".local/bin").join(NAME)),
    ];
    // Nothing in the current directory is run.
    let installed = installed.into_iter().flatten().filter(|path| path.is_absolute());
    places.extend(installed.map(|path| (path.clone(), path)));
    for (place, path) in places {
        match start(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => {
                let why = format!("cannot run {}: {error}", place.display());
                return VersionProbe { at: Some(place), answer: ClientVersion::Unknown(why) };
            }
            Ok(child) => {
                let waiting = format!(
                    "waiting for `{} --version`, {} seconds at most",
                    place.display(),
                    TIMEOUT.as_secs()
                );
                let answer = listen(child, &place, TIMEOUT, || say(&waiting));
                return VersionProbe { at: Some(place), answer };
            }
        }
    }
    let nowhere = "`claude` not found in PATH".to_owned();
    VersionProbe { at: None, answer: ClientVersion::Unknown(nowhere) }
}

/// Starts it in its own process group, so that it can be ended with all its child processes.
fn start(program: &Path) -> std::io::Result<Child> {
    Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
}

/// Reads its output. A program that hangs, or leaves a child that holds its output, is ended; its output until then
/// counts.
fn listen(mut child: Child, program: &Path, patience: Duration, slow: impl FnOnce()) -> ClientVersion {
    let (sender, receiver) = mpsc::channel();
    let stdout = child.stdout.take();
    std::thread::spawn(move || {
        let mut stdout = stdout.map(|stdout| stdout.take(MAX_OUTPUT_BYTES));
        let mut part = [0; 1024];
        // The sender is dropped at the end.
        while let Some(length) =
            stdout.as_mut().and_then(|stdout| stdout.read(&mut part).ok()).filter(|n| *n > 0)
        {
            if sender.send(part[..length].to_vec()).is_err() {
                return;
            }
        }
    });
    let (start, mut slow) = (Instant::now(), Some(slow));
    let (mut said, mut until, mut ended) = (Vec::new(), QUIET_PERIOD.min(patience), false);
    loop {
        match receiver.recv_timeout(until.saturating_sub(start.elapsed())) {
            Ok(part) => {
                said.extend(part);
                if first_line(&said).is_some() {
                    // The output is complete; the process may finish.
                    slow = None;
                    until = (start.elapsed() + KILL_GRACE).min(patience);
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                ended = true;
                break;
            }
            Err(RecvTimeoutError::Timeout) => match slow.take() {
                Some(slow) => {
                    slow();
                    until = patience;
                }
                None => break,
            },
        }
    }
    process::end(&mut child);
    match Version::find(&String::from_utf8_lossy(&said)) {
        Some(version) => ClientVersion::Known(version),
        None if ended => {
            ClientVersion::Unknown(format!("`{} --version` printed no version", program.display()))
        }
        None => ClientVersion::Unknown(format!("`{} --version` did not respond", program.display())),
    }
}

/// The version in the first line, once the line is complete.
fn first_line(said: &[u8]) -> Option<Version> {
    let end = said.iter().position(|byte| *byte == b'\n')?;
    Version::find(&String::from_utf8_lossy(&said[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saying(script: &str) -> ClientVersion {
        let child = Command::new("/bin/sh")
            .args(["-c", script])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        listen(child, Path::new("claude"), Duration::from_millis(1500), || ())
    }

    #[test]
    fn a_client_that_answers_is_believed_whatever_its_exit_code() {
        assert_eq!(saying("echo '2.1.328 (Claude Code)'; exit 3"), ClientVersion::Known(Version(2, 1, 328)));
    }

    #[test]
    fn a_complaint_about_something_else_is_not_taken_for_the_version() {
        let script = "echo 'node 18.0.0 will not do for long'; sleep 0.1; echo '2.1.328 (Claude Code)'";
        assert_eq!(saying(script), ClientVersion::Known(Version(2, 1, 328)));
    }

    #[test]
    fn a_client_that_hangs_is_ended_with_its_children() {
        let ClientVersion::Unknown(why) = saying("sleep 1000 & sleep 1000") else {
            panic!("no version was said")
        };
        assert_eq!(why, "`claude --version` did not respond");
    }

    #[test]
    fn what_was_said_counts_whoever_holds_the_pipe() {
        for script in
            ["echo 2.1.328; sleep 1000 &", "printf 2.1.328; sleep 1000 &", "echo 2.1.328; sleep 1000"]
        {
            assert_eq!(saying(script), ClientVersion::Known(Version(2, 1, 328)), "{script}");
        }
    }

    #[test]
    fn nonsense_is_no_version() {
        for script in ["echo hello", "true", "head -c 100000 /dev/zero", "printf '\\377\\376'"] {
            assert_eq!(
                saying(script),
                ClientVersion::Unknown("`claude --version` printed no version".to_owned())
            );
        }
    }
}
