//! `teamkeep policy pause`: disables gates for a time.

use std::process::ExitCode;

use chrono::TimeDelta;
use serde_json::json;

use super::capture_case::record;
use super::scope::{self, Scope};
use crate::clock;
use crate::context::Context;
use crate::enforcement::{LONGEST_PAUSE, Pause};
use crate::error::{Error, Result};

/// Arguments of `teamkeep policy pause`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    scope: Scope,
    /// Duration: `15m`, `2h`; at most 24 hours
    #[arg(value_name = "DURATION", value_parser = duration)]
    duration: TimeDelta,
}

const EXAMPLES: &str = "Examples:
  teamkeep policy pause 15m
  teamkeep policy pause --gate premature-shutdown --team parser-team 1h";

/// Runs it. A pause replaces the previous one of the same gate and team.
///
/// # Errors
/// When the pause cannot be recorded or stored.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    args.scope.check()?;
    let now = context.clock.now();
    let until = now
        .checked_add_signed(args.duration)
        .ok_or_else(|| Error::usage("the end of the pause is out of range"))?;
    let Scope { gate, team } = args.scope.clone();
    let pause = Pause { gate, team, until: clock::stamp(until) };
    let file = scope::file(context)?;
    record(
        context,
        pause.team.as_deref(),
        json!({"override": "pause", "gate": pause.gate, "team": pause.team, "until": pause.until}),
    )?;
    file.change(now, |overrides| {
        overrides.pauses.retain(|other| (&other.gate, &other.team) != (&pause.gate, &pause.team));
        overrides.pauses.push(pause.clone());
    })?;
    context.ui.eprint_line(&format!("paused {}; to end it: teamkeep policy resume", scope::told(&pause)));
    Ok(ExitCode::SUCCESS)
}

/// Parses a duration. A number without a unit is invalid.
fn duration(text: &str) -> std::result::Result<TimeDelta, String> {
    let bare = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let span =
        clock::parse_span(text).filter(|millis| !bare && *millis > 0).and_then(TimeDelta::try_milliseconds);
    match span {
        None => Err("invalid duration; expected a value such as \"15m\" or \"1h30m\"".to_owned()),
        Some(span) if span > LONGEST_PAUSE => {
            Err("longer than 24h; to turn a gate off for good, set its mode in teamkeep.toml".to_owned())
        }
        Some(span) => Ok(span),
    }
}
