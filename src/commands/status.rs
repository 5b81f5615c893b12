//! `teamkeep status`: the status of running teams, once, live (`--watch`), or as one line for Claude Code (`--line`).

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::catalog::{self, catalog};
use super::output;
use crate::context::Context;
use crate::status::{Status, StatusLine, alive};
use crate::timeline::{OpenedRun, RunCatalog};
use crate::ui::Ui;
use crate::ui::terminal::{InputEvent, Screen};
use crate::view;
use teamkeep_core::client::payload;
use teamkeep_core::enforcement::OverrideFile;
use teamkeep_core::error::{Error, Result};
use teamkeep_core::store::archive::RunRecord;
use teamkeep_core::store::log::{self, Segment};

/// Maximum size of Claude Code's input in bytes.
const MAX_BYTES: usize = 1 << 20;
/// Time limit for Claude Code's input. It is written at once, but a pipe may stay open without a writer.
const TIMEOUT: Duration = Duration::from_millis(30);
/// The interval for checking the log and updating the clocks.
const FRAME: Duration = Duration::from_millis(250);
/// The interval for reading everything, even if the log is unchanged: messages, pauses and processes are not in the log.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);
/// After each read, the next one waits this many times its duration.
const RESTS: u32 = 4;
/// The signal of Ctrl-C, which ends the command.
const INTERRUPT: i32 = 2;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  teamkeep status --watch
  teamkeep status --json | jq -r '.teams[].members[] | select(.doing == \"idle\") | .name'")]
pub struct Args {
    /// Refresh live until q or Ctrl-C
    #[arg(short, long, conflicts_with_all = ["json", "line"])]
    watch: bool,
    /// Print one JSON object
    #[arg(long, conflicts_with = "line")]
    json: bool,
    /// Print one line for Claude Code's `statusLine` setting. Shows the team of the session that the JSON on stdin names;
    /// without stdin, the team that changed last. Never fails
    #[arg(long)]
    pub line: bool,
}

pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    if args.watch {
        return watch(context);
    }
    let catalog = catalog(context)?;
    let (opened, status) = read_status(context, &catalog)?;
    match args.json {
        true => output::print_json(context, &status)?,
        false => output::print_document(context, &view::status(&status, context.clock.now()))?,
    }
    catalog::warn_damaged(context, &catalog, &opened);
    Ok(ExitCode::SUCCESS)
}

fn read_status(context: &Context, catalog: &RunCatalog) -> Result<(OpenedRun, Status)> {
    let runs: Vec<&RunRecord> = alive(catalog);
    let opened = catalog.open_stories(&runs)?;
    let overrides = OverrideFile::new(&context.paths.policy(), context.config.log.lock_patience).read();
    let status = Status::of(catalog, &opened, &context.paths, overrides, context.clock.now());
    Ok((opened, status))
}

/// Prints one line for Claude Code's status line. It is fast and never fails: failures result in a line, too.
pub fn line() -> ExitCode {
    let ui = Ui::default();
    let text = match Context::lenient(ui) {
        Ok((context, _)) => view::brief(status_line(&context).as_ref()),
        Err(_) => "teamkeep: status unknown, run `teamkeep status`".to_owned(),
    };
    // Claude Code may have closed the pipe.
    let _ = ui.raw(format!("{text}\n").as_bytes());
    ExitCode::SUCCESS
}

fn status_line(context: &Context) -> Option<StatusLine> {
    let session = session_of_stdin();
    let overrides = OverrideFile::new(&context.paths.policy(), Duration::ZERO).read();
    let archive = catalog::archive(context);
    StatusLine::find(&archive, session.as_deref(), &context.paths, &overrides, context.clock.now())
}

fn session_of_stdin() -> Option<String> {
    #[derive(Deserialize)]
    struct Input {
        session_id: Option<String>,
    }
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return None;
    }
    let input = payload::read(stdin, MAX_BYTES, TIMEOUT);
    serde_json::from_slice::<Input>(&input.bytes).ok()?.session_id
}

/// Draws until the user quits.
fn watch(context: &Context) -> Result<ExitCode> {
    if !context.ui.is_terminal() || context.env.term.as_deref() == Some("dumb") {
        return Err(
            Error::usage("--watch needs a terminal").hint("omit --watch to print once, or use --json")
        );
    }
    let mut live = LiveStatus::read(context)?;
    let mut screen = Screen::open()?;
    let end = loop {
        let keys = if screen.is_typed() { "q to quit" } else { "" };
        screen.draw(&view::status_screen(&live.status, context.clock.now(), keys, screen.size()))?;
        match screen.wait(FRAME)? {
            InputEvent::Key(b'q' | 3 | 4) | InputEvent::End(INTERRUPT) => break ExitCode::SUCCESS,
            InputEvent::End(signal) => break ExitCode::from(u8::try_from(128 + signal).unwrap_or(1)),
            InputEvent::Key(_) | InputEvent::Change | InputEvent::Nothing => {}
        }
        if live.is_due(context) {
            live = LiveStatus::read(context)?;
        }
    };
    drop(screen);
    // The last screen stays above the prompt.
    output::print_document(context, &view::status(&live.status, context.clock.now()))?;
    Ok(end)
}

struct LiveStatus {
    status: Status,
    segments: Vec<Segment>,
    read: Instant,
    cost: Duration,
}

impl LiveStatus {
    fn read(context: &Context) -> Result<LiveStatus> {
        let start = Instant::now();
        // Listed before the read: events that arrive during the read count as a change.
        let segments = log::list(&context.paths.log()).unwrap_or_default();
        let (_, status) = read_status(context, &catalog(context)?)?;
        Ok(LiveStatus { status, segments, read: Instant::now(), cost: start.elapsed() })
    }

    fn is_due(&self, context: &Context) -> bool {
        let rested = self.read.elapsed();
        let is_changed = || log::list(&context.paths.log()).unwrap_or_default() != self.segments;
        rested >= self.cost * RESTS && (rested >= CHECK_INTERVAL || is_changed())
    }
}
