//! A time of a run, as the user writes it.

use crate::archive::RunRecord;
use crate::clock::{self, Time, When};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::view;

/// The forms of a time, for an invalid one.
const FORMS: &str = "expected 2026-11-20 04:40 (local), 2026-11-20T04:40:00Z, 2026-11-20, today, yesterday, now, an age (10m, 2h, 1w), \
                     or the time since the start of the run (+1m30s)";

/// Parses a time of a run: see [`When`].
///
/// # Errors
/// The text is not a valid time.
pub fn parse_time(text: &str, run: &RunRecord, now: Time) -> Result<Time> {
    read(text, clock::parse(&run.started_at), now)
}

/// Parses a time without a run to count from.
///
/// # Errors
/// The text is not a valid time, or it is relative to the start of a run.
pub fn time(text: &str, now: Time) -> Result<Time> {
    read(text, None, now)
}

fn read(text: &str, start: Option<Time>, now: Time) -> Result<Time> {
    let when = When::parse(text);
    let why = match (when, start) {
        (Some(When::FromStart(_)), None) => ": no run is named whose start it could be relative to",
        _ => "",
    };
    let time = when.and_then(|when| when.time(now, start));
    time.ok_or_else(|| Error::usage(format!("invalid time {text:?}{why}")).hint(FORMS))
}

/// Prints a notice if a time is outside of the run. Each time is given as text and as parsed; an age may have been
/// intended as the time since the start.
pub fn warn_outside_run(context: &Context, run: &RunRecord, moments: &[(&str, &str)]) {
    let early = moments.iter().find(|(_, at)| *at < run.started_at.as_str());
    let late =
        run.ended_at.as_deref().and_then(|ended| moments.iter().find(|(_, at)| *at > ended).zip(Some(ended)));
    if early.is_some() {
        context.ui.eprint_line(&format!("the run starts at {}", clock::moment_of(&run.started_at)));
    }
    if let Some((_, ended)) = late {
        let since = view::elapsed(&run.started_at, ended).unwrap_or_default();
        context.ui.eprint_line(&format!("the run had ended at {} (+{since})", clock::moment_of(ended)));
    }
    let given = early.or(late.map(|(moment, _)| moment)).map(|(given, _)| *given);
    let is_span = |given: &&str| When::parse(given).zip(When::parse(&format!("+{given}"))).is_some();
    if let Some(age) = given.filter(is_span) {
        context.ui.eprint_line(&format!(
            "{age} means {age} ago; for the time since the start of the run, use +{age}"
        ));
    }
}
