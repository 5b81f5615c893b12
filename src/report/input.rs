//! The input of every part of a report.

use crate::clock;
use crate::timeline::{ClockMap, Entry, RunData, Timeline};

/// A run and its times.
pub struct ReportInput<'a> {
    /// The recorded data.
    pub material: &'a RunData,
    /// The timeline.
    pub entries: &'a [Entry],
    /// Converts Claude Code's times to teamkeep's clock.
    pub when: &'a ClockMap,
    /// The lead's name.
    pub lead: &'static str,
    /// The last recorded moment of the run, RFC 3339.
    pub end: String,
}

impl<'a> ReportInput<'a> {
    /// Prepares a run.
    pub fn new(material: &'a RunData, timeline: &'a Timeline) -> ReportInput<'a> {
        ReportInput {
            material,
            entries: &timeline.entries,
            when: &timeline.when,
            lead: material.lead(),
            end: material.last_moment(&timeline.entries).to_owned(),
        }
    }

    /// Claude Code's time by teamkeep's clock.
    pub fn ours(&self, theirs: Option<&String>) -> Option<String> {
        theirs.and_then(|theirs| self.when.to_local(theirs))
    }

    /// Teammates: everyone who was ever in the team except its lead.
    pub fn teammates(&self) -> impl Iterator<Item = &'a str> {
        let lead = self.lead;
        self.material.members.iter().map(String::as_str).filter(move |name| *name != lead)
    }

    /// Whether the run has ended.
    pub fn is_over(&self) -> bool {
        self.material.run.ended_at.is_some() || self.material.client_gone
    }

    /// Whether a transcript of this agent is recorded.
    pub fn is_heard(&self, name: &str) -> bool {
        self.material.transcripts.all.iter().any(|transcript| transcript.by == name)
    }
}

/// Milliseconds between two RFC 3339 times; `None` for an invalid time.
pub fn between(from: &str, to: &str) -> Option<i64> {
    Some((clock::parse(to)? - clock::parse(from)?).num_milliseconds())
}

/// Milliseconds since 1970; 0 for an invalid time.
pub fn millis(at: &str) -> i64 {
    clock::parse(at).map_or(0, |time| time.timestamp_millis())
}
