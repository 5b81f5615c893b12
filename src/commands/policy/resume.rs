//! `teamkeep policy resume`: ends pauses early.

use crate::config::Gate;
use std::process::ExitCode;

use serde_json::json;

use super::capture_case::record;
use super::scope::{self, Scope};
use crate::context::Context;
use crate::enforcement::Pause;
use crate::error::Result;

/// Arguments of `teamkeep policy resume`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    scope: Scope,
}

const EXAMPLES: &str = "Examples:
  teamkeep policy resume
  teamkeep policy resume --gate premature-shutdown";

/// Runs it. Allowed shutdowns end together with the pause of their gate. A pause with a wider scope is kept and listed.
///
/// # Errors
/// When the change cannot be recorded or stored.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    args.scope.check()?;
    let scope = &args.scope;
    let of_shutdowns = scope.team.is_none()
        && scope.gate.as_deref().is_none_or(|gate| gate == Gate::PrematureShutdown.name());
    let file = scope::file(context)?;
    let now = context.clock.now();
    let before = file.read();
    let is_affected = |pause: &Pause| pause.is_in_force(now) && scope.overlaps(pause);
    if !before.pauses.iter().any(is_affected) && (before.shutdowns.is_empty() || !of_shutdowns) {
        context.ui.eprint_line("no active pauses or allowances");
        return Ok(ExitCode::SUCCESS);
    }
    record(
        context,
        scope.team.as_deref(),
        json!({"override": "resume", "gate": scope.gate, "team": scope.team}),
    )?;
    let (ended, stay) = file.change(now, |overrides| {
        let mut ended: Vec<String> =
            overrides.pauses.iter().filter(|pause| scope.contains(pause)).map(scope::told).collect();
        overrides.pauses.retain(|pause| !scope.contains(pause));
        if of_shutdowns {
            ended.extend(overrides.shutdowns.drain(..).map(|name| format!("allowed shutdown of {name}")));
        }
        let stay = overrides.pauses.iter().filter(|pause| scope.overlaps(pause)).map(scope::told);
        (ended, stay.collect::<Vec<_>>())
    })?;
    for what in &ended {
        context.ui.eprint_line(&format!("ended: {what}"));
    }
    for what in &stay {
        context.ui.eprint_line(&format!("still paused: {what}; to end every pause: teamkeep policy resume"));
    }
    Ok(ExitCode::SUCCESS)
}
