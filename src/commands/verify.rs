//! `teamkeep verify [RUN]`: checks the recorded data for damage.

use std::process::ExitCode;

use serde_json::json;

use super::catalog::{self, lenient_catalog};
use super::output::JsonOption;
use crate::context::Context;
use crate::verify::{Scope, Verifier};
use crate::view;
use teamkeep_core::error::{Error, Result};
use teamkeep_core::store::chain::ChainPoint;
use teamkeep_core::store::log;
use teamkeep_core::sys::clock;

#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  # Check everything
  teamkeep verify

  # Check one run and list the damaged files
  teamkeep verify parser-team --json | jq '.findings[] | {kind, path}'

  # Note the head of the log, and check later that the log still has it
  teamkeep verify --head
  teamkeep verify --against 1042:6f1c2d9f6a1f4f0f8a2b7c3d4e5f6071

Exit codes:
  0   No damage
  1   Damage or a change found, no such run, or no head
  64  Usage error")]
pub struct Args {
    /// Team name, run ID (or a unique prefix), or `latest`; default: everything
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// Print the head of the log's hash chain and check nothing
    #[arg(long, conflicts_with_all = ["run", "against"])]
    head: bool,
    /// Check also that the log still has this head, which `--head` printed or teamkeep-ship sent; repeatable
    #[arg(long, value_name = "COUNT:HASH", conflicts_with = "run")]
    against: Vec<ChainPoint>,
    #[command(flatten)]
    output: JsonOption,
}

pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    if args.head {
        return print_head(context, args);
    }
    context.warn_missing_store();
    let catalog = lenient_catalog(context);
    let scope = match &args.run {
        // A damaged run is found only by its ID.
        Some(name) if catalog.damaged.contains(name) => Scope::Run(name.clone()),
        Some(name) => Scope::Run(catalog::find(&catalog, name)?.run.clone()),
        None => Scope::All,
    };
    let paths = &context.paths;
    let (log, sessions, policy) = (paths.log(), paths.sessions(), paths.policy());
    let verifier = Verifier {
        archive: &catalog.archive,
        log: &log,
        sessions: &sessions,
        policy: &policy,
        scope,
        against: &args.against,
    };
    let mut progress = context.ui.progress("verifying", verifier.size());
    let findings = verifier.run(&mut |bytes| progress.add(bytes))?;
    drop(progress);
    let whole = json!({
        "v": 1,
        "whole": findings.is_ok(),
        "checked": findings.checked,
        "chain": findings.chain,
        "damaged": findings.count,
        "findings": findings.first,
        "notes": findings.notes,
    });
    args.output.print(context, &whole, || view::findings(&findings))?;
    Ok(if findings.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print_head(context: &Context, args: &Args) -> Result<ExitCode> {
    let Some(head) = log::head(&context.paths.log()) else {
        let hint =
            "the next hook call starts the chain, or continues it; `teamkeep verify` shows what is missing";
        return Err(Error::new("the log's hash chain has no head").hint(hint));
    };
    let whole = json!({"v": 1, "head": {"count": head.count, "hash": head.hash, "at": head.at}});
    args.output.print(context, &whole, || {
        let mut document = view::Document::default();
        document.code([view::plain(format!("{}  {}", head.point(), clock::moment(head.at)))]);
        document
    })?;
    Ok(ExitCode::SUCCESS)
}
