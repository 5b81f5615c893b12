//! `teamkeep doctor`: whether everything is set up, and what mends what is not.

use std::process::ExitCode;

use serde_json::json;

use super::{install, reading};
use crate::context::{Context, misnamed_config};
use crate::doctor::mend::{self, Step};
use crate::doctor::{Facts, Health, Verdict, examine};
use crate::error::Result;
use crate::render;
use crate::settings::client::{self, Asked};

/// Arguments of `teamkeep doctor`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  teamkeep doctor
      Look at everything, and say what mends what is amiss.
  teamkeep doctor --json | jq -r '.checks[] | select(.verdict == \"bad\") | .mend'
      List what mends what is broken.

Exit code 0 when nothing is broken (warnings are allowed), 1 when something is. docs/doctor.md explains each check.")]
pub struct Args {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Mend what is safe to mend: put missing hooks into the user's settings, and close the record to others
    #[arg(long)]
    fix: bool,
}

/// Runs it.
///
/// # Errors
/// When a directory of the record cannot be listed.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let asked = client::look(&context.env, &context.paths, |waiting| context.ui.say(waiting));
    let (facts, mut health) = look(context, &asked)?;
    let steps = mend::plan(&facts, &health);
    let mut done: Vec<String> = Vec::new();
    if args.fix {
        done = fix(context, &facts, &steps);
        if done.is_empty() {
            let nothing =
                if health.is_well() { "nothing to mend" } else { "nothing of it can be mended from here" };
            context.ui.say(nothing);
        } else {
            health = look(context, &asked)?.1;
        }
    }
    if args.json {
        let number = |verdict| health.count(verdict);
        let whole = json!({
            "v": 1,
            "well": health.is_well(),
            "ok": number(Verdict::Ok),
            "unknown": number(Verdict::Unknown),
            "warn": number(Verdict::Warn),
            "bad": number(Verdict::Bad),
            "checks": health.findings,
            "fixed": done,
        });
        reading::print_json(context, &whole)?;
    } else {
        let fix = (!args.fix && !steps.is_empty()).then(|| format!("{} doctor --fix", facts.call));
        reading::print(context, &render::health(&health, fix.as_deref(), context.ui.columns()))?;
    }
    Ok(if health.is_well() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn look<'a>(context: &'a Context, asked: &Asked) -> Result<(Facts<'a>, Health)> {
    let files = context.policy_files();
    let facts = Facts::gather(&context.env, &context.paths, &files, context.clock.now(), asked.clone());
    let health = examine(&facts, misnamed_config(&context.env).as_ref())?;
    Ok((facts, health))
}

/// Does what is safe, and says what it did. What cannot be done is said, too, and the rest goes on.
fn fix(context: &Context, facts: &Facts<'_>, steps: &[Step]) -> Vec<String> {
    let mut done = Vec::new();
    for step in steps {
        let line = match step {
            Step::Install => "installed the hooks in the user's settings".to_owned(),
            Step::Shut(open) => {
                format!("closed {} to others (it had mode {:o})", open.path.display(), open.mode)
            }
        };
        let result = match step {
            // It says itself what it did, or that there was nothing to do.
            Step::Install => install::add(context, &install::Args::for_user(facts.version())),
            Step::Shut(open) => mend::shut(&open.path).map(|()| {
                context.ui.say(&line);
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
