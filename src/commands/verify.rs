//! `teamkeep verify [RUN]`: checks the recorded data for damage.

use std::process::ExitCode;

use serde_json::json;

use super::read_context;
use crate::context::Context;
use crate::error::Result;
use crate::verify::{Scope, Verifier};
use crate::view;

/// Arguments of `teamkeep verify`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// Team name, run ID (or a unique prefix), or `latest`; default: everything
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  # Check everything
  teamkeep verify

  # Check one run and list the damaged files
  teamkeep verify parser-team --json | jq '.findings[] | {kind, path}'

Exit codes:
  0   No damage
  1   Damage found, or no such run
  64  Usage error";

/// Runs it.
///
/// # Errors
/// When there is no such run, or a directory of the store cannot be listed.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let library = read_context::any_library(context);
    let scope = match &args.run {
        // A damaged run is found only by its ID.
        Some(name) if library.damaged.contains(name) => Scope::Run(name.clone()),
        Some(name) => Scope::Run(library.find(name)?.run.clone()),
        None => Scope::All,
    };
    let paths = &context.paths;
    let (log, sessions, policy) = (paths.log(), paths.sessions(), paths.policy());
    let verifier =
        Verifier { archive: &library.archive, log: &log, sessions: &sessions, policy: &policy, scope };
    let mut progress = context.ui.progress("verifying", verifier.size());
    let findings = verifier.run(&mut |bytes| progress.add(bytes))?;
    drop(progress);
    if args.json {
        let whole = json!({
            "v": 1,
            "whole": findings.is_ok(),
            "checked": findings.checked,
            "damaged": findings.count,
            "findings": findings.first,
        });
        read_context::print_json(context, &whole)?;
    } else {
        read_context::print_document(context, &view::findings(&findings))?;
    }
    Ok(if findings.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
