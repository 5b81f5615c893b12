//! `teamkeep policy resume`: pauses end before their time.

use std::process::ExitCode;

use serde_json::json;

use super::record::record;
use super::scope::{self, Scope};
use crate::context::Context;
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

/// Runs it. An allowed shutdown that has not come is taken back with the gate that it is for. A pause of more than what
/// is named stays, and is named.
///
/// # Errors
/// When it cannot be recorded, or the disk refuses.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let scope = &args.scope;
    let of_shutdowns =
        scope.team.is_none() && scope.gate.as_deref().is_none_or(|gate| gate == "premature-shutdown");
    let file = scope::file(context)?;
    record(
        context,
        scope.team.as_deref(),
        json!({"override": "resume", "gate": scope.gate, "team": scope.team}),
    )?;
    let (ended, stay) = file.change(context.clock.now(), |overrides| {
        let mut ended: Vec<String> =
            overrides.pauses.iter().filter(|pause| scope.covers(pause)).map(scope::told).collect();
        overrides.pauses.retain(|pause| !scope.covers(pause));
        if of_shutdowns {
            ended.extend(overrides.shutdowns.drain(..).map(|name| format!("the shutdown of {name:?}")));
        }
        let stay = overrides.pauses.iter().filter(|pause| scope.meets(pause)).map(scope::told);
        (ended, stay.collect::<Vec<_>>())
    })?;
    for what in &ended {
        context.ui.say(&format!("no longer let through: {what}"));
    }
    for what in &stay {
        context.ui.say(&format!("still paused: {what}; `teamkeep policy resume` ends every pause"));
    }
    if ended.is_empty() && stay.is_empty() {
        context.ui.say("nothing was paused");
    }
    Ok(ExitCode::SUCCESS)
}
