//! Replays a recorded run: writes Claude Code's files step by step and records each hook call, in a scratch directory.

use std::io::Write;
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use tempfile::TempDir;

use crate::clock::{self, Clock};
use crate::config::Config;
use crate::env::Env;
use crate::error::{Error, Result};
use crate::hook::{BackgroundMode, Recorder};
use crate::paths::Paths;
use crate::payload::Input;

/// The recorded run: Claude Code 2.1.330 with teamkeep's default policy, a lead and three teammates.
const RUN: &str = include_str!("run.jsonl");
/// The home directory in the recorded run.
const HOME: &str = "/home/dev";
/// Claude Code's name for the project's directory.
const SLUG: &str = "-home-dev-parser";

/// One hook call, and the files that changed before it.
#[derive(Debug, Deserialize)]
struct Step {
    at_ms: i64,
    #[serde(default)]
    env: serde_json::Map<String, Value>,
    #[serde(default)]
    write: serde_json::Map<String, Value>,
    #[serde(default)]
    append: serde_json::Map<String, Value>,
    #[serde(default)]
    remove: Vec<String>,
    payload: Value,
}

/// A replayed run. Dropping it deletes its scratch directory.
#[derive(Debug)]
pub struct DemoOutcome {
    /// The directories of the replayed run.
    pub paths: Paths,
    /// The line number of each hook call.
    pub lines: Vec<usize>,
    /// The time of the last hook call.
    pub end: clock::Time,
    _scratch: TempDir,
}

/// Replays the bundled run. With `keep`, its store is kept in that directory.
///
/// # Errors
/// When the directory is not empty or cannot be written.
pub fn play(keep: Option<&Path>) -> Result<DemoOutcome> {
    let Some(store) = keep else { return replay_fixture(RUN) };
    let cannot = |why: String| Error::caused(format!("cannot keep the run in {}", store.display()), why);
    if std::fs::read_dir(store).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(cannot("the directory is not empty".to_owned()).hint("choose another directory"));
    }
    let store = std::path::absolute(store).map_err(|error| cannot(error.to_string()))?;
    crate::fs::make_private_dir(&store).or_else(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => Ok(()),
        _ => Err(cannot(error.to_string())),
    })?;
    enact(RUN, Some(store))
}

/// Replays a recorded run: one JSON object per line, one line per hook call.
///
/// # Errors
/// When a line is invalid, or the scratch directory cannot be written.
pub fn replay_fixture(text: &str) -> Result<DemoOutcome> {
    enact(text, None)
}

fn enact(text: &str, store: Option<PathBuf>) -> Result<DemoOutcome> {
    let scratch = TempDir::with_prefix("teamkeep-demo-").map_err(|error| {
        Error::caused("cannot create a scratch directory", error).hint("set TMPDIR to a writable directory")
    })?;
    let home = scratch.path().join("home");
    let client = home.join(".claude");
    let paths = Paths {
        store: store.unwrap_or_else(|| scratch.path().join("store")),
        config: scratch.path().join("teamkeep.toml"),
        client: Some(client.clone()),
        warning: None,
    };
    let here = home.display().to_string();
    let slug: String =
        format!("{here}/parser").chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let local = |text: &str| text.replace(HOME, &here).replace(SLUG, &slug);
    let steps = steps(text, local)?;
    let start = steps.iter().find_map(|(_, step)| created(step)).unwrap_or_default();
    let (mut lines, mut end) = (Vec::new(), None);
    for (line, step) in &steps {
        place(&client, step)?;
        let at = start
            .checked_add_signed(chrono::Duration::try_milliseconds(step.at_ms).unwrap_or_default())
            .unwrap_or(start);
        let recorder = recorder(&paths, step, &clock::stamp(at));
        let payload = step.payload.to_string().into_bytes();
        recorder.record(&Input::from(payload), None);
        lines.push(*line);
        end = Some(at);
    }
    let end = end.ok_or_else(|| Error::new("the recorded run is empty"))?;
    Ok(DemoOutcome { paths, lines, end, _scratch: scratch })
}

/// The calls, each with the number of its line.
fn steps(text: &str, local: impl Fn(&str) -> String) -> Result<Vec<(usize, Step)>> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let read = |(place, line): (usize, &str)| {
        let step = serde_json::from_str(&local(line));
        let why =
            |error| Error::caused(format!("line {} is not a hook call of a recorded run", place + 1), error);
        step.map(|step| (place + 1, step)).map_err(why)
    };
    lines.map(read).collect()
}

/// The start of the run by the clock of the recorded run: when the team was created.
fn created(step: &Step) -> Option<clock::Time> {
    let config = step.write.iter().find(|(path, _)| path.ends_with("/config.json"))?.1.as_str()?;
    let made = crate::team::TeamConfig::parse(config.as_bytes())?.created_at.and_then(clock::from_millis)?;
    made.checked_sub_signed(chrono::Duration::try_milliseconds(step.at_ms)?)
}

fn recorder(paths: &Paths, step: &Step, now: &str) -> Recorder {
    let told = |name: &str| step.env.get(name).and_then(Value::as_str);
    let env = Env {
        client_pid: told("CLAUDE_PID").and_then(|pid| pid.parse().ok()),
        pane: told("TMUX_PANE").map(str::to_owned),
        ..Env::default()
    };
    Recorder {
        env,
        paths: paths.clone(),
        config: Config::default(),
        problems: Vec::new(),
        clock: Clock::new(Some(now)),
        finish: BackgroundMode::Inline,
    }
}

/// Writes Claude Code's files as of this step.
fn place(client: &Path, step: &Step) -> Result<()> {
    for (name, text) in &step.write {
        let path = below(client, name)?;
        std::fs::create_dir_all(path.parent().unwrap_or(client))?;
        std::fs::write(path, text.as_str().unwrap_or_default())?;
    }
    for (name, text) in &step.append {
        let path = below(client, name)?;
        std::fs::create_dir_all(path.parent().unwrap_or(client))?;
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path)?;
        file.write_all(text.as_str().unwrap_or_default().as_bytes())?;
    }
    for name in &step.remove {
        let path = below(client, name)?;
        let _ = std::fs::remove_file(&path);
        // Remove a directory with its last file.
        for parent in
            path.ancestors().skip(1).take_while(|parent| parent.starts_with(client) && *parent != client)
        {
            if std::fs::remove_dir(parent).is_err() {
                break;
            }
        }
    }
    Ok(())
}

fn below(client: &Path, name: &str) -> Result<PathBuf> {
    let plain = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
    if plain {
        Ok(client.join(name))
    } else {
        Err(Error::new(format!("{name:?} is outside of the scratch directory")))
    }
}
