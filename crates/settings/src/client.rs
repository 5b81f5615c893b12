//! Asks Claude Code for its version.

use std::io::{self, ErrorKind};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::version::Version;
use teamkeep_system::command::find;
use teamkeep_system::env::Env;
use teamkeep_system::paths::Paths;
use teamkeep_system::process::{MAX_OUTPUT_BYTES, Outcome, Progress, Run};

/// The name of Claude Code's program.
const NAME: &str = "claude";
/// Time limit for the version. A version that runs in node took five seconds on a busy machine, and without an answer
/// the hooks of later events are omitted.
pub const TIMEOUT: Duration = Duration::from_secs(10);
/// How much of that passes before a notice is printed.
const QUIET_PERIOD: Duration = Duration::from_secs(1);

/// The known version of Claude Code, or why it is unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientVersion {
    Known(Version),
    Unknown(String),
}

#[derive(Debug, Clone)]
pub struct VersionProbe {
    /// The program that was asked, as called; `None` if there is none.
    pub at: Option<PathBuf>,
    pub answer: ClientVersion,
}

/// Asks the first program found on the search path, or else where its installers put it. `notify` is called if it takes
/// long.
pub fn probe(env: &Env, paths: &Paths, mut notify: impl FnMut(&str)) -> VersionProbe {
    let installed = [
        paths.client.as_ref().map(|client| client.join("local").join(NAME)),
        env.home.as_ref().map(|home| home.join(".local/bin").join(NAME)),
    ];
    // Nothing in the current directory is run.
    let installed = installed.into_iter().flatten().filter(|path| path.is_absolute());
    let on_path = find(NAME, env).map(|found| (PathBuf::from(NAME), found));
    for (at, path) in on_path.into_iter().chain(installed.map(|path| (path.clone(), path))) {
        let call = format!("{} --version", at.display());
        let waiting = format!("waiting for `{call}`, {} seconds at most", TIMEOUT.as_secs());
        let mut command = Command::new(&path);
        command.arg("--version");
        let answer = match version_of(command, TIMEOUT, || notify(&waiting)) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => ClientVersion::Unknown(format!("cannot run {}: {error}", at.display())),
            Ok(Ok(version)) => ClientVersion::Known(version),
            Ok(Err(problem)) => ClientVersion::Unknown(format!("`{call}` {problem}")),
        };
        return VersionProbe { at: Some(at), answer };
    }
    VersionProbe { at: None, answer: ClientVersion::Unknown("`claude` not found in PATH".to_owned()) }
}

/// The version that a command prints, or the problem. Its output counts even if it does not end. `notify` is called if it
/// takes long.
fn version_of(
    command: Command,
    limit: Duration,
    mut notify: impl FnMut(),
) -> io::Result<Result<Version, &'static str>> {
    let (mut output, mut is_notified) = (Vec::new(), false);
    let outcome = Run::new(command, limit).supervise(|progress| {
        match progress {
            Progress::Output(bytes) => output.extend_from_slice(bytes),
            Progress::Running(time) if time >= QUIET_PERIOD && !is_notified => {
                is_notified = true;
                notify();
            }
            Progress::Running(_) => {}
        }
        if output.len() > MAX_OUTPUT_BYTES { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    let version = Version::find(&String::from_utf8_lossy(&output));
    Ok(version.ok_or(match outcome {
        Outcome::TimedOut => "did not respond",
        Outcome::Ended(_) | Outcome::Stopped => "printed no version",
    }))
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
    fn version_counts_with_any_exit_code() {
        assert_eq!(printed("echo '2.1.328 (Claude Code)'; exit 3"), Ok(Version(2, 1, 328)));
    }

    #[test]
    fn version_of_another_program_is_ignored() {
        let script = "echo 'node 18.0.0 will not do for long'; sleep 0.1; echo '2.1.328 (Claude Code)'";
        assert_eq!(printed(script), Ok(Version(2, 1, 328)));
    }

    #[test]
    fn hanging_client_is_killed_with_its_children() {
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
    fn output_without_a_version_is_reported() {
        for script in ["echo hello", "true", "head -c 100000 /dev/zero", "printf '\\377\\376'"] {
            assert_eq!(printed(script), Err("printed no version"));
        }
    }
}
