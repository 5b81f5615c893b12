//! Playing a recorded run: the client's files are put in place step by step, and each hook call is recorded as in life.

use std::io::Write;
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use tempfile::TempDir;

use crate::clock::{self, Clock};
use crate::config::Config;
use crate::env::Env;
use crate::error::{Error, Result};
use crate::paths::Paths;
use crate::payload::Input;
use crate::recorder::{Finish, Recorder};

/// The recorded run: Claude Code 2.1.328, a lead and three teammates.
const RUN: &str = include_str!("run.jsonl");
/// The home that the record speaks of.
const HOME: &str = "/home/dev";
/// The client's name for the project's directory.
const SLUG: &str = "-home-dev-parser";

/// One hook call and what changed on disk before it.
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

/// A run that was played. Everything is below one scratch directory, which goes when this does.
#[derive(Debug)]
pub struct Played {
    /// Our directories in it.
    pub paths: Paths,
    /// The hook calls, each by the number of its line.
    pub lines: Vec<usize>,
    /// When the last one was.
    pub end: clock::Time,
    _scratch: TempDir,
}

/// Plays the demonstration's run.
///
/// # Errors
/// When the scratch directory cannot be written.
pub fn play() -> Result<Played> {
    reenact(RUN)
}

/// Plays a recorded run: one JSON object a line, one line a hook call.
///
/// # Errors
/// When a line is none, or the scratch directory cannot be written.
pub fn reenact(text: &str) -> Result<Played> {
    let scratch = TempDir::with_prefix("teamkeep-demo-").map_err(|error| {
        Error::caused("cannot make a scratch directory", error)
            .hint("set TMPDIR to a directory that can be written")
    })?;
    let home = scratch.path().join("home");
    let client = home.join(".claude");
    let paths = Paths {
        store: scratch.path().join("store"),
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
    Ok(Played { paths, lines, end, _scratch: scratch })
}

/// The calls, each with the number of its line.
fn steps(text: &str, local: impl Fn(&str) -> String) -> Result<Vec<(usize, Step)>> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let read = |(place, line): (usize, &str)| {
        let step = serde_json::from_str(&local(line));
        let why = |error| Error::caused(format!("line {} is no call of a recorded run", place + 1), error);
        step.map(|step| (place + 1, step)).map_err(why)
    };
    lines.map(read).collect()
}

/// The run's beginning by the record's own clock: when the team was made.
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
        finish: Finish::Inline,
    }
}

/// Puts the client's files in place as they were at this step.
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
        // A directory goes with its last file.
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
        Err(Error::new(format!("{name:?} leads out of the scratch directory")))
    }
}
