//! `teamkeep status`: the status of running teams, or one line for Claude Code (`--line`).

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::time::Duration;

use serde::Deserialize;

use super::catalog::{self, catalog};
use super::output::JsonOption;
use crate::status::{Attention, Status, StatusLine, alive};
use crate::view;
use teamkeep_history::timeline::{OpenedRun, RunCatalog};
use teamkeep_hook::enforcement::OverrideFile;
use teamkeep_store::archive::RunRecord;
use teamkeep_store::log::Segment;
use teamkeep_system::error::Result;
use teamkeep_system::process;
use teamkeep_terminal::{Context, Ui};

/// Maximum size of Claude Code's input in bytes.
const MAX_BYTES: usize = 1 << 20;
/// A larger log takes too long to read for a status line.
const MAX_OBSERVED_LOG_BYTES: u64 = 32 << 20;
/// Time limit for Claude Code's input. It is written at once, but a pipe may stay open without a writer.
const TIMEOUT: Duration = Duration::from_millis(30);

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  teamkeep status --json | jq -r '.teams[].incidents[] | .summary'
  teamkeep status --json | jq -r '.teams[].members[] | select(.doing == \"idle\") | .name'")]
pub struct Args {
    #[command(flatten)]
    output: JsonOption,
    /// Print one line for Claude Code's `statusLine` setting. Shows the team of the session that the JSON on stdin names;
    /// without stdin, the team that changed last. Never fails
    #[arg(long, conflicts_with = "json")]
    pub line: bool,
}

pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    context.warn_missing_store();
    let catalog = catalog(context)?;
    let (opened, status) = read_status(context, &catalog)?;
    args.output.print(context, &status, || view::status(&status, context.clock.now()))?;
    catalog::warn_damaged(context, &catalog, &opened);
    Ok(ExitCode::SUCCESS)
}

fn read_status(context: &Context, catalog: &RunCatalog) -> Result<(OpenedRun, Status)> {
    let runs: Vec<&RunRecord> = alive(catalog);
    let opened = catalog.open_runs(&runs)?;
    let overrides = OverrideFile::new(&context.paths.store, context.config.log.lock_patience);
    if let Err(error) = overrides.try_read() {
        context.ui.warn(format!("pauses and allowances ignored: {error}"));
    }
    let overrides = overrides.read_active(context.clock.now());
    let around = catalog::surroundings(context, catalog);
    let status = Status::of(catalog, &opened, around, overrides, context.clock.now());
    Ok((opened, status))
}

/// Prints one line for Claude Code's status line. It is fast and never fails: failures result in a line, too.
pub fn line() -> ExitCode {
    let ui = Ui::default();
    let text = match Context::lenient(ui) {
        Ok((context, _)) => view::status_line(status_line(&context).as_ref()),
        Err(_) => "teamkeep: status unknown, run `teamkeep status`".to_owned(),
    };
    // Claude Code may have closed the pipe.
    let _ = ui.raw(format!("{text}\n").as_bytes());
    ExitCode::SUCCESS
}

fn status_line(context: &Context) -> Option<StatusLine> {
    let (session, now) = (session_of_stdin(), context.clock.now());
    let overrides = OverrideFile::new(&context.paths.store, Duration::ZERO).read_active(now);
    let archive = catalog::archive(context);
    let line = StatusLine::find(&archive, session.as_deref(), &context.paths, &overrides)?;
    let attention = Attention::stored(&archive, &line.run, now).or_else(|| observe(context, &line.run));
    Some(line.with(attention))
}

/// Finds the agents and incidents that need attention, and stores them for the next lines. `None` if that would
/// take too long.
fn observe(context: &Context, run: &str) -> Option<Attention> {
    let catalog = catalog::lenient_catalog(context);
    let segments = catalog.logs.run(run)?.segments().ok()?;
    if segments.iter().map(Segment::plain_size).sum::<u64>() > MAX_OBSERVED_LOG_BYTES {
        return None;
    }
    let opened = catalog.open_runs(&[catalog.runs.iter().find(|record| record.run == run)?]).ok()?;
    let data = opened.runs.first()?;
    let attention = Attention::of(data, &catalog::observe(context, &catalog, data));
    attention.store(&catalog.archive, run);
    Some(attention)
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
    let input = process::read_stdin(stdin, MAX_BYTES, TIMEOUT);
    serde_json::from_slice::<Input>(&input.bytes).ok()?.session_id
}
