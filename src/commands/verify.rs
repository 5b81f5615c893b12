//! `teamkeep verify [RUN]`: checks the recorded data for damage.

use std::process::ExitCode;

use serde_json::json;

use super::catalog::{self, lenient_catalog};
use super::output::JsonOption;
use crate::verify::{LogHead, Scope, Verifier};
use crate::view;
use teamkeep_store::log::Logs;
use teamkeep_system::error::{Error, Result};
use teamkeep_terminal::Context;

#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  # Check everything
  teamkeep verify

  # Check one run and list the damaged files
  teamkeep verify parser-team --json | jq '.findings[] | {kind, path}'

  # Note the heads of all logs, and check later that the logs still have them
  teamkeep verify --head > heads.txt
  teamkeep verify --against heads.txt

Exit codes:
  0   No damage
  1   Damage or a change found, no such run, or no event
  64  Usage error")]
pub struct Args {
    /// Team name, run ID (or a unique prefix), or `latest`; default: everything
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// Print the head of each log's hash chain, a line each, and check nothing
    #[arg(long, conflicts_with_all = ["run", "against"])]
    head: bool,
    /// Check also that the logs still have these heads: a line of `--head`, or a file with such lines; repeatable
    #[arg(long, value_name = "HEAD|FILE", conflicts_with = "run")]
    against: Vec<String>,
    #[command(flatten)]
    output: JsonOption,
}

pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    if args.head {
        return print_heads(context, args);
    }
    context.warn_missing_store();
    let catalog = lenient_catalog(context);
    let scope = match &args.run {
        // A damaged run is found only by its ID.
        Some(name) if catalog.damaged.contains(name) => Scope::Run(name.clone()),
        Some(name) => Scope::Run(catalog::find(&catalog, name)?.run.clone()),
        None => Scope::All,
    };
    let against = heads(&args.against)?;
    let verifier = Verifier {
        archive: &catalog.archive,
        logs: &catalog.logs,
        paths: Some(&context.paths),
        scope,
        against: &against,
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

/// The noted heads: each text is one, or names a file with one in each line.
fn heads(texts: &[String]) -> Result<Vec<LogHead>> {
    let mut heads = Vec::new();
    for text in texts {
        if let Ok(head) = text.parse() {
            heads.push(head);
            continue;
        }
        let what = || format!("invalid head {text:?}");
        let hint = "expected LOG:COUNT:HASH, or a file with such lines: teamkeep verify --head > heads.txt";
        let file = std::fs::read_to_string(text);
        let file = file.map_err(|error| Error::caused(what(), error).of_usage().hint(hint))?;
        for line in file.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let head = line
                .parse()
                .map_err(|_| Error::usage(format!("invalid head {line:?} in {text}")).hint(hint))?;
            heads.push(head);
        }
    }
    Ok(heads)
}

fn print_heads(context: &Context, args: &Args) -> Result<ExitCode> {
    let logs = Logs::of(&context.paths).all()?;
    let heads: Vec<LogHead> = logs.iter().filter_map(LogHead::of).collect();
    if heads.is_empty() {
        return Err(Error::not_found("no events recorded yet").hint("check the hooks: teamkeep doctor"));
    }
    let whole = json!({"v": 1, "heads": heads});
    args.output.print(context, &whole, || {
        let mut document = view::Document::default();
        heads.iter().for_each(|head| document.code([view::plain(head.to_string())]));
        document
    })?;
    Ok(ExitCode::SUCCESS)
}
