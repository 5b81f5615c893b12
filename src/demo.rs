//! A bundled recorded run of a real team. To replay it is to write Claude Code's files step by step and to record each hook
//! call, in a directory of its own; [`check`] does so with the hook program, one process for each hook call, as Claude Code does.
//!
//! `scripts/demo_run.py` makes the bundled run of a recording, and lists the changes.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, PipeReader, Read, Write};
use std::path::{Component, MAIN_SEPARATOR, Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use flate2::read::GzDecoder;
use serde::Deserialize;
use serde_json::{Map, Value};
use tempfile::TempDir;

use teamkeep_config::Config;
use teamkeep_history::{Range, Reader};
use teamkeep_hook::response::BLOCK_EXIT_CODE;
use teamkeep_hook::{BackgroundMode, CalledBy, Recorder};
use teamkeep_model::payload::{EventKind, Input};
use teamkeep_model::time::Timestamp;
use teamkeep_settings::program::HookProgram;
use teamkeep_store::log::Logs;
use teamkeep_system::clock::Clock;
use teamkeep_system::env::Env;
use teamkeep_system::error::{Error, Result};
use teamkeep_system::os;
use teamkeep_system::paths::Paths;

/// The recorded run: Claude Code 2.1.332 with teamkeep's default policy, a lead and three teammates.
const RUN: &[u8] = include_bytes!("demo/run.jsonl.gz");
/// The home directory in a recorded run, and in Claude Code's name for the project's directory.
const HOME: &str = "/home/dev";
const SLUG: &str = "-home-dev-";
/// The directory of the bundled run's project, in the home directory.
pub const PROJECT: &str = "tomlfmt";

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
    /// Files of the project, by path below the home directory.
    #[serde(default)]
    project: Map<String, Value>,
    payload: Value,
}

/// A replayed run. Dropping it deletes its scratch directory, if it has one.
#[derive(Debug)]
pub struct DemoOutcome {
    pub paths: Paths,
    pub lines: Vec<usize>,
    pub end: Timestamp,
    _scratch: Option<TempDir>,
}

/// Replays the bundled run into a store. The user's home directory of the run is in it.
pub fn play(store: &Path) -> Result<DemoOutcome> {
    replay_on(Stage::new(&bundled()?, home(store), store.to_owned(), None)?)
}

/// The home directory of the bundled run in a store, with Claude Code's directory and [`PROJECT`].
pub fn home(store: &Path) -> PathBuf {
    store.join("home")
}

/// The text of the bundled run.
pub fn bundled() -> Result<String> {
    let mut text = String::new();
    let read = GzDecoder::new(RUN).read_to_string(&mut text);
    read.map_err(|error| Error::caused("cannot read the bundled run", error))?;
    Ok(text)
}

/// Replays a recorded run in a scratch directory: one JSON object per line, one line per hook call.
pub fn replay(text: &str) -> Result<DemoOutcome> {
    replay_on(Stage::scratch(text, None)?)
}

/// The same, with a store that is kept.
pub fn replay_into(text: &str, store: Option<PathBuf>) -> Result<DemoOutcome> {
    replay_on(Stage::scratch(text, store)?)
}

fn replay_on(mut stage: Stage) -> Result<DemoOutcome> {
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
            has_organization: false,
            clock: Clock::at(at),
            by: CalledBy::Settings,
            finish: BackgroundMode::Inline,
        };
        let outcome = recorder.handle(&Input::from(step.payload.to_string().into_bytes()), None);
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

/// The directory of a recorded run.
struct Stage {
    scratch: Option<TempDir>,
    paths: Paths,
    home: PathBuf,
    client: PathBuf,
    /// The calls, each with the number of its line.
    steps: Vec<(usize, Step)>,
    start: Timestamp,
}

impl Stage {
    /// A scratch directory, with this store if it is given.
    fn scratch(text: &str, store: Option<PathBuf>) -> Result<Stage> {
        let scratch = TempDir::with_prefix("teamkeep-demo-").map_err(|error| {
            Error::caused("cannot create a scratch directory", error)
                .hint("set TMPDIR to a writable directory")
        })?;
        let store = store.unwrap_or_else(|| scratch.path().join("store"));
        Stage::new(text, scratch.path().join("home"), store, Some(scratch))
    }

