//! A time of a run, as the user writes it.

use crate::archive::RunRecord;
use crate::clock::{self, Time, When};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::render;

/// Parses a time: RFC 3339 and its looser forms, the time since the start of the run (`+1m30s`; `-5s` before it), or
/// an age (`10m`: ten minutes ago).
///
/// # Errors
/// The text is none of them.
pub fn moment(text: &str, run: &RunRecord, now: Time) -> Result<Time> {
    let wrong = || {
        Error::usage(format!("invalid time {text:?}")).hint(
            "expected RFC 3339 (2026-02-03T04:05:06Z), 2026-02-03 04:05:06 (UTC), time since the start of the run (+1m30s), \
             or an age (10m, 2h, 1d ago)",
        )
    };
    let (span, sign) = match (text.strip_prefix('+'), text.strip_prefix('-')) {
        (Some(span), _) => (span, 1),
        (None, Some(span)) => (span, -1),
        (None, None) => return When::parse(text).map(|when| when.before(now)).map_err(|_| wrong()),
    };
    let millis = clock::parse_span(span).ok_or_else(wrong)?;
    let start = clock::parse(&run.started_at).ok_or_else(wrong)?;
    start.checked_add_signed(chrono::Duration::milliseconds(sign * millis)).ok_or_else(wrong)
}

/// Prints a notice if a time is outside of the run. Each time is given as text and as parsed; an age may have been
/// intended as the time since the start.
pub fn beside(context: &Context, run: &RunRecord, moments: &[(&str, &str)]) {
    let early = moments.iter().find(|(_, at)| *at < run.started_at.as_str());
    let late =
        run.ended_at.as_deref().and_then(|ended| moments.iter().find(|(_, at)| *at > ended).zip(Some(ended)));
    if early.is_some() {
        context.ui.say(&format!("the run starts at {}", run.started_at));
    }
    if let Some((_, ended)) = late {
        let since = render::since(&run.started_at, ended).unwrap_or_default();
        context.ui.say(&format!("the run had ended at {ended} (+{since})"));
    }
    let given = early.or(late.map(|(moment, _)| moment)).map(|(given, _)| *given);
    if let Some(age) = given.filter(|given| matches!(When::parse(given), Ok(When::Ago(_)))) {
        context
            .ui
            .say(&format!("{age} means {age} ago; for the time since the start of the run, use +{age}"));
    }
}
