//! A sandbox with a copy of the program, beside which there is a script named `teamkeep-ship`, or none.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use teamkeep_config::{Config, Ship};
use teamkeep_store::shipping::{Destination, Shipping};
use teamkeep_system::paths::Paths;

use crate::support::programs::{copy_programs, program_name};
use crate::support::sandbox::{CommandResult, Sandbox, feed, kebab};

pub const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";
/// A store that is never used.
pub const SHIP: &str = "[ship]\nstore = \"file:///nonexistent/teamkeep\"\n";

pub struct ShipSandbox {
    pub sandbox: Sandbox,
}

impl ShipSandbox {
    /// Without `teamkeep-ship`.
    pub fn bare() -> ShipSandbox {
        let sandbox = Sandbox::new();
        let bin = sandbox.keep("../bin");
        std::fs::create_dir_all(&bin).unwrap();
        // Another process copies it: a program that this process has open for writing could not be started.
        copy_programs(&bin);
        ShipSandbox { sandbox }
    }

    pub fn new() -> ShipSandbox {
        let ship = ShipSandbox::bare();
        #[cfg(unix)]
        std::os::unix::fs::symlink(script(), ship.sandbox.keep("../bin/teamkeep-ship")).unwrap();
        ship
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let (program, args) = match args {
            ["hook", args @ ..] => ("teamkeep-hook", args),
            args => ("teamkeep", args),
        };
        let mut command = Command::new(self.sandbox.keep("../bin").join(program_name(program)));
        self.sandbox.dress(&mut command);
        command.args(args);
        command
    }

    pub fn run(&self, args: &[&str]) -> CommandResult {
        self.command(args).stdin(Stdio::null()).output().unwrap().into()
    }

    /// A hook call of a session without a team, which must print nothing but a session's start.
    pub fn hook(&self, event: &str, fields: Value) {
        let mut payload = json!({"session_id": SESSION, "hook_event_name": event,
            "transcript_path": self.sandbox.client(&format!("projects/p/{SESSION}.jsonl"))});
        for (key, value) in fields.as_object().unwrap() {
            payload[key] = value.clone();
        }
        let mut command = self.command(&["hook", &kebab(event)]);
        let result = feed(&mut command, payload.to_string().as_bytes());
        assert_eq!((result.code, result.err.as_str()), (Some(0), ""));
        assert_eq!(result.out.is_empty(), event != "SessionStart", "{}", result.out);
    }

    /// The calls of the script.
    pub fn calls(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.sandbox.keep("../calls")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    pub fn shipping(&self) -> Shipping {
        let store = self.sandbox.keep("");
        Shipping::of(&Paths { store, config: PathBuf::new(), client: None, warning: None })
    }

    /// The destination in [`SHIP`].
    pub fn destination(&self) -> Destination {
        let ship: Ship = Config::parse(SHIP, Path::new("teamkeep.toml")).unwrap().ship;
        let state = self.shipping().lock(std::time::Duration::from_secs(60)).unwrap().unwrap();
        state.update(|_| ()).unwrap().configured(&ship).remove(0)
    }
}

pub fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/teamkeep-ship")
}
