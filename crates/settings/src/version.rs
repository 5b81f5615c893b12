//! A version of Claude Code, the events that each version has, and the version that is installed here.

use std::fmt;
use std::io::{self, ErrorKind};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::Command;
use std::str::FromStr;
use std::time::Duration;

use teamkeep_system::command::find;
use teamkeep_system::env::Env;
use teamkeep_system::paths::Paths;
use teamkeep_system::process::{MAX_OUTPUT_BYTES, Outcome, Progress, Run};

/// A version as `claude --version` prints it, without anything after the third number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32, pub u32);

/// The text after the version in the output of `claude --version`.
const PRODUCT: &str = "(Claude Code)";

/// The first version with agent teams and their events.
pub const FIRST_WITH_TEAMS: Version = Version(2, 1, 33);
/// The first version that reads drop-in files of managed settings.
pub const FIRST_WITH_DROP_INS: Version = Version(2, 1, 83);
/// The last version seen to run a command once that several files have with different matchers or timeouts.
pub const LAST_COMPARING_COMMANDS: Version = Version(2, 1, 177);
/// The first version that ignores an unknown event; earlier ones skip the whole file.
pub const FIRST_LENIENT: Version = Version(2, 1, 101);
/// The first version seen to ignore only a malformed hook, at most events; 2.1.250 and earlier skip the whole file.
pub const FIRST_SKIPPING_HOOKS: Version = Version(2, 1, 328);
/// The first version that runs a hook's command without a shell (`args`).
pub const FIRST_WITH_ARGS: Version = Version(2, 1, 139);
/// The newest checked version.
pub const NEWEST: Version = Version(2, 1, 332);

/// The first version with each recorded event. Before 2.1.101 Claude Code ignores a whole settings file with an
/// unknown event. All other recorded events are older than agent teams.
pub const SINCE: &[(&str, Version)] = &[
    ("SubagentStart", Version(2, 0, 43)),
    ("PermissionRequest", Version(2, 0, 45)),
    ("TeammateIdle", Version(2, 1, 33)),
    ("TaskCompleted", Version(2, 1, 33)),
    ("StopFailure", Version(2, 1, 78)),
    ("FileChanged", Version(2, 1, 83)),
    ("TaskCreated", Version(2, 1, 84)),
    ("PreSkillShellCommand", Version(2, 1, 332)),
];

/// The first version of events that other tools may have hooks for.
const OTHERS: &[(&str, Version)] = &[
    ("ConfigChange", Version(2, 1, 49)),
    ("WorktreeCreate", Version(2, 1, 50)),
    ("WorktreeRemove", Version(2, 1, 50)),
    ("CwdChanged", Version(2, 1, 83)),
];

/// Events by the first checked version that has them, with the last one that does not. The oldest checked version is
/// 2.1.47.
#[rustfmt::skip]
const RANGES: &[(Version, Version, &[&str])] = &[
    (Version(0, 0, 0), Version(0, 0, 0), &[
        "PreToolUse", "PostToolUse", "PostToolUseFailure", "Notification", "UserPromptSubmit", "SessionStart",
        "SessionEnd", "Stop", "SubagentStop", "PreCompact", "Setup",
    ]),
    (Version(2, 1, 47), Version(2, 1, 177), &[
        "PostToolBatch", "UserPromptExpansion", "PostCompact", "PermissionDenied", "Elicitation", "ElicitationResult",
        "InstructionsLoaded", "MessageDisplay",
    ]),
    (Version(2, 1, 177), Version(2, 1, 328), &["PreModelSwitch", "PostModelSwitch", "DirectoryAdded"]),
];

/// The first version with an event, if it was added later and that is documented.
pub fn since(event: &str) -> Option<Version> {
    SINCE.iter().chain(OTHERS).find(|(name, _)| *name == event).map(|(_, since)| *since)
}

/// Whether any version is known to have an event.
pub fn exists(event: &str) -> bool {
    since(event).is_some() || RANGES.iter().any(|(_, _, events)| events.contains(&event))
}

/// Whether a version has an event; `None` if unknown.
pub fn knows(client: Version, event: &str) -> Option<bool> {
    if let Some(since) = since(event) {
        return Some(client >= since);
    }
    match RANGES.iter().find(|(_, _, events)| events.contains(&event)) {
        Some((_, with, _)) if client >= *with => Some(true),
        Some((without, _, _)) => (client <= *without).then_some(false),
        // A newer version may have it.
        None => (client <= NEWEST).then_some(false),
    }
}

impl Version {
    /// Finds the `X.Y.Z` in the output of `claude --version`: the one before the product's name, else the first.
    pub fn find(text: &str) -> Option<Version> {
        let named = text.lines().filter_map(|line| line.trim_end().strip_suffix(PRODUCT));
        named.chain([text]).find_map(|text| {
            text.split(|c: char| c.is_whitespace() || c == '(' || c == ')')
                .find_map(|word| word.trim_start_matches('v').parse().ok())
        })
    }
}

impl FromStr for Version {
    type Err = String;

