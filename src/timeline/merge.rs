//! Builds the timeline of a run.

use super::entry::Entry;
use super::material::Material;
use super::when::When;
use super::{life, messages, rulings, tasks};

/// The timeline of a run.
#[derive(Debug, Default)]
pub struct Timeline {
    /// The entries, by time.
    pub entries: Vec<Entry>,
    /// Converts Claude Code's times to teamkeep's clock.
    pub when: When,
}

/// Merges all sources.
pub fn merge(material: &Material) -> Timeline {
    let when = When::of(material);
    let mut entries = life::sessions(material);
    entries.extend(life::team(material));
    entries.extend(tasks::tasks(material));
    entries.extend(messages::messages(material, &when));
    entries.extend(life::turns(material));
    entries.extend(rulings::rulings(material));
    // Entries of one moment are ordered by kind: a team is created before an agent joins it.
    entries.sort_by(|a, b| (&a.at, a.kind).cmp(&(&b.at, b.kind)));
    Timeline { entries, when }
}
