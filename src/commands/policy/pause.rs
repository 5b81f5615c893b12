//! `teamkeep policy pause`, `resume` and `pauses`: disable gates for a time.

use std::process::ExitCode;

use chrono::TimeDelta;
use serde_json::json;

use super::scope::{self, Scope, pause_text, record};
use crate::clock;
use crate::commands::read_context;
use crate::config::Gate;
use crate::context::Context;
use crate::enforcement::{LONGEST_PAUSE, Pause};
use crate::error::{Error, Result};
use crate::ui::escape;

/// Arguments of `teamkeep policy pause`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct PauseArgs {
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
pub fn pause(context: &Context, args: &PauseArgs) -> Result<ExitCode> {
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
    context.ui.eprint_line(&format!("paused {}; to end it: teamkeep policy resume", pause_text(&pause)));
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

/// Arguments of `teamkeep policy resume`.
#[derive(Debug, clap::Args)]
#[command(after_help = RESUME_EXAMPLES)]
pub struct ResumeArgs {
    #[command(flatten)]
    scope: Scope,
}

const RESUME_EXAMPLES: &str = "Examples:
  teamkeep policy resume
  teamkeep policy resume --gate premature-shutdown";

/// Runs it. Allowed shutdowns end together with the pause of their gate. A pause with a wider scope is kept and listed.
///
/// # Errors
/// When the change cannot be recorded or stored.
pub fn resume(context: &Context, args: &ResumeArgs) -> Result<ExitCode> {
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
            overrides.pauses.iter().filter(|pause| scope.contains(pause)).map(pause_text).collect();
        overrides.pauses.retain(|pause| !scope.contains(pause));
        if of_shutdowns {
            ended.extend(overrides.shutdowns.drain(..).map(|name| format!("allowed shutdown of {name}")));
        }
        let stay = overrides.pauses.iter().filter(|pause| scope.overlaps(pause)).map(pause_text);
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

/// Arguments of `teamkeep policy pauses`.
#[derive(Debug, clap::Args)]
#[command(after_help = LIST_EXAMPLES)]
pub struct ListArgs {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

const LIST_EXAMPLES: &str = "Examples:
  teamkeep policy pauses
  teamkeep policy pauses --json";

/// Runs it.
///
/// # Errors
/// When stdout cannot be written.
pub fn list(context: &Context, args: &ListArgs) -> Result<ExitCode> {
    let now = context.clock.now();
    let mut overrides = scope::file(context)?.read();
    overrides.v = 1;
    overrides.pauses.retain(|pause| pause.is_in_force(now));
    if args.json {
        read_context::print_json(context, &overrides)?;
        return Ok(ExitCode::SUCCESS);
    }
    let pauses = overrides.pauses.iter().map(|pause| format!("paused: {}", pause_text(pause)));
    let shutdowns = overrides.shutdowns.iter().map(|name| format!("allowed once: shutdown of {name}"));
    let lines: String = pauses.chain(shutdowns).map(|line| format!("{}\n", escape(&line))).collect();
    if lines.is_empty() {
        context.ui.eprint_line("no active pauses or allowances");
    }
    read_context::print(context, &lines)?;
    Ok(ExitCode::SUCCESS)
}
