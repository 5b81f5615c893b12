//! Asks the client which version it is, and takes no answer for an answer.

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

/// What the client is called.
const NAME: &str = "claude";
/// How long a client that has said its version may take to end.
const GRACE: Duration = Duration::from_millis(500);
/// How long the client may take to say its version. One that runs in node was seen to take five seconds on a busy
/// machine, and without an answer the hooks of later events are left out.
const PATIENCE: Duration = Duration::from_secs(10);
/// How much of that passes without a word.
const SILENCE: Duration = Duration::from_secs(1);
/// More than this is no version.
const MOST: u64 = 16 * 1024;

/// What is known of the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Client {
    /// It said its version, or the user did.
    Known(Version),
    /// It did not, for this reason.
    Unknown(String),
}

/// What came of asking.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The client that was asked, as it was called; `None` when there is none.
    pub at: Option<PathBuf>,
    /// What it said.
    pub answer: Client,
}

/// Asks the first client that there is: on the search path, else where its own installers put it. When it takes
/// its time, `say` is told what is waited for.
pub fn ask(env: &Env, paths: &Paths, say: impl FnOnce(&str)) -> Client {
    look(env, paths, say).answer
}

/// Asks as [`ask`] does, and says which client it was.
pub fn look(env: &Env, paths: &Paths, say: impl FnOnce(&str)) -> Asked {
    let mut places: Vec<(PathBuf, PathBuf)> = Vec::new();
    places.extend(find(NAME, env).map(|found| (PathBuf::from(NAME), found)));
    let installed = [
        paths.client.as_ref().map(|client| client.join("local").join(NAME)),
        env.home.as_ref().map(|home| home.join(".local/bin").join(NAME)),
    ];
    // Nothing of the current directory is run.
    let installed = installed.into_iter().flatten().filter(|path| path.is_absolute());
    places.extend(installed.map(|path| (path.clone(), path)));
    for (place, path) in places {
        match start(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => {
                let why = format!("cannot run {}: {error}", place.display());
                return Asked { at: Some(place), answer: Client::Unknown(why) };
            }
            Ok(child) => {
                let waiting = format!(
                    "waiting for `{} --version`, {} seconds at most",
                    place.display(),
                    PATIENCE.as_secs()
                );
                let answer = listen(child, &place, PATIENCE, || say(&waiting));
                return Asked { at: Some(place), answer };
            }
        }
    }
    let nowhere = "no `claude` was found on the search path".to_owned();
    Asked { at: None, answer: Client::Unknown(nowhere) }
}

/// Starts it in a process group of its own, so that it can be ended with all that it started.
fn start(program: &Path) -> std::io::Result<Child> {
    Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
}

/// Reads what it says. A client that hangs, or leaves somebody behind who holds its output, is ended; what it said until
/// then counts.
fn listen(mut child: Child, program: &Path, patience: Duration, slow: impl FnOnce()) -> Client {
    let (sender, receiver) = mpsc::channel();
    let stdout = child.stdout.take();
    std::thread::spawn(move || {
        let mut stdout = stdout.map(|stdout| stdout.take(MOST));
        let mut part = [0; 1024];
        // The end is told by the sender's.
        while let Some(length) =
            stdout.as_mut().and_then(|stdout| stdout.read(&mut part).ok()).filter(|n| *n > 0)
        {
            if sender.send(part[..length].to_vec()).is_err() {
                return;
            }
        }
    });
    let (start, mut slow) = (Instant::now(), Some(slow));
    let (mut said, mut until, mut ended) = (Vec::new(), SILENCE.min(patience), false);
    loop {
        match receiver.recv_timeout(until.saturating_sub(start.elapsed())) {
            Ok(part) => {
                said.extend(part);
                if first_line(&said).is_some() {
                    // All is said, and what it still has to do it may.
                    slow = None;
                    until = (start.elapsed() + GRACE).min(patience);
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
        Some(version) => Client::Known(version),
        None if ended => Client::Unknown(format!("`{} --version` named no version", program.display())),
        None => Client::Unknown(format!("`{} --version` gave no answer", program.display())),
    }
}

/// The version in the first line, once that is whole.
fn first_line(said: &[u8]) -> Option<Version> {
    let end = said.iter().position(|byte| *byte == b'\n')?;
    Version::find(&String::from_utf8_lossy(&said[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saying(script: &str) -> Client {
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
        assert_eq!(saying("echo '2.1.328 (Claude Code)'; exit 3"), Client::Known(Version(2, 1, 328)));
    }

    #[test]
    fn a_complaint_about_something_else_is_not_taken_for_the_version() {
        let script = "echo 'node 18.0.0 will not do for long'; sleep 0.1; echo '2.1.328 (Claude Code)'";
        assert_eq!(saying(script), Client::Known(Version(2, 1, 328)));
    }

    #[test]
    fn a_client_that_hangs_is_ended_with_its_children() {
        let Client::Unknown(why) = saying("sleep 1000 & sleep 1000") else { panic!("no version was said") };
        assert_eq!(why, "`claude --version` gave no answer");
    }

    #[test]
    fn what_was_said_counts_whoever_holds_the_pipe() {
        for script in
            ["echo 2.1.328; sleep 1000 &", "printf 2.1.328; sleep 1000 &", "echo 2.1.328; sleep 1000"]
        {
            assert_eq!(saying(script), Client::Known(Version(2, 1, 328)), "{script}");
        }
    }

    #[test]
    fn nonsense_is_no_version() {
        for script in ["echo hello", "true", "head -c 100000 /dev/zero", "printf '\\377\\376'"] {
            assert_eq!(saying(script), Client::Unknown("`claude --version` named no version".to_owned()));
        }
    }
}
