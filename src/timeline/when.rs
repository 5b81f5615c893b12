//! The client's times by our clock. The two are one clock in life; in a record that was made elsewhere, or played
//! again, they are not, and what both of them saw ties them together.

use super::material::Material;
use super::voices::Voices;
use crate::clock::{self, Time};

/// Clocks that differ by less are one clock.
const SAME: i64 = 5_000;

/// Ties between the client's times and ours.
#[derive(Debug, Default)]
pub struct When {
    /// The client's time and ours of the same tool use, by the client's.
    ties: Vec<(Time, Time)>,
    end: String,
}

impl When {
    /// Finds the ties of a run.
    pub fn of(material: &Material) -> When {
        let Voices { uses, .. } = &material.voices;
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
        When { ties, end }
    }

    /// The client's time by our clock; `None` for what is no time.
    pub fn ours(&self, theirs: &str) -> Option<String> {
        let theirs = clock::parse(theirs)?;
        let next = self.ties.partition_point(|(tie, _)| *tie <= theirs);
        let before = next.checked_sub(1).and_then(|place| self.ties.get(place));
        let after = self.ties.get(next);
        let Some((tie, ours)) = before.or(after) else { return Some(clock::stamp(theirs)) };
        if (*ours - *tie).num_milliseconds().abs() < SAME {
            return Some(clock::stamp(theirs));
        }
        let mapped = *ours + (theirs - *tie);
        let bound = after.filter(|_| before.is_some()).map(|(_, ours)| *ours);
        let end = clock::parse(&self.end);
        Some(clock::stamp([bound, end].into_iter().flatten().fold(mapped, Time::min)))
    }

    /// The last moment that is on record.
    pub fn end(&self) -> String {
        self.end.clone()
    }
}
