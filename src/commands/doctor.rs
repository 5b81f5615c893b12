//! `teamkeep doctor`: checks the installation and suggests fixes.

use std::path::Path;
use std::process::ExitCode;

use serde_json::json;

use super::install;
use super::installation::SettingsTarget;
use super::output::JsonOption;
use crate::doctor::{
    CheckInput, CheckVerdict, FixStep, Health, plan_fixes, restrict_permissions, run_checks,
};
use crate::view;
use teamkeep_config::misnamed_file;
use teamkeep_settings::version::{self, VersionProbe};
use teamkeep_system::error::Result;
use teamkeep_terminal::Context;

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
    #[command(flatten)]
    output: JsonOption,
    /// Apply the safe fixes: add missing hooks to the user settings, make the store private; enable agent teams if you
    /// confirm it
    #[arg(long)]
    fix: bool,
    /// With --fix, enable agent teams without asking
    #[arg(long, short, requires = "fix")]
    yes: bool,
}

pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let client = version::probe(&context.env, &context.paths, |waiting| context.ui.eprint_line(waiting));
    let (input, mut health) = check(context, &client);
    let steps = plan_fixes(&input, &health);
    let mut done: Vec<String> = Vec::new();
    if args.fix {
        done = fix(context, &input, &steps, args.yes);
        if done.is_empty() {
            let nothing = if health.is_ok() { "nothing to fix" } else { "no safe fix is available" };
            context.ui.eprint_line(nothing);
        } else {
            health = check(context, &client).1;
        }
    }
    let whole = json!({
        "v": 1,
        "well": health.is_ok(),
        "ok": health.count(CheckVerdict::Ok),
        "unknown": health.count(CheckVerdict::Unknown),
        "warn": health.count(CheckVerdict::Warn),
        "bad": health.count(CheckVerdict::Bad),
        "checks": health.findings,
        "fixed": done,
    });
    // Agent teams are enabled only if the user confirms it.
    let has_safe_fix = steps.iter().any(|step| !matches!(step, FixStep::EnableTeams(_)));
    args.output.print(context, &whole, || {
        let doctor = format!("{} doctor", input.call);
        let commands = view::Commands {
            fix: (!args.fix && has_safe_fix).then(|| format!("{doctor} --fix")),
            verbose: (!args.verbose).then(|| format!("{doctor} --verbose")),
        };
        view::health(&health, &commands)
    })?;
    Ok(if health.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn check<'a>(context: &'a Context, client: &VersionProbe) -> (CheckInput<'a>, Health) {
    let files = context.policy_files();
    let policy = (&files, misnamed_file(&context.env));
    let input =
        CheckInput::gather((&context.env, &context.paths), policy, context.clock.now(), client.clone());
    let health = run_checks(&input);
    (input, health)
}

/// Applies the safe fixes, and prints each change. A failure is reported, and the other fixes continue.
fn fix(context: &Context, input: &CheckInput<'_>, steps: &[FixStep], yes: bool) -> Vec<String> {
    let mut done = Vec::new();
    for step in steps {
        let result = match step {
            // It prints the change itself.
            FixStep::Install => install::add(context, &install::Args::for_user(input.version()))
                .map(|is_changed| is_changed.then(|| "installed the hooks in the user settings".to_owned())),
            FixStep::EnableTeams(path) => enable_teams(context, path, yes),
            FixStep::Shut(open) => restrict_permissions(&open.path).map(|()| {
                let line = format!("made {} private (its mode was {:o})", open.path.display(), open.mode);
                context.ui.eprint_line(&line);
                Some(line)
            }),
        };
        match result {
            Ok(line) => done.extend(line),
            Err(error) => context.ui.report(&error),
        }
    }
    done
}

/// Enables agent teams and task tools in the user settings, if the user confirms it.
fn enable_teams(context: &Context, path: &Path, yes: bool) -> Result<Option<String>> {
    let path = path.display();
    let is_confirmed =
        yes || (context.ui.is_typed() && context.ui.ask(&format!("enable agent teams in {path}?"))?);
    if !is_confirmed {
        return Ok(None);
    }
    let is_changed = install::enable_teams(context, &SettingsTarget::of_user())?;
    Ok(is_changed.then(|| format!("enabled agent teams and task tools in {path}")))
}
