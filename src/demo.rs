//! A bundled recorded run of a real team. To replay it is to write Claude Code's files step by step and to record each hook
//! call, in a scratch directory. [`check`] does so with the hook program.

pub mod check;

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Component, Path, PathBuf};

use chrono::TimeDelta;
use serde::Deserialize;
use serde_json::{Map, Value};
use tempfile::TempDir;

use teamkeep_core::client::payload::Input;
use teamkeep_core::config::Config;
use teamkeep_core::error::{Cause, Error, Result};
use teamkeep_core::hook::{BackgroundMode, Recorder};
use teamkeep_core::sys::clock::{Clock, Timestamp};
use teamkeep_core::sys::env::Env;
use teamkeep_core::sys::paths::Paths;

/// The recorded run: Claude Code 2.1.330 with teamkeep's default policy, a lead and three teammates.
const RUN: &str = include_str!("demo/run.jsonl");
/// The home directory in the recorded run.
const HOME: &str = "/home/dev";
/// Claude Code's name for the project's directory.
const SLUG: &str = "-home-dev-parser";

/// One hook call, and the files that changed before it.
#[derive(Debug, Deserialize)]
struct Step {
    at_ms: i64,
    #[serde(default)]
    env: Map<String, Value>,
    #[serde(default)]
    write: Map<String, Value>,
    #[serde(default)]
    append: Map<String, Value>,
    #[serde(default)]
    remove: Vec<String>,
    payload: Value,
}

/// A replayed run. Dropping it deletes its scratch directory.
#[derive(Debug)]
pub struct DemoOutcome {
    pub paths: Paths,
    pub lines: Vec<usize>,
    pub end: Timestamp,
    _scratch: TempDir,
}

/// Replays the bundled run. With `keep`, its store is kept in that directory, which must be empty.
pub fn play(keep: Option<&Path>) -> Result<DemoOutcome> {
    let Some(store) = keep else { return replay(RUN) };
    let failed = |why: Cause| Error::caused(format!("cannot keep the run in {}", store.display()), why);
    if std::fs::read_dir(store).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(failed("the directory is not empty".into()).hint("choose another directory"));
    }
    let store = std::path::absolute(store).map_err(|error| failed(error.into()))?;
    teamkeep_core::sys::fs::make_private_dir(&store).or_else(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists if store.is_dir() => Ok(()),
        std::io::ErrorKind::AlreadyExists => {
            Err(failed("it is a file".into()).hint("choose another directory"))
        }
        _ => Err(failed(error.into())),
    })?;
    replay_into(RUN, Some(store))
}

/// Replays a recorded run: one JSON object per line, one line per hook call.
pub fn replay(text: &str) -> Result<DemoOutcome> {
    replay_into(text, None)
}

/// The same, with a store that is kept if it is given.
pub fn replay_into(text: &str, store: Option<PathBuf>) -> Result<DemoOutcome> {
    let mut stage = Stage::of(text, store)?;
    let (mut lines, mut end) = (Vec::new(), None);
    for (line, step) in std::mem::take(&mut stage.steps) {
        let at = stage.prepare(&step)?;
        let variable = |name: &str| step.env.get(name).and_then(Value::as_str);
        let env = Env {
            client_pid: variable("CLAUDE_PID").and_then(|pid| pid.parse().ok()),
            pane: variable("TMUX_PANE").map(str::to_owned),
            ..Env::default()
        };
        let recorder = Recorder {
            env,
            paths: stage.paths.clone(),
            config: Config::default(),
            problems: Vec::new(),
            clock: Clock::at(at),
            finish: BackgroundMode::Inline,
        };
        let outcome = recorder.record(&Input::from(step.payload.to_string().into_bytes()), None);
        if let Some(note) = outcome.notes.iter().find(|note| note.is_store_failure()) {
            return Err(Error::caused(
                format!("cannot record the run in {}", stage.paths.store.display()),
                note.text.clone(),
            ));
        }
        lines.push(line);
        end = Some(at);
    }
    let end = end.ok_or_else(|| Error::new("the recorded run is empty"))?;
    Ok(DemoOutcome { paths: stage.paths, lines, end, _scratch: stage.scratch })
}

