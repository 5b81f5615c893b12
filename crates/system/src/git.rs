//! Runs git where agents work, without running a program that the repository's configuration names.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::os;
use crate::process::{Outcome, Run, program};

/// Variables that would point git to another repository or to a program, and a secret that it does not need. Git sets
/// most of them for its hooks.
const REMOVED_VARIABLES: [&str; 17] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_ATTR_SOURCE",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_DIR",
    "GIT_EXTERNAL_DIFF",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
    "CLAUDE_CODE_MESSAGING_TOKEN",
];
/// Settings with which git starts no program of the configuration, writes no cache, and rejects no line endings.
const SETTINGS: [&str; 9] = [
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    // The part that several indexes share is a file in the repository.
    "core.splitIndex=false",
    // `git log` would run gpg, and print its output before the format.
    "log.showSignature=false",
    // New objects are only written to a scratch directory: time matters more than size.
    "core.looseCompression=0",
    "core.quotePath=true",
    "core.hooksPath=/dev/null",
    "core.safecrlf=false",
    "protocol.allow=never",
];
/// Takes no lock, asks nothing, fetches nothing whatever the configuration allows, and reads objects unreplaced.
const VARIABLES: [(&str, &str); 5] = [
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
];
/// Variables with the values of settings.
const OFF: (&str, &str) = ("TEAMKEEP_GIT_OFF", "false");
const EMPTY: (&str, &str) = ("TEAMKEEP_GIT_EMPTY", "");

/// Commands in one directory that share a deadline.
#[derive(Debug)]
pub struct Git {
    dir: PathBuf,
    pub until: Instant,
    settings: Vec<OsString>,
    variables: Vec<(&'static str, OsString)>,
}

impl Git {
    pub fn new(dir: &Path, limit: Duration) -> Git {
        Git::until(dir, Instant::now() + limit)
    }

    pub fn until(dir: &Path, until: Instant) -> Git {
        Git { dir: dir.to_owned(), until, settings: Vec::new(), variables: Vec::new() }
    }

    /// Adds a variable for the commands that follow.
    pub fn set(&mut self, name: &'static str, value: impl Into<OsString>) {
        self.variables.push((name, value.into()));
    }

    /// Lets the commands that follow start no filter and no hook of the configuration: each file is read unchanged.
    pub fn disable_programs(&mut self) -> Option<()> {
        let listed = self.output(&["config", "--null", "--list", "--name-only"])?;
        let keys = || listed.split(|byte| *byte == 0);
        for name in subsections(keys(), b"filter.") {
            let empty = [".clean", ".smudge", ".process"].map(|key| setting("filter", name, key, EMPTY));
            self.settings.extend(empty);
            self.settings.push(setting("filter", name, ".required", OFF));
        }
        // Git 2.54 and later run hooks of the configuration beside those of core.hooksPath.
        for name in subsections(keys(), b"hook.") {
            self.settings.push(setting("hook", name, ".enabled", OFF));
        }
        Some(())
    }

    /// The output without the newline at its end.
    pub fn line(&self, args: &[&str]) -> Option<Vec<u8>> {
        self.output(args)?.strip_suffix(b"\n").map(<[u8]>::to_vec)
    }

    /// The output of a command; `None` if it fails or takes too long.
    pub fn output(&self, args: &[&str]) -> Option<Vec<u8>> {
        self.output_of(Stdio::null(), args, usize::MAX)
    }

    /// The output of a command that reads this; `None` also if it has more than `most` bytes.
    pub(crate) fn output_of(&self, stdin: impl Into<Stdio>, args: &[&str], most: usize) -> Option<Vec<u8>> {
        let mut command = program("git");
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command.args(&self.settings).args(args).current_dir(&self.dir);
        for name in REMOVED_VARIABLES {
            command.env_remove(name);
        }
        command
            .envs(VARIABLES)
            .envs([OFF, EMPTY])
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        let left = self.until.saturating_duration_since(Instant::now());
        let run = Run { stdin: stdin.into(), ..Run::new(command, left) };
        match run.collect(most).ok()? {
            (Outcome::Ended(status), output) if status.success() => Some(output),
            _ => None,
        }
    }
}

/// The names between a section and the last dot of keys. They can contain any byte but a newline.
fn subsections<'a>(keys: impl Iterator<Item = &'a [u8]>, section: &[u8]) -> BTreeSet<&'a [u8]> {
    let name = |key: &'a [u8]| {
        let rest = key.strip_prefix(section)?;
        Some(&rest[..rest.iter().rposition(|byte| *byte == b'.')?])
    };
    keys.filter_map(name).collect()
}

/// An option that sets a key to the value of a variable. With `-c`, a key ends at its first `=`.
fn setting(section: &str, name: &[u8], key: &str, (variable, _): (&str, &str)) -> OsString {
    let [section, key, variable] = [section, key, variable].map(str::as_bytes);
    os::files::os_string([b"--config-env=", section, b".", name, key, b"=", variable].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_filters_and_hooks_are_complete() {
        let keys: [&[u8]; 6] = [
            b"filter.a.clean",
            b"filter.a.b=c.clean",
            b"filter.\xff.process",
            b"filter.x",
            b"hook.a.event",
            b"a.b",
        ];
        let names = |section| subsections(keys.into_iter(), section).into_iter().collect::<Vec<_>>();
        assert_eq!(names(b"filter."), [b"a".as_slice(), b"a.b=c", b"\xff"]);
        assert_eq!(names(b"hook."), [b"a"]);
        #[cfg(unix)]
        let option = setting("filter", b"a.b=\xff", ".clean", EMPTY);
        #[cfg(unix)]
        assert_eq!(option.as_encoded_bytes(), b"--config-env=filter.a.b=\xff.clean=TEAMKEEP_GIT_EMPTY");
    }
}
