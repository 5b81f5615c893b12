//! `teamkeep show RUN [--at TIME]`: a run's roster, tasks and mail as they were.

use std::process::ExitCode;

use super::reading;
use crate::archive::RunRecord;
use crate::clock::{self, Time};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::render;
use crate::timeline::{Material, state};

/// Arguments of `teamkeep show`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A team's name, `latest`, or the beginning of a run's id
    #[arg(value_name = "RUN", default_value = "latest")]
    run: String,
    /// As of this moment: RFC 3339, `2026-02-03 04:05:06` (UTC), or from the start of the run, such as `+1m30s`.
    /// Without it each thing is shown as it was when it last existed
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    at: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs it.
///
/// # Errors
/// When there is no such run, TIME is none, or the record cannot be read.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let library = reading::library(context)?;
    let opened = library.open_runs(&[library.find(&args.run)?])?;
    for material in &opened.runs {
        let at = args.at.as_deref().map(|text| moment(text, material)).transpose()?.map(clock::stamp);
        if let Some(at) = &at {
            beside(context, &material.run, at);
        }
        let state = state(&library.archive, material, at.as_deref());
        if args.json {
            reading::print_json(context, &state)?;
        } else {
            reading::print(context, &render::state(material, &state, context.ui.columns()))?;
        }
    }
    reading::warn(context, &library, &opened);
    Ok(ExitCode::SUCCESS)
}

/// Says when the moment is not in the run: what is shown is nothing then, or what was left.
pub(super) fn beside(context: &Context, run: &RunRecord, at: &str) {
    if at < run.started_at.as_str() {
        context.ui.say(&format!("the run begins at {}", run.started_at));
    }
    if let Some(ended) = run.ended_at.as_deref().filter(|ended| at > *ended) {
        let since = render::since(&run.started_at, ended).unwrap_or_default();
        context.ui.say(&format!("the run had ended at {ended} (+{since})"));
    }
}

/// The moment that a person means.
pub(super) fn moment(text: &str, material: &Material) -> Result<Time> {
    let wrong = || {
        Error::usage(format!("{text:?} is no time")).hint(
            "RFC 3339 (2026-02-03T04:05:06Z), 2026-02-03 04:05:06 for UTC, or from the start of the run (+1m30s)",
        )
    };
    let (span, sign) = match (text.strip_prefix('+'), text.strip_prefix('-')) {
        (Some(span), _) => (span, 1),
        (None, Some(span)) => (span, -1),
        (None, None) => return clock::parse_loose(text).ok_or_else(wrong),
    };
    let millis = clock::parse_span(span).ok_or_else(wrong)?;
    let start = clock::parse(&material.run.started_at).ok_or_else(wrong)?;
    start.checked_add_signed(chrono::Duration::milliseconds(sign * millis)).ok_or_else(wrong)
}
