//! `teamkeep status`: the status of running teams.

mod watch;

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::time::Duration;

use serde::Deserialize;

use super::read_context;
use crate::archive::{Archive, RunRecord};
use crate::context::Context;
use crate::enforcement::OverrideFile;
use crate::error::Result;
use crate::payload;
use crate::status::{Status, StatusLine, StatusPaths, Wanted, alive};
use crate::timeline::{OpenedRun, RunCatalog};
use crate::ui::Ui;
use crate::view;

/// Maximum size of Claude Code's input in bytes.
const MAX_BYTES: usize = 1 << 20;
/// Time limit for Claude Code's input. It is written at once, but a pipe may stay open without a writer.
const TIMEOUT: Duration = Duration::from_millis(30);

/// Arguments of `teamkeep status`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
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
    line: bool,
}

const EXAMPLES: &str = "Examples:
  teamkeep status --watch
  teamkeep status --json | jq -r '.teams[].members[] | select(.doing == \"idle\") | .name'";

impl Args {
    /// Whether one line is wanted. It is printed whatever fails.
    pub fn is_line(&self) -> bool {
        self.line
    }
}

/// Runs it.
///
/// # Errors
/// When the store cannot be read, or there is no terminal to draw on.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    if args.watch {
        return watch::watch(context);
    }
    let library = read_context::library(context)?;
    let (opened, status) = read_status(context, &library)?;
    read_context::print_value(context, args.json, &status, || view::status(&status, context.clock.now()))?;
    read_context::warn(context, &library, &opened);
    Ok(ExitCode::SUCCESS)
}

/// Reads the current status.
fn read_status(context: &Context, library: &RunCatalog) -> Result<(OpenedRun, Status)> {
    let runs: Vec<&RunRecord> = alive(library);
    let opened = library.open_stories(&runs)?;
    let (log, policy) = (context.paths.log(), context.paths.policy());
    let surroundings = StatusPaths { client: context.paths.client.as_deref(), log: &log, policy: &policy };
    let overrides = OverrideFile::new(&policy, context.config.log.lock_patience).read();
    let status = Status::of(library, &opened, &surroundings, overrides, context.clock.now());
    Ok((opened, status))
}

/// The used part of Claude Code's input.
#[derive(Deserialize)]
struct StatusInput {
    session_id: Option<String>,
}

/// Prints one line for Claude Code's status line. It is fast and never fails: failures result in a line, too.
pub fn line() -> ExitCode {
    let ui = Ui::default();
    let text = match Context::lenient(ui) {
        Ok((context, _)) => view::brief(find_team(&context).as_ref()),
        Err(_) => "teamkeep: status unknown, run `teamkeep status`".to_owned(),
    };
    // Claude Code may have closed the pipe.
    let _ = ui.raw(format!("{text}\n").as_bytes());
    ExitCode::SUCCESS
}

fn find_team(context: &Context) -> Option<StatusLine> {
    let session = session_of_stdin();
    let wanted = session.as_deref().map_or(Wanted::Latest, Wanted::Session);
    let paths = &context.paths;
    let archive = Archive::open(paths.archive(), &context.config);
    let (log, policy) = (paths.log(), paths.policy());
    let surroundings = StatusPaths { client: paths.client.as_deref(), log: &log, policy: &policy };
    let overrides = OverrideFile::new(&policy, Duration::ZERO).read();
    StatusLine::find(&archive, wanted, &surroundings, &overrides, context.clock.now())
}

/// The session that Claude Code names on stdin.
fn session_of_stdin() -> Option<String> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return None;
    }
    let input = payload::read(stdin, MAX_BYTES, TIMEOUT);
    serde_json::from_slice::<StatusInput>(&input.bytes).ok()?.session_id
}
