//! A clock that was set back while a run was under way: the journal's times never go back, and so the story's do not.

use std::collections::HashMap;

use super::Told;
use crate::archive::Journal;
use crate::clock;

/// Calls at the same time come to the journal and to the log in any order, but not by so many milliseconds.
const SLACK: i64 = 1_000;

/// Tells the events that a clock which was set back put before what had happened already at the time of the journal's
/// line before them, in the order in which they were logged. Events of a clock that ran on stay as they are.
pub(super) fn undo(events: &mut [Told], journal: &Journal) {
    let lines: HashMap<&str, &str> =
        journal.snapshots.iter().map(|line| (line.event.as_str(), line.at.as_str())).collect();
    let line_of = |event: &Told| lines.get(event.id.as_str()).copied();
    let is_behind = |event: &Told| {
        line_of(event).is_some_and(|at| event.at.as_str() < at && event.at < clock::before(at, SLACK))
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
