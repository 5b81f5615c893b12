//! A home of its own for a command, with a client that is none.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use teamkeep_system::os;
use tempfile::TempDir;

use super::programs::{link_programs, pass_system_variables, program_name, put_client};
use super::sandbox::{native, unix_paths};
use super::scratch::scratch;

/// Settings that somebody has made.
pub const MINE: &str = "{\n    \"model\": \"opus\",\n    \"hooks\": {\n        \"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}]\n    },\n    \"env\": {\"A\": \"1\"}\n}\n";

/// A home with this program and a client on the search path.
pub struct Home {
    pub dir: TempDir,
}

/// What a command said, with the home spelled `~`.
pub struct CommandResult {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Home {
    pub fn new() -> Home {
        let home = Home { dir: scratch() };
        std::fs::create_dir_all(home.at("bin")).unwrap();
        std::fs::create_dir_all(home.at(".claude")).unwrap();
        link_programs(&home.at("bin"));
        home.client("2.1.332 (Claude Code)");
        home
    }

    pub fn with(settings: &str) -> Home {
        let home = Home::new();
        home.write(settings);
        home
    }

    pub fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join(native(path))
    }

    /// A program in the directory of the search path.
    pub fn program(&self, name: &str) -> PathBuf {
        self.at("bin").join(program_name(name))
    }

    /// A program as hooks call it: for a POSIX shell, with slashes on Windows, too.
    pub fn hook_command(&self, name: &str) -> String {
        self.program(name).to_str().unwrap().replace(std::path::MAIN_SEPARATOR, "/")
    }

    /// Removes the client.
    pub fn remove_client(&self) {
        std::fs::remove_file(put_client(&self.at("bin"))).unwrap();
    }

    pub fn settings(&self) -> PathBuf {
        self.at(".claude/settings.json")
    }

    pub fn write(&self, settings: &str) {
        std::fs::write(self.settings(), settings).unwrap();
    }

    pub fn read(&self) -> String {
        std::fs::read_to_string(self.settings()).unwrap()
    }

    /// Puts a client on the search path that says this.
    pub fn client(&self, says: &str) {
        put_client(&self.at("bin"));
        std::fs::write(self.at("bin/claude.says"), format!("{says}\n")).unwrap();
    }

    pub fn command(&self, line: &str) -> Command {
        self.command_of(&self.program("teamkeep"), line)
    }

    /// The same with a program at another place.
    pub fn command_of(&self, program: &Path, line: &str) -> Command {
        let mut command = Command::new(program);
        command.args(line.split_whitespace()).env_clear().current_dir(self.dir.path());
        pass_system_variables(&mut command);
        command.env(os::HOME_VARIABLE, self.dir.path()).env("PATH", self.at("bin")).env("TZ", "UTC");
        command.env("TEAMKEEP_NOW", "2026-02-03T04:05:06.789Z");
        // No variable names the directories of Windows in which they are otherwise.
        let config = self.at(".config/teamkeep/teamkeep.toml");
        if cfg!(windows) {
            command.env("TEAMKEEP_HOME", self.at(".local/share/teamkeep"));
            command.envs(config.exists().then_some(("TEAMKEEP_CONFIG", config)));
        }
        command
    }

    pub fn run(&self, line: &str) -> CommandResult {
        result(self.dir.path(), &mut self.command(line))
    }

    /// Runs it and expects success.
    pub fn ok(&self, line: &str) -> CommandResult {
        let result = self.run(line);
        assert_eq!(result.code, Some(0), "{line}: {}", result.err);
        result
    }

    /// Installs: the hooks are in the file then, and there is a warning when the client does not read the file.
    pub fn install(&self) -> CommandResult {
        let result = self.run("install");
        let after = self.read();
        let strict =
            serde_json::from_str::<serde::de::IgnoredAny>(after.trim_start_matches('\u{feff}')).is_ok();
        assert_eq!(result.code, Some(0), "{}", result.err);
        assert_eq!(result.err.contains("warning: the hooks in "), !strict, "{}", result.err);
        result
    }

    /// Every file and link of the home with its content.
    pub fn everything(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let (mut all, mut dirs) = (BTreeMap::new(), vec![self.dir.path().to_path_buf()]);
        while let Some(dir) = dirs.pop() {
            for entry in std::fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    dirs.push(path);
                } else {
                    let content = std::fs::read(&path).unwrap_or_default();
                    all.insert(path, content);
                }
            }
        }
        all
    }

    pub fn installs(&self) -> PathBuf {
        self.at(".local/share/teamkeep/installs")
    }

    /// The record of the one install that there is.
    pub fn record(&self) -> PathBuf {
        let mut records = std::fs::read_dir(self.installs()).unwrap().map(|entry| entry.unwrap().path());
        records.find(|path| path.extension().is_some_and(|kind| kind == "json")).unwrap()
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(self.read().trim_start_matches('\u{feff}')).unwrap()
    }
}

/// Runs a command and takes down what it says.
pub fn result(home: &Path, command: &mut Command) -> CommandResult {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| unix_paths(&String::from_utf8(bytes).unwrap(), home, "~");
    CommandResult { code: output.status.code(), out: text(output.stdout), err: hashes(&text(output.stderr)) }
}

/// Spells the hashes in the names of kept files as `#`.
fn hashes(text: &str) -> String {
    let is_hash = |word: &str| word.len() == 16 && word.chars().all(|c| c.is_ascii_hexdigit());
    let words = text.split_inclusive(['/', '-', '.', '\n', ' ']);
    words
        .map(
            |word| {
                if is_hash(&word[..word.len() - 1]) { format!("#{}", &word[16..]) } else { word.to_owned() }
            },
        )
        .collect()
}
