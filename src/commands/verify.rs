//! `teamkeep verify [RUN]`: whether the record is whole.

use std::process::ExitCode;

use serde_json::json;

use super::reading;
use crate::context::Context;
use crate::error::Result;
use crate::render;
use crate::verify::{Scope, Verifier};

/// Arguments of `teamkeep verify`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// A team's name, `latest`, or the beginning of a run's id; without it all of the record
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  # all of the record
  teamkeep verify

  # one run, and a list of what is damaged of it
  teamkeep verify parser-team --json | jq '.findings[] | {kind, path}'

Exit codes:
  0   it is whole
  1   something is damaged, or there is no such run
  64  a command line that makes no sense";

/// Runs it.
///
/// # Errors
/// When there is no such run, or a directory of the record cannot be listed.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let library = reading::library(context)?;
    let scope = match &args.run {
        // A run whose record is damaged is found by its id.
        Some(name) if library.damaged.contains(name) => Scope::Run(name.clone()),
        Some(name) => Scope::Run(library.find(name)?.run.clone()),
        None => Scope::All,
    };
    let (log, sessions) = (context.paths.log(), context.paths.sessions());
    let verifier = Verifier { archive: &library.archive, log: &log, sessions: &sessions, scope };
    let mut progress = context.ui.progress("verifying", verifier.size());
    let findings = verifier.run(&mut |bytes| progress.add(bytes))?;
    drop(progress);
    if args.json {
        let whole = json!({
            "v": 1,
            "whole": findings.is_whole(),
            "checked": findings.checked,
            "damaged": findings.count,
            "findings": findings.first,
        });
        reading::print_json(context, &whole)?;
    } else {
        reading::print(context, &render::findings(&findings))?;
    }
    Ok(if findings.is_whole() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
