//! Asks the client which version it is, and takes no answer for an answer.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use crate::env::Env;
use crate::paths::Paths;
use crate::settings::version::Version;

/// How long the client may take to say its version; a cold start on a busy machine takes a second or two.
const PATIENCE: Duration = Duration::from_secs(5);
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
    let mut places = vec![PathBuf::from("claude")];
    places.extend(paths.client.as_ref().map(|client| client.join("local/claude")));
    places.extend(env.home.as_ref().map(|home| home.join(".local/bin/claude")));
    for place in places {
        match start(&place) {
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

/// Reads what it says. A client that hangs, or leaves somebody behind who holds its output, is ended.
fn listen(mut child: Child, program: &Path, patience: Duration, slow: impl FnOnce()) -> Client {
    let (sender, receiver) = mpsc::channel();
    let stdout = child.stdout.take();
    std::thread::spawn(move || {
        let mut said = Vec::new();
        if let Some(stdout) = stdout {
            let _ = stdout.take(MOST).read_to_end(&mut said);
        }
        let _ = sender.send(said);
    });
    let silence = SILENCE.min(patience);
    let said = receiver.recv_timeout(silence).or_else(|_| {
        slow();
        receiver.recv_timeout(patience.saturating_sub(silence))
    });
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
    let Ok(said) = said else {
        return Client::Unknown(format!("`{} --version` gave no answer", program.display()));
    };
    match Version::find(&String::from_utf8_lossy(&said)) {
        Some(version) => Client::Known(version),
        None => Client::Unknown(format!("`{} --version` named no version", program.display())),
    }
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
    fn a_client_that_hangs_is_ended_with_its_children() {
        let Client::Unknown(why) = saying("sleep 1000 & sleep 1000") else { panic!("no version was said") };
        assert_eq!(why, "`claude --version` gave no answer");
    }

    #[test]
    fn nonsense_is_no_version() {
        for script in ["echo hello", "true", "head -c 100000 /dev/zero", "printf '\\377\\376'"] {
            assert_eq!(saying(script), Client::Unknown("`claude --version` named no version".to_owned()));
        }
    }
}
