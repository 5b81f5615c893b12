//! A scratch home: the client on PATH, its settings, and the environment that everything of a run gets.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

use super::version::Version;
use super::witness;

/// A key in the form of one, made up: the scripted API asks for none.
const KEY: &str = "sk-ant-api03-0000000000000000000000000000000000000000";

/// Settings as people write them: oddly spaced, somebody else's hooks in them, no line break at the end.
const SETTINGS: &str = r#"{
    "env": { "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS": "1" },

  "skipDangerousModePermissionPrompt":true,
  "hooks": HOOKS
}"#;

/// Where a run takes place.
pub struct Home {
    /// Everything of the run.
    pub root: PathBuf,
    /// What was in the settings at first.
    settings: String,
    env: Vec<(String, String)>,
}

impl Home {
    /// Makes it anew: the client, teamkeep, settings, and an empty project.
    pub fn new(
        root: PathBuf,
        version: Version,
        client: &[String],
        port: u16,
        tools: &[(&str, &str)],
        more: &[(&str, &str)],
    ) -> io::Result<Self> {
        if root.exists() {
            fs::remove_dir_all(&root)?;
        }
        for directory in ["home/.claude", "project", "bin"] {
            fs::create_dir_all(root.join(directory))?;
        }
        let quoted: Vec<String> = client.iter().map(|part| format!("'{part}'")).collect();
        let launcher = root.join("bin/claude");
        fs::write(&launcher, format!("#!/bin/sh\nexec {} \"$@\"\n", quoted.join(" ")))?;
        fs::set_permissions(&launcher, fs::Permissions::from_mode(0o755))?;
        fs::copy(env!("CARGO_BIN_EXE_teamkeep"), root.join("bin/teamkeep"))?;
        fs::copy(env!("CARGO_BIN_EXE_teamkeep-hook"), root.join("bin/teamkeep-hook"))?;
        let project = root.join("project");
        let known = json!({"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true, "projectOnboardingSeenCount": 9});
        let account = json!({
            "hasCompletedOnboarding": true, "lastOnboardingVersion": "9.9.9", "theme": "dark", "numStartups": 5,
            "bypassPermissionsModeAccepted": true, "customApiKeyResponses": {"approved": [&KEY[KEY.len() - 20..]], "rejected": []},
            "projects": {project.display().to_string(): known},
        });
        fs::write(root.join("home/.claude.json"), account.to_string())?;
        witness::place(&root)?;
        let settings = SETTINGS.replace(
            "HOOKS",
            &witness::hooks(&root, version, tools).to_string().replace("\":[{", "\" : [ {"),
        );
        fs::write(root.join("home/.claude/settings.json"), &settings)?;
        let path = std::env::var("PATH").unwrap_or_default();
        let mut env: Vec<(String, String)> = [
            ("HOME", root.join("home").display().to_string()),
            ("PATH", format!("{}:{path}", root.join("bin").display())),
            ("ANTHROPIC_BASE_URL", format!("http://127.0.0.1:{port}")),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        let fixed = [
            ("ANTHROPIC_API_KEY", KEY),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
            ("DISABLE_ERROR_REPORTING", "1"),
            ("DISABLE_TELEMETRY", "1"),
            ("IS_SANDBOX", "1"),
            ("LANG", "C.UTF-8"),
            ("TERM", "xterm-256color"),
        ];
        env.extend(fixed.iter().chain(more).map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let home = Self { root, settings, env };
        // A repository of its own: else the client finds the one that the target directory lies in.
        home.command("git").args(["init", "--quiet"]).status()?;
        Ok(home)
    }

    /// Writes the user's policy file.
    pub fn write_policy(&self, text: &str) -> io::Result<()> {
        let directory = self.root.join("home/.config/teamkeep");
        fs::create_dir_all(&directory)?;
        fs::write(directory.join("teamkeep.toml"), text)
    }

    /// Writes files of the project.
    pub fn write_files(&self, files: &[(&str, &str)]) -> io::Result<()> {
        for (path, text) in files {
            let path = self.root.join("project").join(path);
            fs::create_dir_all(path.parent().unwrap_or(&path))?;
            fs::write(path, text)?;
        }
        Ok(())
    }

    /// A command in the project, with the run's environment and no other.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(self.env.iter().cloned()).current_dir(self.root.join("project"));
        command
    }

    /// Runs teamkeep; what it prints. An exit code but 0 is a failure.
    pub fn teamkeep(&self, arguments: &[&str]) -> Result<String, String> {
        let Output { status, stdout, stderr } = self.output(arguments)?;
        let told = String::from_utf8_lossy(&stdout).into_owned();
        if status.success() {
            return Ok(told);
        }
        let why = String::from_utf8_lossy(&stderr);
        Err(format!("teamkeep {} ended with {status}: {why}{told}", arguments.join(" ")))
    }

    /// Runs teamkeep, however it ends.
    pub fn output(&self, arguments: &[&str]) -> Result<Output, String> {
        let program = self.root.join("bin/teamkeep");
        let output = self.command(&program.display().to_string()).args(arguments).output();
        output.map_err(|error| format!("cannot run teamkeep: {error}"))
    }

    /// What a command of teamkeep prints as JSON; of one that prints a value a line, all of them.
    pub fn json(&self, arguments: &[&str]) -> Result<Vec<Value>, String> {
        let told = self.teamkeep(&[arguments, &["--json"]].concat())?;
        let values: Result<Vec<Value>, _> = serde_json::Deserializer::from_str(&told).into_iter().collect();
        values.map_err(|error| format!("teamkeep {} prints no JSON: {error}", arguments.join(" ")))
    }

    /// What differs between the settings and what they were at first.
    pub fn settings_changed(&self) -> Option<String> {
        let now = self.settings_now();
        (now != self.settings).then(|| format!("it was\n{}\nand is\n{now}", self.settings))
    }

    /// What differs in their meaning, these keys left out where they hold nothing.
    pub fn settings_mean_else(&self, empty: &[&str]) -> Option<String> {
        let now = self.settings_now();
        let [before, mut after] =
            [&self.settings, &now].map(|text| serde_json::from_str::<Value>(text).unwrap_or_default());
        for key in empty {
            if after[*key] == json!({})
                && let Some(after) = after.as_object_mut()
            {
                after.remove(*key);
            }
        }
        (before != after).then(|| format!("it was\n{}\nand is\n{now}", self.settings))
    }

    /// Where teamkeep records.
    pub fn store(&self) -> PathBuf {
        let named = self.env.iter().find(|(name, _)| name == "TEAMKEEP_HOME").map(|(_, value)| value.into());
        named.unwrap_or_else(|| self.root.join("home/.local/share/teamkeep"))
    }

    /// Gives the user other settings.
    pub fn replace_settings(&mut self, settings: String) -> io::Result<()> {
        fs::write(self.root.join("home/.claude/settings.json"), &settings)?;
        self.settings = settings;
        Ok(())
    }

    pub fn settings_now(&self) -> String {
        fs::read_to_string(self.root.join("home/.claude/settings.json")).unwrap_or_default()
    }

    /// The names in the client's rosters.
    pub fn roster(&self) -> BTreeSet<String> {
        self.members().iter().filter_map(|member| member["name"].as_str().map(str::to_owned)).collect()
    }

    /// The tmux pane of a teammate.
    pub fn pane(&self, name: &str) -> Option<String> {
        let members = self.members();
        let member = members.iter().find(|member| member["name"] == name)?;
        member["tmuxPaneId"].as_str().map(str::to_owned)
    }

    /// The members in the client's rosters.
    fn members(&self) -> Vec<Value> {
        let rosters = self.left().into_iter().filter(|path| path.ends_with("/config.json"));
        let read = |path: String| fs::read(self.root.join("home/.claude").join(path)).ok();
        let rosters = rosters.filter_map(|path| serde_json::from_slice::<Value>(&read(path)?).ok());
        rosters.flat_map(|roster| roster["members"].as_array().cloned().unwrap_or_default()).collect()
    }

    /// The text of all transcripts.
    pub fn transcripts(&self) -> String {
        let (client, mut found) = (self.root.join("home/.claude"), Vec::new());
        gather(&client.join("projects"), &client, "jsonl", &mut found);
        found.iter().filter_map(|path| fs::read_to_string(client.join(path)).ok()).collect()
    }

    /// The files below teams/ and tasks/ of the client, without its locks.
    pub fn left(&self) -> Vec<String> {
        let client = self.root.join("home/.claude");
        let mut found = Vec::new();
        for directory in ["teams", "tasks"] {
            gather(&client.join(directory), &client, "json", &mut found);
        }
        found.sort();
        found
    }
}

fn gather(directory: &Path, root: &Path, kind: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            gather(&path, root, kind, found);
        } else if path.extension().is_some_and(|extension| extension == kind) {
            found.extend(path.strip_prefix(root).ok().map(|path| path.display().to_string()));
        }
    }
}
