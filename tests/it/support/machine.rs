//! A machine of its own: the directories of the system are scratch directories, in a mount namespace. So nothing has to
//! allow users to choose other directories.

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Output};

use tempfile::TempDir;

use super::sandbox::CommandResult;

/// Puts the scratch directories and the program in their places, then runs a command.
const ENTER: &str = r#"cd / && mount --bind "$0/var" /var/lib && mount --bind "$0/bin" /usr/local/bin &&
mount --bind "$PROGRAM" /usr/local/bin/teamkeep && mount --bind "$0/etc" /etc && eval "$BEFORE" && exec "$@""#;

/// A machine with this program in `/usr/local/bin`, and with root.
pub struct Machine {
    dir: TempDir,
}

/// How a command is run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum As {
    Root,
    User,
    /// As root, without a writable `/etc`.
    RootOfReadOnly,
}

impl Machine {
    /// None where the system allows no namespaces.
    pub fn new() -> Option<Machine> {
        let dir = tempfile::tempdir().unwrap();
        for name in ["etc", "var", "bin", "home"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        std::fs::write(dir.path().join("bin/teamkeep"), "").unwrap();
        // A link: a script written here would be busy while another test's child still has it open.
        let client = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/claude");
        symlink(client, dir.path().join("bin/claude")).unwrap();
        std::fs::write(dir.path().join("bin/claude.says"), "2.1.332 (Claude Code)\n").unwrap();
        let machine = Machine { dir };
        let is_possible = machine.output(As::Root, &["/bin/true"], &[]).status.success();
        is_possible.then_some(machine)
    }

    /// Takes Claude Code away.
    pub fn without_client(self) -> Machine {
        std::fs::remove_file(self.dir.path().join("bin/claude")).unwrap();
        self
    }

    /// A path of `/etc`.
    pub fn etc(&self, path: &str) -> PathBuf {
        self.dir.path().join("etc").join(path)
    }

    pub fn var(&self, path: &str) -> PathBuf {
        self.dir.path().join("var").join(path)
    }

    pub fn home(&self, path: &str) -> PathBuf {
        self.dir.path().join("home").join(path)
    }

    /// Writes a file of `/etc`, with its directory.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.etc(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.etc(path)).unwrap()
    }

    /// Every file and directory of `/etc` with its content.
    pub fn everything(&self) -> Vec<(PathBuf, Option<String>)> {
        let (mut all, mut dirs) = (Vec::new(), vec![self.etc("")]);
        while let Some(dir) = dirs.pop() {
            for entry in std::fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                let shown = path.strip_prefix(self.dir.path()).unwrap().to_path_buf();
                if path.is_dir() {
                    all.push((shown, None));
                    dirs.push(path);
                } else {
                    all.push((shown, std::fs::read_to_string(&path).ok()));
                }
            }
        }
        all.sort();
        all
    }

    pub fn run(&self, user: As, line: &str) -> CommandResult {
        self.run_with(user, line, &[])
    }

    pub fn run_with(&self, user: As, line: &str, env: &[(&str, &str)]) -> CommandResult {
        let words: Vec<&str> =
            ["/usr/local/bin/teamkeep"].into_iter().chain(line.split_whitespace()).collect();
        self.output(user, &words, env).into()
    }

    /// Runs it as root and expects success.
    pub fn ok(&self, line: &str) -> CommandResult {
        let result = self.run(As::Root, line);
        assert_eq!(result.code, Some(0), "{line}: {}", result.err);
        result
    }

    /// Calls the hook for a tool with this payload, as a user.
    pub fn hook(&self, payload: &serde_json::Value, env: &[(&str, &str)]) -> CommandResult {
        self.feed("hook pre-tool-use", payload, env)
    }

    /// Runs a command with this payload on stdin, as a user.
    pub fn feed(&self, line: &str, payload: &serde_json::Value, env: &[(&str, &str)]) -> CommandResult {
        let file = self.home("payload.json");
        std::fs::write(&file, payload.to_string()).unwrap();
        let line = format!("exec /usr/local/bin/teamkeep {line} <{}", file.display());
        self.output(As::User, &["/bin/sh", "-c", &line], env).into()
    }

    fn output(&self, user: As, words: &[&str], env: &[(&str, &str)]) -> Output {
        let before = if user == As::RootOfReadOnly { "mount -o remount,bind,ro /etc" } else { "true" };
        let mut command = Command::new("unshare");
        command.args(["--mount", "--map-root-user", "/bin/sh", "-c", ENTER]).arg(self.dir.path());
        if user == As::User {
            // A user namespace without a mapping: it does not run as root.
            command.args(["/usr/bin/unshare", "--user"]);
        }
        command.args(words).env_clear();
        command.env("PROGRAM", env!("CARGO_BIN_EXE_teamkeep")).env("BEFORE", before);
        command.env("HOME", self.dir.path().join("home")).env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command.env("TZ", "UTC").env("TEAMKEEP_NOW", "2026-02-03T04:05:06.789Z");
        command.envs(env.iter().copied()).output().unwrap()
    }
}