    /// Parses `X.Y.Z`; a suffix such as `-beta.1` is ignored.
    fn from_str(text: &str) -> Result<Version, String> {
        let core = text.split(['-', '+']).next().unwrap_or_default();
        let number = |part: &str| {
            part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse::<u32>().ok()).flatten()
        };
        match core.split('.').map(number).collect::<Vec<_>>()[..] {
            [Some(major), Some(minor), Some(patch)] => Ok(Version(major, minor, patch)),
            _ => Err(format!("invalid version `{text}`; expected a value such as 2.1.139")),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// The name of Claude Code's program.
const PROGRAM_NAME: &str = "claude";
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
        paths.client.as_ref().map(|client| client.join("local").join(PROGRAM_NAME)),
        env.home.as_ref().map(|home| home.join(".local/bin").join(PROGRAM_NAME)),
    ];
    // Nothing in the current directory is run.
    let installed = installed.into_iter().flatten().filter(|path| path.is_absolute());
    let on_path = find(PROGRAM_NAME, env).map(|found| (PathBuf::from(PROGRAM_NAME), found));
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

    #[test]
    fn version_is_found_in_client_output() {
        assert_eq!(Version::find("2.1.328 (Claude Code)\n"), Some(Version(2, 1, 328)));
        assert_eq!(Version::find("warning: old node\nclaude v2.1.47\n"), Some(Version(2, 1, 47)));
        assert_eq!(Version::find("node 18.0.0 is old\n2.1.47 (Claude Code)\n"), Some(Version(2, 1, 47)));
        assert_eq!(Version::find("2.2.0-beta.1"), Some(Version(2, 2, 0)));
        for nonsense in ["", "segmentation fault", "2.1", "1.2.3.4", "2.1.99999999999", "2..1", "+2.1.3"] {
            assert_eq!(Version::find(nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn versions_are_ordered_by_number() {
        assert!(Version(2, 1, 139) > Version(2, 1, 47));
        assert!(Version(2, 2, 0) > Version(2, 1, 999));
    }

    #[test]
    fn client_has_an_event_or_not_or_it_is_unknown() {
        for (client, event, known) in [
            (Version(2, 1, 47), "Stop", Some(true)),
            (Version(2, 1, 400), "Stop", Some(true)),
            (Version(2, 1, 83), "TaskCreated", Some(false)),
            (Version(2, 1, 84), "TaskCreated", Some(true)),
            (Version(2, 1, 47), "PostCompact", Some(false)),
            (Version(2, 1, 100), "PostCompact", None),
            (Version(2, 1, 177), "PostCompact", Some(true)),
            (Version(2, 1, 177), "DirectoryAdded", Some(false)),
            (Version(2, 1, 328), "DirectoryAdded", Some(true)),
            (Version(2, 1, 47), "Bogus", Some(false)),
            (Version(2, 1, 328), "Bogus", Some(false)),
            (Version(2, 1, 332), "Bogus", Some(false)),
            (Version(2, 1, 333), "Bogus", None),
            (Version(2, 1, 330), "PreSkillShellCommand", Some(false)),
            (Version(2, 1, 332), "PreSkillShellCommand", Some(true)),
        ] {
            assert_eq!(knows(client, event), known, "{client} {event}");
        }
        assert!(exists("PostCompact") && exists("ConfigChange") && !exists("Bogus"));
    }

    fn printed(script: &str) -> Result<Version, &'static str> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        version_of(command, Duration::from_millis(1500), || ()).unwrap()
    }

    #[cfg_attr(windows, ignore = "needs a POSIX shell")]
    #[test]
    fn version_counts_with_any_exit_code() {
        assert_eq!(printed("echo '2.1.328 (Claude Code)'; exit 3"), Ok(Version(2, 1, 328)));
    }

    #[cfg_attr(windows, ignore = "needs a POSIX shell")]
    #[test]
    fn version_of_another_program_is_ignored() {
        let script = "echo 'node 18.0.0 will not do for long'; sleep 0.1; echo '2.1.328 (Claude Code)'";
        assert_eq!(printed(script), Ok(Version(2, 1, 328)));
    }

    #[cfg_attr(windows, ignore = "needs a POSIX shell")]
    #[test]
    fn hanging_client_is_killed_with_its_children() {
        assert_eq!(printed("sleep 1000 & sleep 1000"), Err("did not respond"));
    }

    #[cfg_attr(windows, ignore = "needs a POSIX shell")]
    #[test]
    fn output_counts_even_if_a_process_holds_the_pipe() {
        for script in
            ["echo 2.1.328; sleep 1000 &", "printf 2.1.328; sleep 1000 &", "echo 2.1.328; sleep 1000"]
        {
            assert_eq!(printed(script), Ok(Version(2, 1, 328)), "{script}");
        }
    }

    #[cfg_attr(windows, ignore = "needs a POSIX shell")]
    #[test]
    fn output_without_a_version_is_reported() {
        for script in ["echo hello", "true", "head -c 100000 /dev/zero", "printf '\\377\\376'"] {
            assert_eq!(printed(script), Err("printed no version"));
        }
    }
}
