//! `teamkeep status`: the status of running teams.

mod line;
mod watch;

use std::process::ExitCode;

use super::read_context;
use crate::archive::RunRecord;
use crate::context::Context;
use crate::enforcement::OverrideFile;
use crate::error::Result;
use crate::render;
use crate::status::{Status, StatusPaths, alive};
use crate::timeline::{OpenedRun, RunCatalog};

pub use line::line;

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
    let (opened, status) = look(context, &library)?;
    if args.json {
        read_context::print_json(context, &status)?;
    } else {
        read_context::print_document(context, &render::status(&status, context.clock.now()))?;
    }
    read_context::warn(context, &library, &opened);
    Ok(ExitCode::SUCCESS)
}

/// Reads the current status.
fn look(context: &Context, library: &RunCatalog) -> Result<(OpenedRun, Status)> {
    let runs: Vec<&RunRecord> = alive(library);
    let opened = library.open_stories(&runs)?;
    let (log, policy) = (context.paths.log(), context.paths.policy());
    let surroundings = StatusPaths { client: context.paths.client.as_deref(), log: &log, policy: &policy };
    let overrides = OverrideFile::new(&policy, context.config.log.lock_patience).read();
    let status = Status::of(library, &opened, &surroundings, overrides, context.clock.now());
    Ok((opened, status))
}
