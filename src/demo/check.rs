//! Plays the bundled run through the hook program, one process for each hook call, as Claude Code does.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, PipeReader};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{DemoOutcome, Stage, Step, bundled};
use teamkeep_history::{Range, Reader};
use teamkeep_hook::response::BLOCK_EXIT_CODE;
use teamkeep_model::payload::EventKind;
use teamkeep_settings::program::HookProgram;
use teamkeep_store::log::Logs;
use teamkeep_system::error::{Error, Result};
use teamkeep_system::os;

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
pub fn play(program: &HookProgram) -> Result<CheckOutcome> {
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
