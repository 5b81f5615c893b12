//! Relates the times of a run: Claude Code's clock to teamkeep's, and a clock that was set back to the one before.

use std::collections::HashMap;

use super::LoadedEvent;
use super::run_data::RunData;
use super::transcripts::Transcripts;
use crate::archive::Journal;
use crate::clock::{self, Time};

/// Clocks that differ by less (milliseconds) are the same clock.
const SAME_CLOCK_MS: i64 = 5_000;

/// Pairs of Claude Code's time and teamkeep's.
#[derive(Debug, Default)]
pub struct ClockMap {
    /// Both times of the same tool call, ordered by Claude Code's.
    ties: Vec<(Time, Time)>,
    end: String,
}

impl ClockMap {
    /// Collects the pairs of a run.
    pub fn of(material: &RunData) -> ClockMap {
        let Transcripts { uses, .. } = &material.transcripts;
        let mut ties: Vec<(Time, Time)> = material
            .events
            .iter()
            .filter(|event| event.kind == crate::payload::Kind::PreToolUse)
            .filter_map(|event| {
                let used = uses.get(event.payload.tool_use_id()?)?;
                Some((clock::parse(used.at.as_deref()?)?, clock::parse(&event.at)?))
            })
            .collect();
        ties.sort();
        let end = material.events.last().map(|event| event.at.clone()).unwrap_or_default();
        ClockMap { ties, end }
    }

    /// Claude Code's time by teamkeep's clock; `None` if it is not a valid time.
    pub fn to_local(&self, theirs: &str) -> Option<String> {
        let theirs = clock::parse(theirs)?;
        let next = self.ties.partition_point(|(tie, _)| *tie <= theirs);
        let before = next.checked_sub(1).and_then(|place| self.ties.get(place));
        let after = self.ties.get(next);
        let Some((tie, ours)) = before.or(after) else { return Some(clock::stamp(theirs)) };
        if (*ours - *tie).num_milliseconds().abs() < SAME_CLOCK_MS {
            return Some(clock::stamp(theirs));
        }
        let mapped = *ours + (theirs - *tie);
        let bound = after.filter(|_| before.is_some()).map(|(_, ours)| *ours);
        let end = clock::parse(&self.end);
        Some(clock::stamp([bound, end].into_iter().flatten().fold(mapped, Time::min)))
    }

    /// The last recorded moment.
    pub fn end(&self) -> String {
        self.end.clone()
    }
}

/// Milliseconds by which calls of the same time can be out of order in the journal and the log.
const CLOCK_SLACK_MS: i64 = 1_000;

/// Corrects the times of a run whose clock was set back: moves the events that are before the journal's last line, and
/// keeps the order of the log. The journal's times never decrease, and so neither do the timeline's.
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
