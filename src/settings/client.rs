//! Asks Claude Code for its version.

use std::io::{self, ErrorKind};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::env::Env;
use crate::paths::Paths;
use crate::process::supervise::{Outcome, Progress, Run};
use crate::settings::command::find;
use crate::settings::version::Version;

/// The name of Claude Code's program.
const NAME: &str = "claude";
/// How long the process may take to end after it printed its version.
const KILL_GRACE: Duration = Duration::from_millis(500);
/// Time limit for the version. A version that runs in node took five seconds on a busy machine, and without an answer
/// the hooks of later events are omitted.
pub const TIMEOUT: Duration = Duration::from_secs(10);
/// How much of that passes before a notice is printed.
const QUIET_PERIOD: Duration = Duration::from_secs(1);
/// Maximum output in bytes.
const MAX_OUTPUT_BYTES: usize = 16 * 1024;

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
pub fn ask(env: &Env, paths: &Paths, say: impl FnMut(&str)) -> ClientVersion {
    look(env, paths, say).answer
}

/// Like [`ask`], and returns which program it was.
pub fn look(env: &Env, paths: &Paths, mut say: impl FnMut(&str)) -> VersionProbe {
    let mut places: Vec<(PathBuf, PathBuf)> = Vec::new();
    places.extend(find(NAME, env).map(|found| (PathBuf::from(NAME), found)));
    let installed = [
        paths.client.as_ref().map(|client| client.join("local").join(NAME)),
        env.home.as_ref().map(|home| home.join(".local/bin").join(NAME)),
    ];
    // Nothing in the current directory is run.
    let installed = installed.into_iter().flatten().filter(|path| path.is_absolute());
    places.extend(installed.map(|path| (path.clone(), path)));
    for (at, path) in places {
        let waiting =
            format!("waiting for `{} --version`, {} seconds at most", at.display(), TIMEOUT.as_secs());
        let mut command = Command::new(&path);
        command.arg("--version");
        match version_of(command, TIMEOUT, || say(&waiting)) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => {
                let why = format!("cannot run {}: {error}", at.display());
                return VersionProbe { at: Some(at), answer: ClientVersion::Unknown(why) };
            }
            Ok(Ok(version)) => return VersionProbe { at: Some(at), answer: ClientVersion::Known(version) },
            Ok(Err(problem)) => {
                let why = format!("`{} --version` {problem}", at.display());
                return VersionProbe { at: Some(at), answer: ClientVersion::Unknown(why) };
            }
        }
    }
    let nowhere = "`claude` not found in PATH".to_owned();
    VersionProbe { at: None, answer: ClientVersion::Unknown(nowhere) }
}

/// The version that a command prints, or the problem. Its output counts even if it then hangs. `notify` is called if it
/// takes long.
fn version_of(
    command: Command,
    limit: Duration,
    mut notify: impl FnMut(),
) -> io::Result<Result<Version, &'static str>> {
    let (mut output, mut complete_at, mut is_notified) = (Vec::new(), None, false);
    let outcome = Run::new(command, limit).supervise(|progress| {
        match progress {
            Progress::Output(bytes) => output.extend_from_slice(bytes),
            Progress::Running(time) => {
                if complete_at.is_none() && first_line(&output).is_some() {
                    complete_at = Some(time);
                }
                if complete_at.is_none() && time >= QUIET_PERIOD && !is_notified {
                    is_notified = true;
                    notify();
                }
                if complete_at.is_some_and(|since| time >= since + KILL_GRACE) {
                    return ControlFlow::Break(());
                }
            }
        }
        if output.len() > MAX_OUTPUT_BYTES { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    let version = Version::find(&String::from_utf8_lossy(&output));
    Ok(version.ok_or(match outcome {
        Outcome::TimedOut => "did not respond",
        Outcome::Ended(_) | Outcome::Stopped => "printed no version",
    }))
}

/// The version in the first line, once the line is complete.
fn first_line(said: &[u8]) -> Option<Version> {
    let end = said.iter().position(|byte| *byte == b'\n')?;
    Version::find(&String::from_utf8_lossy(&said[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(script: &str) -> Result<Version, &'static str> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        version_of(command, Duration::from_millis(1500), || ()).unwrap()
    }

    #[test]
    fn a_version_counts_whatever_the_exit_code() {
        assert_eq!(printed("echo '2.1.328 (Claude Code)'; exit 3"), Ok(Version(2, 1, 328)));
    }

    #[test]
    fn a_complaint_about_something_else_is_not_taken_for_the_version() {
        let script = "echo 'node 18.0.0 will not do for long'; sleep 0.1; echo '2.1.328 (Claude Code)'";
        assert_eq!(printed(script), Ok(Version(2, 1, 328)));
    }

    #[test]
    fn a_client_that_hangs_is_ended_with_its_children() {
        assert_eq!(printed("sleep 1000 & sleep 1000"), Err("did not respond"));
    }

    #[test]
    fn output_counts_even_if_a_process_holds_the_pipe() {
        for script in
            ["echo 2.1.328; sleep 1000 &", "printf 2.1.328; sleep 1000 &", "echo 2.1.328; sleep 1000"]
        {
            assert_eq!(printed(script), Ok(Version(2, 1, 328)), "{script}");
        }
    }

    #[test]
    fn nonsense_is_no_version() {
        for script in ["echo hello", "true", "head -c 100000 /dev/zero", "printf '\\377\\376'"] {
            assert_eq!(printed(script), Err("printed no version"));
        }
    }
}
