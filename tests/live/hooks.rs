//! Where the client has our hooks from: how they come, what `doctor` says of them, and how they go.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::home::Home;
use super::managed;
use super::record::text;
use super::witness;

/// Where the client has our hooks from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hooks {
    /// `teamkeep install`.
    Settings,
    /// `--plugin-dir` and nothing in the settings; the plugin finds the binary on the search path.
    Plugin,
    /// `teamkeep install` and `--plugin-dir` at once.
    Both,
    /// A marketplace of the client's own, added and installed from by the client's commands.
    Marketplace,
    /// `teamkeep install --scope managed`, and no other hooks run.
    Managed,
}

/// This repository: it is the plugin, and the marketplace that has it.
const REPOSITORY: &str = env!("CARGO_MANIFEST_DIR");

/// The plugin's name, as the client's commands take it.
const PLUGIN: &str = "teamkeep@teamkeep";

impl Hooks {
    /// Brings them.
    pub fn bring(self, home: &mut Home) -> Result<(), String> {
        if !matches!(self, Self::Settings | Self::Managed)
            && Path::new(REPOSITORY).join("bin/teamkeep").exists()
        {
            return Err("bin/teamkeep is in the repository: the plugin would run that one".to_owned());
        }
        if matches!(self, Self::Settings | Self::Both) {
            home.teamkeep(&["install", "--yes", "--skills"])?;
        }
        if self == Self::Managed {
            managed::bring(home)?;
        }
        if self == Self::Marketplace {
            // As its users get it: what is committed, without the target directory.
            let clone = home.root.join("clone").display().to_string();
            run(home, "git", &["clone", "--quiet", REPOSITORY, &clone])?;
            run(home, "claude", &["plugin", "validate", &clone])?;
            run(home, "claude", &["plugin", "marketplace", "add", &clone])?;
            run(home, "claude", &["plugin", "install", PLUGIN])?;
        }
        // These commands run SessionEnd hooks, too, and ours were not there yet.
        witness::forget(&home.root).map_err(|error| format!("cannot empty what the witness saw: {error}"))
    }

    /// What a client is started with to have them.
    pub fn arguments(self) -> &'static [&'static str] {
        if matches!(self, Self::Plugin | Self::Both) { &["--plugin-dir", REPOSITORY] } else { &[] }
    }

    /// What `doctor` says that it should not.
    pub fn examined(self, home: &Home) -> Vec<String> {
        let told = match home.output(&["doctor", "--json"]) {
            Ok(output) => serde_json::from_slice::<Value>(&output.stdout).unwrap_or_default(),
            Err(error) => return vec![error],
        };
        let checks = || told["checks"].as_array().into_iter().flatten();
        let bad: BTreeSet<String> =
            checks().filter(|check| check["verdict"] == "bad").map(|check| text(check, "code")).collect();
        // What a client is started with cannot be seen from outside. In a user's own namespace, the directories of the
        // system belong to nobody.
        let is_root = Path::new("/").metadata().is_ok_and(|root| root.uid() == 0);
        let unseen: &[&str] = match self {
            Self::Plugin => &["hooks-installed"],
            Self::Managed if !is_root => &["managed-settings", "organization"],
            _ => &[],
        };
        let unseen = unseen.iter().map(|code| (*code).to_owned()).collect();
        let mut found: Vec<String> =
            super::checks::same("doctor, what is bad", unseen, bad).into_iter().collect();
        let last = checks().find(|check| check["code"] == "last-event").map(|check| text(check, "verdict"));
        found.extend(super::checks::same("doctor, the last event", Some("ok".to_owned()), last));
        found
    }

    /// Takes them out; what is not as it was before them.
    pub fn go(self, home: &Home) -> Vec<String> {
        let gone = match self {
            Self::Plugin | Self::Managed => Ok(()),
            Self::Settings | Self::Both => home.teamkeep(&["uninstall", "--yes"]).map(drop),
            Self::Marketplace => run(home, "claude", &["plugin", "uninstall", PLUGIN])
                .and_then(|()| run(home, "claude", &["plugin", "marketplace", "remove", "teamkeep"])),
        };
        let changed = match self {
            // The client lays its settings out anew, and leaves two empty lists in them.
            Self::Marketplace => home.settings_mean_else(&["enabledPlugins", "extraKnownMarketplaces"]),
            _ => home.settings_changed(),
        };
        let mut found: Vec<String> = gone.err().into_iter().collect();
        found.extend(changed.map(|what| format!("settings.json: {what}")));
        if self == Self::Managed {
            found.extend(managed::go(home));
        }
        found
    }

    /// What was done to the settings, in the words of the table.
    pub fn told(self) -> &'static str {
        match self {
            Self::Settings => "install, doctor, uninstall: settings byte for byte as before",
            Self::Plugin => "`--plugin-dir` only: settings unchanged",
            Self::Both => "install and `--plugin-dir`, doctor, uninstall: settings byte for byte as before",
            Self::Marketplace => "validate, marketplace add, plugin install, doctor, plugin uninstall",
            Self::Managed => {
                "install and uninstall `--scope managed` with `--managed-hooks-only`, doctor: no hook of the user's settings ran; the user's file, `TEAMKEEP_CONFIG`, `TEAMKEEP_HOME`, the project's file and pauses did not loosen the fixed gate"
            }
        }
    }
}

/// Runs a command that must end well.
fn run(home: &Home, program: &str, arguments: &[&str]) -> Result<(), String> {
    let mut command: Command = home.command(program);
    let what = format!("{program} {}", arguments.join(" "));
    let output = command.args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("cannot run {what}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said =
        [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned()).concat();
    Err(format!("{what} ended with {}: {said}", output.status))
}