/// A scratch directory for a recorded run.
struct Stage {
    scratch: TempDir,
    paths: Paths,
    client: PathBuf,
    /// The calls, each with the number of its line.
    steps: Vec<(usize, Step)>,
    start: Timestamp,
}

impl Stage {
    fn of(text: &str, store: Option<PathBuf>) -> Result<Stage> {
        let scratch = TempDir::with_prefix("teamkeep-demo-").map_err(|error| {
            Error::caused("cannot create a scratch directory", error)
                .hint("set TMPDIR to a writable directory")
        })?;
        let home = scratch.path().join("home");
        let client = home.join(".claude");
        let paths = Paths {
            store: store.unwrap_or_else(|| scratch.path().join("store")),
            config: scratch.path().join("teamkeep.toml"),
            client: Some(client.clone()),
            warning: None,
        };
        let steps = steps(text, &home.display().to_string())?;
        let start = steps.iter().find_map(|(_, step)| start_of_run(step)).unwrap_or_default();
        Ok(Stage { scratch, paths, client, steps, start })
    }

    /// Writes Claude Code's files as of this step. Returns the time of its call.
    fn prepare(&self, step: &Step) -> Result<Timestamp> {
        write_files(&self.client, step)?;
        Ok(self.start.checked_add(step.offset()).unwrap_or(self.start))
    }
}

/// The calls, each with the number of its line. Their paths are those of this home directory.
fn steps(text: &str, home: &str) -> Result<Vec<(usize, Step)>> {
    let slug = format!("{home}/parser").replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let parse = |(number, line): (usize, &str)| {
        let step = serde_json::from_str(&line.replace(HOME, home).replace(SLUG, &slug));
        let what = || format!("line {number} is not a hook call of a recorded run");
        step.map(|step| (number, step)).map_err(|error| Error::caused(what(), error))
    };
    lines.map(parse).collect()
}

impl Step {
    fn offset(&self) -> TimeDelta {
        TimeDelta::try_milliseconds(self.at_ms).unwrap_or_default()
    }
}

/// The start of the run by the clock of the recorded run: when the team was created.
fn start_of_run(step: &Step) -> Option<Timestamp> {
    let config = step.write.iter().find(|(path, _)| path.ends_with("/config.json"))?.1.as_str()?;
    let config = teamkeep_core::client::team::TeamConfig::parse(config.as_bytes())?;
    config.created_at.and_then(Timestamp::from_millis)?.checked_sub(step.offset())
}

/// Writes Claude Code's files as of this step.
fn write_files(client: &Path, step: &Step) -> Result<()> {
    let write = |name: &str, text: &Value, options: &mut OpenOptions| -> Result<()> {
        let path = below(client, name)?;
        std::fs::create_dir_all(path.parent().unwrap_or(client))?;
        let mut file = options.create(true).open(path)?;
        Ok(file.write_all(text.as_str().unwrap_or_default().as_bytes())?)
    };
    for (name, text) in &step.write {
        write(name, text, OpenOptions::new().write(true).truncate(true))?;
    }
    for (name, text) in &step.append {
        write(name, text, OpenOptions::new().append(true))?;
    }
    for name in &step.remove {
        let path = below(client, name)?;
        let _ = std::fs::remove_file(&path);
        // A directory is removed with its last file.
        let mut parents = path.ancestors().skip(1).take_while(|parent| *parent != client);
        while parents.next().is_some_and(|parent| std::fs::remove_dir(parent).is_ok()) {}
    }
    Ok(())
}

fn below(client: &Path, name: &str) -> Result<PathBuf> {
    if Path::new(name).components().all(|part| matches!(part, Component::Normal(_))) {
        return Ok(client.join(name));
    }
    Err(Error::new(format!("{name:?} is outside of the scratch directory")))
}