    fn new(text: &str, home: PathBuf, store: PathBuf, scratch: Option<TempDir>) -> Result<Stage> {
        let client = home.join(".claude");
        let config = home.join("teamkeep.toml");
        let paths = Paths { store, config, client: Some(client.clone()), warning: None };
        // The paths are also in JSON within JSON, where a backslash would need others.
        let steps = steps(text, &home.display().to_string().replace(MAIN_SEPARATOR, "/"))?;
        let start = steps.iter().find_map(|(_, step)| start_of_run(step)).unwrap_or_default();
        Ok(Stage { scratch, paths, home, client, steps, start })
    }

    /// Writes Claude Code's files as of this step. Returns the time of its call.
    fn prepare(&self, step: &Step) -> Result<Timestamp> {
        write_files(&self.client, step)?;
        for (name, text) in &step.project {
            write_file(&self.home, name, text, OpenOptions::new().write(true).truncate(true))?;
        }
        Ok(self.start.checked_add(step.offset()).unwrap_or(self.start))
    }
}

/// The calls, each with the number of its line. Their paths are those of this home directory.
fn steps(text: &str, home: &str) -> Result<Vec<(usize, Step)>> {
    let slug = format!("{home}/").replace(|c: char| !c.is_ascii_alphanumeric(), "-");
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
    let config = teamkeep_model::team::TeamConfig::parse(config.as_bytes())?;
    config.created_at.and_then(Timestamp::from_millis)?.checked_sub(step.offset())
}

