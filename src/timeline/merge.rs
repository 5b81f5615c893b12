//! Builds the timeline of a run.

use super::clocks::ClockMap;
use super::entry::Entry;
use super::run_data::RunData;
use super::{lifecycle, messages, tasks, verdicts};

/// The timeline of a run.
#[derive(Debug, Default)]
pub struct Timeline {
    /// The entries, by time.
    pub entries: Vec<Entry>,
    /// Converts Claude Code's times to teamkeep's clock.
    pub when: ClockMap,
}

/// Merges all sources.
pub fn merge(material: &RunData) -> Timeline {
    let when = ClockMap::of(material);
    let mut entries = lifecycle::sessions(material);
    entries.extend(lifecycle::team(material));
    entries.extend(tasks::tasks(material));
    entries.extend(messages::messages(material, &when));
    entries.extend(lifecycle::turns(material));
    entries.extend(verdicts::verdicts(material));
    // Entries of one moment are ordered by kind: a team is created before an agent joins it.
    entries.sort_by(|a, b| (&a.at, a.kind()).cmp(&(&b.at, b.kind())));
    Timeline { entries, when }
}
