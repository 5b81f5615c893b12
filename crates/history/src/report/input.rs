//! The input of every part of a report, and sets of time spans.

use crate::timeline::{ClockMap, Entry, RunData, Timeline, state_after};
use teamkeep_model::time::Timestamp;
use teamkeep_policy::LiveState;

pub(super) struct ReportInput<'a> {
    pub data: &'a RunData,
    pub entries: &'a [Entry],
    /// The team after the last entry.
    pub team: LiveState,
    /// Converts Claude Code's times to teamkeep's clock.
    pub when: &'a ClockMap,
    pub lead: &'static str,
    pub end: Timestamp,
}

impl<'a> ReportInput<'a> {
    pub(super) fn new(data: &'a RunData, timeline: &'a Timeline) -> ReportInput<'a> {
        ReportInput {
            data,
            entries: &timeline.entries,
            team: state_after(&timeline.entries),
            when: &timeline.when,
            lead: data.lead(),
            end: data.last_moment(&timeline.entries),
        }
    }

    /// Claude Code's time by teamkeep's clock.
    pub(super) fn to_local(&self, theirs: Option<Timestamp>) -> Option<Timestamp> {
        theirs.map(|theirs| self.when.to_local(theirs))
    }

    /// Teammates: everyone who was ever in the team except its lead.
    pub(super) fn teammates(&self) -> impl Iterator<Item = &'a str> {
        let lead = self.lead;
        self.data.members.iter().map(String::as_str).filter(move |name| *name != lead)
    }

    /// When an agent was part of the team, until `end`; the lead always is.
    pub(super) fn presence(&self, name: &str, end: i64) -> Spans {
        if name == self.lead {
            return Spans::of([(self.data.run.started_at.millis(), end)]);
        }
        let stays = self.team.stays(name).iter();
        Spans::of(stays.map(|(from, to)| (from.millis(), to.map_or(end, Timestamp::millis).min(end))))
    }

    /// The moment up to which the run is judged: its end; now for a running team. An imported run has ended here.
    pub(super) fn until(&self, now: Timestamp) -> Timestamp {
        let is_running = !self.is_over() && self.data.run.imported.is_none();
        if is_running { self.end.max(now) } else { self.end }
    }

    pub(super) fn is_over(&self) -> bool {
        self.data.run.ended_at.is_some() || self.data.client_gone
    }

    pub(super) fn has_transcript(&self, name: &str) -> bool {
        self.data.transcripts.all.iter().any(|transcript| transcript.by == name)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spans(Vec<(i64, i64)>);

impl Spans {
    /// Merges overlapping and adjacent spans. A span that ends before it starts is ignored.
    pub fn of(spans: impl IntoIterator<Item = (i64, i64)>) -> Spans {
        let mut spans: Vec<(i64, i64)> = spans.into_iter().filter(|(from, to)| from < to).collect();
        spans.sort_unstable();
        let mut joined: Vec<(i64, i64)> = Vec::new();
        for (from, to) in spans {
            match joined.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => joined.push((from, to)),
            }
        }
        Spans(joined)
    }

    pub fn iter(&self) -> impl Iterator<Item = (i64, i64)> {
        self.0.iter().copied()
    }

    /// Total length in milliseconds.
    pub fn total(&self) -> i64 {
        self.0.iter().map(|(from, to)| to - from).sum()
    }

    pub fn intersection(&self, other: &Spans) -> Spans {
        let (mut mine, mut theirs) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut both = Vec::new();
        while let (Some(a), Some(b)) = (mine.peek(), theirs.peek()) {
            both.push((a.0.max(b.0), a.1.min(b.1)));
            if a.1 < b.1 {
                mine.next()
            } else {
                theirs.next()
            };
        }
        Spans::of(both)
    }

    pub fn difference(&self, other: &Spans) -> Spans {
        let mut left = Vec::new();
        let mut others = other.0.iter().peekable();
        for (from, to) in &self.0 {
            let mut from = *from;
            while let Some((begins, ends)) = others.peek().filter(|(begins, _)| begins < to) {
                left.push((from, *begins));
                from = from.max(*ends);
                if ends > to {
                    break;
                }
                others.next();
            }
            left.push((from, *to));
        }
        Spans::of(left)
    }

    pub fn union<'a>(all: impl IntoIterator<Item = &'a Spans>) -> Spans {
        Spans::of(all.into_iter().flat_map(|spans| spans.0.iter().copied()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn spans_are_merged_cut_and_summed() {
        let work = Spans::of([(5, 9), (0, 3), (2, 4), (20, 10)]);
        assert_eq!(work, Spans(vec![(0, 4), (5, 9)]));
        assert_eq!(work.total(), 8);
        let other = Spans::of([(3, 6), (8, 30)]);
        assert_eq!(work.intersection(&other), Spans(vec![(3, 4), (5, 6), (8, 9)]));
        assert_eq!(work.difference(&other), Spans(vec![(0, 3), (6, 8)]));
        assert_eq!(Spans::union([&work, &other]), Spans(vec![(0, 30)]));
    }

    proptest! {
        #[test]
        fn intersection_and_difference_add_up_to_the_whole(
            a in prop::collection::vec((0..100i64, 0..100i64), 0..8),
            b in prop::collection::vec((0..100i64, 0..100i64), 0..8),
        ) {
            let (a, b) = (Spans::of(a), Spans::of(b));
            prop_assert_eq!(a.intersection(&b).total() + a.difference(&b).total(), a.total());
            prop_assert_eq!(a.intersection(&b), b.intersection(&a));
            prop_assert_eq!(a.difference(&b).intersection(&b).total(), 0);
            prop_assert_eq!(Spans::union([&a, &b]).total(), a.total() + b.difference(&a).total());
        }
    }
}