/// Writes Claude Code's files as of this step.
fn write_files(client: &Path, step: &Step) -> Result<()> {
    for (name, text) in &step.write {
        write_file(client, name, text, OpenOptions::new().write(true).truncate(true))?;
    }
    for (name, text) in &step.append {
        write_file(client, name, text, OpenOptions::new().append(true))?;
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

fn write_file(dir: &Path, name: &str, text: &Value, options: &mut OpenOptions) -> Result<()> {
    let path = below(dir, name)?;
    std::fs::create_dir_all(path.parent().unwrap_or(dir))?;
    let mut file = options.create(true).open(path)?;
    Ok(file.write_all(text.as_str().unwrap_or_default().as_bytes())?)
}

fn below(dir: &Path, name: &str) -> Result<PathBuf> {
    if Path::new(name).components().all(|part| matches!(part, Component::Normal(_))) {
        return Ok(dir.join(name));
    }
    Err(Error::new(format!("{name:?} is outside of the scratch directory")))
}

/// Claude Code waits ten seconds for a hook, which needs some milliseconds.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum length of quoted output, in characters.
const MAX_QUOTED_CHARS: usize = 100;

/// The bundled run as the hook program recorded it.
#[derive(Debug)]
pub struct CheckOutcome {
    pub replayed: DemoOutcome,
    /// Number of hook calls that blocked.
    pub blocks: usize,
    /// The median time of a hook call, from the start of its process to its end.
    pub median: Duration,
}

/// Plays the run. The hook program sees only the scratch directory.
///
/// # Errors
/// A hook call failed or printed what Claude Code does not expect, or was not recorded.
pub fn check(program: &HookProgram) -> Result<CheckOutcome> {
    let mut stage = Stage::scratch(&bundled()?, None)?;
    let (held, inherited) = io::pipe()?;
    // The background work of a hook call inherits it, so that its end shows.
    os::process::let_children_inherit(&inherited)?;
    let steps = std::mem::take(&mut stage.steps);
    let (all, mut times, mut blocks, mut end) = (steps.len(), Vec::new(), 0, stage.start);
    for (number, (_, step)) in (1..).zip(&steps) {
        end = stage.prepare(step)?;
        let failed = |why: String| {
            let event = step.event();
            Error::caused(format!("{} failed at hook call {number} of {all} ({event})", program.call()), why)
                .hint("reinstall teamkeep, then: teamkeep doctor")
        };
        let command = stage.command(program, step, &end.to_string())?;
        let (took, output) = run(command).map_err(|error| failed(error.to_string()))?;
        blocks += usize::from(check_response(&output).map_err(failed)?);
        times.push(took);
    }
    drop(inherited);
    wait_for_end(held);
    let logs = Logs::of(&stage.paths).all()?;
    // A verdict is a line of its own, beside that of its call.
    let lines = Reader::of(&logs, Range::default());
    let recorded = lines.filter(|line| line.recorded.verdict.is_none()).count();
    if recorded != all {
        let what = format!("{} recorded {recorded} of {all} hook calls", program.call());
        return Err(Error::new(what).hint("reinstall teamkeep, then: teamkeep doctor"));
    }
    times.sort_unstable();
    let median = times.get(all / 2).copied().unwrap_or_default();
    let lines = steps.iter().map(|(line, _)| *line).collect();
    let replayed = DemoOutcome { paths: stage.paths, lines, end, _scratch: stage.scratch };
    Ok(CheckOutcome { replayed, blocks, median })
}

impl Stage {
    /// The hook call of a step.
    fn command(&self, program: &HookProgram, step: &Step, now: &str) -> Result<Command> {
        let subcommand = EventKind::named(step.event()).subcommand();
        let payload = self.home.join("payload.json");
        std::fs::write(&payload, step.payload.to_string())?;
        let mut command = Command::new(program.as_str());
        command.args(program.args(subcommand)).env_clear().current_dir(&self.home);
        command.stdin(File::open(payload)?).stdout(Stdio::piped()).stderr(Stdio::piped());
        // The recorded process could have the number of one that runs here.
        let variables = step.env.iter().filter(|(name, _)| *name != "CLAUDE_PID");
        command.envs(variables.filter_map(|(name, value)| Some((name, value.as_str()?))));
        let paths: [(&str, &OsStr); 3] = [
            ("HOME", self.client.parent().unwrap_or(&self.client).as_os_str()),
            ("CLAUDE_CONFIG_DIR", self.client.as_os_str()),
            ("TEAMKEEP_HOME", self.paths.store.as_os_str()),
        ];
        command.envs(paths).env("TEAMKEEP_NOW", now);
        Ok(command)
    }
}

impl Step {
    fn event(&self) -> &str {
        self.payload.get("hook_event_name").and_then(Value::as_str).unwrap_or_default()
    }
}

/// Runs a hook call: its time and output. It is killed after the time limit.
fn run(mut command: Command) -> io::Result<(Duration, Output)> {
    let start = Instant::now();
    let child = command.spawn()?;
    let pid = child.id();
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(child.wait_with_output().map(|output| (start.elapsed(), output))));
    receiver.recv_timeout(TIMEOUT).unwrap_or_else(|_| {
        os::process::kill(pid);
        Err(io::Error::other(format!("it did not respond within {} seconds", TIMEOUT.as_secs())))
    })
}

/// Waits until no background process of a hook call runs, so that none writes to the scratch directory after its deletion.
fn wait_for_end(mut held: PipeReader) {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let ended = io::copy(&mut held, &mut io::sink());
        sender.send(ended.is_ok())
    });
    let _ = receiver.recv_timeout(TIMEOUT);
}

/// Checks that a response is one that Claude Code expects. Returns whether it is a block.
fn check_response(output: &Output) -> std::result::Result<bool, String> {
    let quoted = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes.trim_ascii()).into_owned();
        format!("{:?}", text.chars().take(MAX_QUOTED_CHARS).collect::<String>())
    };
    let (out, err) = (output.stdout.trim_ascii(), output.stderr.trim_ascii());
    let is_block = output.status.code() == Some(BLOCK_EXIT_CODE.into());
    let is_object = || serde_json::from_slice::<Value>(out).is_ok_and(|value| value.is_object());
    if !is_block && !output.status.success() {
        return Err(format!("it ended with {}: {}", output.status, quoted(err)));
    }
    if !out.is_empty() && !is_object() {
        return Err(format!("it printed {}, which is not a JSON object", quoted(out)));
    }
    if !is_block && !err.is_empty() {
        return Err(format!("it printed {} on stderr", quoted(err)));
    }
    Ok(is_block)
}
