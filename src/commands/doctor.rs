//! `teamkeep doctor`: checks the installation and suggests fixes.

use std::process::ExitCode;

use serde_json::json;

use super::{install, read_context};
use crate::config::misnamed_file;
use crate::context::Context;
use crate::doctor::fix::{self, FixStep};
use crate::doctor::{Facts, Health, Verdict, run_checks};
use crate::error::Result;
use crate::settings::client::{self, VersionProbe};
use crate::view;

/// Arguments of `teamkeep doctor`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Check the installation
  teamkeep doctor

  # List the failed checks
  teamkeep doctor --json | jq -r '.checks[] | select(.verdict == \"bad\") | .code'

Exit codes:
  0   No errors (warnings are allowed)
  1   Errors found
  64  Usage error

To list every check: teamkeep doctor --verbose")]
pub struct Args {
    /// Also list the checks that passed or were skipped
    #[arg(short, long)]
    verbose: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Apply the safe fixes: add missing hooks to the user settings, make the store private
    #[arg(long)]
    fix: bool,
}

/// Runs it.
///
/// # Errors
/// Stdout cannot be written.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let asked = client::look(&context.env, &context.paths, |waiting| context.ui.eprint_line(waiting));
    let (facts, mut health) = look(context, &asked);
    let steps = fix::plan(&facts, &health);
    let mut done: Vec<String> = Vec::new();
    if args.fix {
        done = fix(context, &facts, &steps);
        if done.is_empty() {
            let nothing = if health.is_ok() { "nothing to fix" } else { "no safe fix is available" };
            context.ui.eprint_line(nothing);
        } else {
            health = look(context, &asked).1;
        }
    }
    if args.json {
        let number = |verdict| health.count(verdict);
        let whole = json!({
            "v": 1,
            "well": health.is_ok(),
            "ok": number(Verdict::Ok),
            "unknown": number(Verdict::Unknown),
            "warn": number(Verdict::Warn),
            "bad": number(Verdict::Bad),
            "checks": health.findings,
            "fixed": done,
        });
        read_context::print_json(context, &whole)?;
    } else {
        let doctor = format!("{} doctor", facts.call);
        let commands = view::Commands {
            fix: (!args.fix && !steps.is_empty()).then(|| format!("{doctor} --fix")),
            verbose: format!("{doctor} --verbose"),
        };
        read_context::print_document(context, &view::health(&health, args.verbose, &commands))?;
    }
    Ok(if health.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn look<'a>(context: &'a Context, asked: &VersionProbe) -> (Facts<'a>, Health) {
    let files = context.policy_files();
    let policy = (&files, misnamed_file(&context.env));
    let facts = Facts::gather((&context.env, &context.paths), policy, context.clock.now(), asked.clone());
    let health = run_checks(&facts);
    (facts, health)
}

/// Applies the safe fixes, and prints each change. A failure is reported, and the other fixes continue.
fn fix(context: &Context, facts: &Facts<'_>, steps: &[FixStep]) -> Vec<String> {
    let mut done = Vec::new();
    for step in steps {
        let line = match step {
            FixStep::Install => "installed the hooks in the user settings".to_owned(),
            FixStep::Shut(open) => {
                format!("made {} private (its mode was {:o})", open.path.display(), open.mode)
            }
        };
        let result = match step {
            // It prints the change itself.
            FixStep::Install => install::add(context, &install::Args::for_user(facts.version())),
            FixStep::Shut(open) => fix::restrict_permissions(&open.path).map(|()| {
                context.ui.eprint_line(&line);
                true
            }),
        };
        match result {
            Ok(true) => done.push(line),
            Ok(false) => {}
            Err(error) => context.ui.report(&error),
        }
    }
    done
}
