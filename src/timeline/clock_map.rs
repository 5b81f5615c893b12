//! Converts Claude Code's times to teamkeep's clock. In a live run both are the same clock; in data recorded elsewhere
//! or replayed they differ, and tool calls that both saw relate them.

use super::run_data::RunData;
use super::transcripts::Transcripts;
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
        let Transcripts { uses, .. } = &material.voices;
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
