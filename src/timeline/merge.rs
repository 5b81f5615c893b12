//! Everything that happened in a run, in order.

use super::entry::Entry;
use super::material::Material;
use super::when::When;
use super::{life, messages, rulings, tasks};

/// The story of a run.
#[derive(Debug, Default)]
pub struct Timeline {
    /// What happened, by time.
    pub entries: Vec<Entry>,
    /// The client's times by our clock.
    pub when: When,
}

/// Merges what is on record.
pub fn merge(material: &Material) -> Timeline {
    let when = When::of(material);
    let mut entries = life::sessions(material);
    entries.extend(life::team(material));
    entries.extend(tasks::tasks(material));
    entries.extend(messages::messages(material, &when));
    entries.extend(life::turns(material));
    entries.extend(rulings::rulings(material));
    // Things of one moment stay in the order of their kinds: a team is made before somebody joins it.
    entries.sort_by(|a, b| (&a.at, a.kind).cmp(&(&b.at, b.kind)));
    Timeline { entries, when }
}
