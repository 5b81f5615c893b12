//! Corrects the times of a run whose clock was set back. The journal's times never decrease, and so neither do the
//! timeline's.

use std::collections::HashMap;

use super::LoadedEvent;
use crate::archive::Journal;
use crate::clock;

/// Milliseconds by which calls of the same time can be out of order in the journal and the log.
const CLOCK_SLACK_MS: i64 = 1_000;

/// Moves events that a clock set back placed before the journal's last line, and keeps the order of the log. Other
/// events stay unchanged.
pub(super) fn correct_clock(events: &mut [LoadedEvent], journal: &Journal) {
    let lines: HashMap<&str, &str> =
        journal.snapshots.iter().map(|line| (line.event.as_str(), line.at.as_str())).collect();
    let line_of = |event: &LoadedEvent| lines.get(event.id.as_str()).copied();
    let is_behind = |event: &LoadedEvent| {
        line_of(event)
            .is_some_and(|at| event.at.as_str() < at && event.at < clock::before(at, CLOCK_SLACK_MS))
    };
    if !events.iter().any(is_behind) {
        return;
    }
    events.sort_by_key(|event| event.place);
    let mut reached = "";
    for event in events.iter_mut() {
        reached = line_of(event).map_or(reached, |at| at.max(reached));
        if event.at.as_str() < reached {
            reached.clone_into(&mut event.at);
        }
    }
    events.sort_by(|a, b| a.at.cmp(&b.at));
}
