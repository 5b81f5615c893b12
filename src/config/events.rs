//! The events that a rule can name.

use super::parse_value::{ParseIssue, quoted};
use super::problem::Code;
use crate::payload::{JUDGED, KNOWN, Kind};
use crate::suggest::nearest;

/// Reports an event name that a rule cannot use.
pub(super) fn check(text: &str, at: usize, flaws: &mut Vec<ParseIssue>) {
    let kind = Kind::named(text);
    let judged = || JUDGED.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ");
    if kind == Kind::Unknown {
        let known: Vec<&str> = KNOWN.iter().flat_map(|row| [row.1, row.2]).collect();
        let hint = match nearest(text, &known, 1) {
            Some(close) => format!("did you mean \"{close}\"?"),
            None => format!("the events that can be blocked are {}", judged()),
        };
        let message = format!("unknown event {}", quoted(text));
        flaws.push(ParseIssue { code: Code::UnknownEvent, at, message, hint: Some(hint) });
    }
}
