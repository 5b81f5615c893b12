//! `teamkeep verify [RUN]`: checks the recorded data for damage.

use std::process::ExitCode;

use serde_json::json;

use super::catalog::lenient_catalog;
use super::output::JsonOption;
use crate::context::Context;
use crate::verify::{Scope, Verifier};
use crate::view;
use teamkeep_core::error::Result;

#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  # Check everything
  teamkeep verify

  # Check one run and list the damaged files
  teamkeep verify parser-team --json | jq '.findings[] | {kind, path}'

Exit codes:
  0   No damage
  1   Damage found, or no such run
  64  Usage error")]
pub struct Args {
    /// Team name, run ID (or a unique prefix), or `latest`; default: everything
    #[arg(value_name = "RUN")]
    run: Option<String>,
    #[command(flatten)]
    output: JsonOption,
}

pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let catalog = lenient_catalog(context);
    let scope = match &args.run {
        // A damaged run is found only by its ID.
        Some(name) if catalog.damaged.contains(name) => Scope::Run(name.clone()),
        Some(name) => Scope::Run(catalog.find(name)?.run.clone()),
        None => Scope::All,
    };
    let paths = &context.paths;
    let (log, sessions, policy) = (paths.log(), paths.sessions(), paths.policy());
    let verifier =
        Verifier { archive: &catalog.archive, log: &log, sessions: &sessions, policy: &policy, scope };
    let mut progress = context.ui.progress("verifying", verifier.size());
    let findings = verifier.run(&mut |bytes| progress.add(bytes))?;
    drop(progress);
    let whole = json!({
        "v": 1,
        "whole": findings.is_ok(),
        "checked": findings.checked,
        "damaged": findings.count,
        "findings": findings.first,
    });
    args.output.print(context, &whole, || view::findings(&findings))?;
    Ok(if findings.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
