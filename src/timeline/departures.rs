//! Members that left before the end of a run, and tasks that were removed.

use std::collections::BTreeMap;

use serde::Serialize;

use super::entry::Entry;
use super::entry_kind::{EntryKind, TaskEvent};
use super::run_data::RunData;
use super::{lifecycle, tasks};

/// Gone members and tasks, with the time.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct Departures {
    /// Members that left, by name.
    pub members: BTreeMap<String, String>,
    /// Tasks that were deleted or erased, by id.
    pub tasks: BTreeMap<String, String>,
    /// The entries that removed these tasks.
    #[serde(skip)]
    pub removals: BTreeMap<String, Entry>,
}

impl Departures {
    /// Collects them. A member that returns and a task that is created again are not gone.
    pub fn of(material: &RunData) -> Departures {
        let mut gone = Departures::default();
        for entry in sorted(lifecycle::team(material)) {
            match entry.kind {
                EntryKind::MemberLeft => gone.members.insert(entry.actor, entry.at),
                EntryKind::MemberJoined(_) => gone.members.remove(&entry.actor),
                _ => None,
            };
        }
        for entry in sorted(tasks::tasks(material)) {
            let Some((id, event)) = entry.task().map(|task| (task.id.clone(), task.event)) else { continue };
            if matches!(event, TaskEvent::Deleted | TaskEvent::Erased) {
                gone.tasks.insert(id.clone(), entry.at.clone());
                gone.removals.insert(id, entry);
            } else {
                gone.tasks.remove(&id);
                gone.removals.remove(&id);
            }
        }
        gone
    }
}

fn sorted(mut entries: Vec<Entry>) -> Vec<Entry> {
    entries.sort_by(|a, b| a.at.cmp(&b.at));
    entries
}
