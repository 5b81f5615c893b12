//! The recorded runs of `tests/fixtures/traces`, recorded again by the hooks of this version.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Map, Value};
use teamkeep::report::Report;
use teamkeep::timeline::{RunCatalog, merge};
use teamkeep_core::config::Config;
use teamkeep_core::store::archive::{Archive, RunRecord};
use teamkeep_core::sys::clock::{self, Timestamp};
use teamkeep_ship::otlp::{Privacy, RunExport, VerdictRow};
use tempfile::TempDir;

/// When the first hook is called.
const START: &str = "2026-02-03T04:05:06.000Z";
/// The home of the user in the traces, and how Claude Code spells the project in a path.
const HOME: &str = "/home/dev";
const SLUG: &str = "-home-dev-parser";

/// A run with its report.
pub struct Recorded {
    pub run: RunRecord,
    pub report: Report,
    pub verdicts: Vec<VerdictRow>,
}

impl Recorded {
    /// Replays a trace and opens the run with the most turns.
    pub fn trace(name: &str) -> Recorded {
        let home = Home::new();
        let path = format!("{}/../tests/fixtures/traces/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
        for line in std::fs::read_to_string(path).unwrap().lines() {
            home.step(&serde_json::from_str(line).unwrap());
        }
        let archive = Archive::new(home.path("keep/archive"), 32 << 20, Duration::from_secs(60));
        let catalog = RunCatalog::open(archive, home.path("keep/log"));
        let opened = catalog.open_runs(&catalog.runs.iter().collect::<Vec<_>>()).unwrap();
        let recorded = opened.runs.iter().map(|data| {
            let timeline = merge(data);
            let now = data.run.ended_at.unwrap();
            Recorded {
                run: data.run.clone(),
                report: Report::of(data, &timeline, &Config::default(), now),
                verdicts: VerdictRow::of(&timeline.entries),
            }
        });
        recorded.max_by_key(|recorded| recorded.report.turns.len()).unwrap()
    }

    pub fn export(&self, privacy: Privacy) -> RunExport<'_> {
        RunExport {
            run: &self.run,
            report: &self.report,
            verdicts: &self.verdicts,
            links: &[],
            revision: self.run.ended_at.map(Timestamp::millis).unwrap(),
            previous: None,
            privacy,
        }
    }
}

/// A home with a directory of Claude Code and a store.
struct Home(TempDir);

impl Home {
    fn new() -> Home {
        let home = Home(tempfile::tempdir().unwrap());
        for dir in ["home/parser", "home/.claude"] {
            std::fs::create_dir_all(home.path(dir)).unwrap();
        }
        home
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(path)
    }

    /// Puts Claude Code's files in place and calls the hook.
    fn step(&self, step: &Value) {
        for (name, text) in object(step, "write") {
            self.open(name, false).write_all(self.local(text).as_bytes()).unwrap();
        }
        for (name, text) in object(step, "append") {
            self.open(name, true).write_all(self.local(text).as_bytes()).unwrap();
        }
        for name in step.get("remove").and_then(Value::as_array).into_iter().flatten() {
            self.remove(&self.client(name.as_str().unwrap()));
        }
        let at = clock::parse(START).unwrap().millis() + step["at_ms"].as_i64().unwrap();
        let mut command = Command::new(teamkeep());
        command.args(["hook", &kebab(step["payload"]["hook_event_name"].as_str().unwrap())]);
        command.env_clear().current_dir(self.path("home/parser")).env("HOME", self.path("home"));
        command.env("TEAMKEEP_HOME", self.path("keep")).env("TZ", "UTC").env("PATH", "/usr/bin:/bin");
        command.env("TEAMKEEP_NOW", Timestamp::from_millis(at).unwrap().to_string());
        command.env("CLAUDE_PROJECT_DIR", self.path("home/parser"));
        command.envs(object(step, "env").map(|(name, value)| (name, value.as_str().unwrap())));
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(self.local(&step["payload"]).as_bytes()).unwrap();
        let status = child.wait().unwrap();
        // The default policy judges: it may block.
        assert!(matches!(status.code(), Some(0 | 2)), "{status}");
    }

    fn client(&self, name: &str) -> PathBuf {
        self.path("home/.claude").join(self.local(&Value::from(name)))
    }

    fn open(&self, name: &str, append: bool) -> std::fs::File {
        let path = self.client(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut options = std::fs::OpenOptions::new();
        options.create(true).write(true).append(append).truncate(!append).open(path).unwrap()
    }

    /// Removes a file, and the directories that it leaves empty.
    fn remove(&self, path: &Path) {
        let _ = std::fs::remove_file(path);
        let is_root = |dir: &Path| ["teams", "tasks", ".claude"].iter().any(|root| dir.ends_with(root));
        for dir in path.ancestors().skip(1).take_while(|dir| !is_root(dir)) {
            let _ = std::fs::remove_dir(dir);
        }
    }

    /// A text with this home in place of the recorded one.
    fn local(&self, text: &Value) -> String {
        let text = text.as_str().map_or_else(|| text.to_string(), str::to_owned);
        let home = self.path("home").into_os_string().into_string().unwrap();
        let project = format!("{home}/parser");
        let slug: String = project.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        text.replace(HOME, &home).replace(SLUG, &slug)
    }
}

/// The example of this crate that is the command.
fn teamkeep() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let path = tests.parent().and_then(Path::parent).unwrap().join("examples/teamkeep");
    assert!(path.exists(), "not built: cargo build -p teamkeep-ship --examples");
    path
}

fn kebab(event: &str) -> String {
    let mut name = String::new();
    for c in event.chars() {
        if c.is_uppercase() && !name.is_empty() {
            name.push('-');
        }
        name.extend(c.to_lowercase());
    }
    name
}

fn object<'a>(step: &'a Value, key: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    step.get(key).and_then(Value::as_object).into_iter().flat_map(Map::iter)
}
