//! What every part of a report looks at.

use crate::clock;
use crate::timeline::{Entry, Material, Timeline, When};

/// A run, and how its times are read.
pub struct Case<'a> {
    /// What is on record.
    pub material: &'a Material,
    /// The story, by time.
    pub entries: &'a [Entry],
    /// The client's times by our clock.
    pub when: &'a When,
    /// The lead's name.
    pub lead: &'static str,
    /// The last moment of the run, RFC 3339: its end, or when it was last heard of.
    pub end: String,
}

impl<'a> Case<'a> {
    /// Looks at a run.
    pub fn new(material: &'a Material, timeline: &'a Timeline) -> Case<'a> {
        let run = &material.run;
        let end = run.ended_at.as_deref().or(material.last_sign()).unwrap_or(&run.started_at).to_owned();
        let last = timeline.entries.last().map(|entry| entry.at.clone()).unwrap_or_default();
        Case {
            material,
            entries: &timeline.entries,
            when: &timeline.when,
            lead: material.lead(),
            end: if run.ended_at.is_some() { end } else { end.max(last) },
        }
    }

    /// The client's time by our clock, in our spelling.
    pub fn ours(&self, theirs: Option<&String>) -> Option<String> {
        theirs.and_then(|theirs| self.when.ours(theirs))
    }

    /// Teammates: everybody who was ever in the team but its lead.
    pub fn teammates(&self) -> impl Iterator<Item = &'a str> {
        let lead = self.lead;
        self.material.members.iter().map(String::as_str).filter(move |name| *name != lead)
    }

    /// Whether nothing more will happen in it.
    pub fn is_over(&self) -> bool {
        self.material.run.ended_at.is_some() || self.material.client_gone
    }

    /// Whether a transcript of this one is on record.
    pub fn is_heard(&self, name: &str) -> bool {
        self.material.voices.all.iter().any(|voice| voice.by == name)
    }
}

/// Milliseconds between two moments, both RFC 3339; `None` for what is no time.
pub fn between(from: &str, to: &str) -> Option<i64> {
    Some((clock::parse(to)? - clock::parse(from)?).num_milliseconds())
}

/// Milliseconds since 1970; 0 for what is no time.
pub fn millis(at: &str) -> i64 {
    clock::parse(at).map_or(0, |time| time.timestamp_millis())
}
