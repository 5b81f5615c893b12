//! How many messages were unread in each inbox at a moment, from the snapshots of the inboxes.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};

use super::history::{inbox_of, owner_of};
use super::run_data::RunData;
use teamkeep_model::team::{FileContent, TeamFile, TeamPath};
use teamkeep_model::time::Timestamp;
use teamkeep_store::archive::Archive;

#[derive(Debug)]
pub struct UnreadCounts {
    archive: Archive,
    run: String,
    states: Vec<InboxState>,
    /// The number of unread messages in each content that was needed so far; `None` if it cannot be read.
    counts: RefCell<HashMap<String, Option<usize>>>,
}

/// An inbox since a time. Its content is named by its hash; `None` if the file was gone.
#[derive(Debug)]
struct InboxState {
    at: Timestamp,
    owner: String,
    object: Option<String>,
}

impl UnreadCounts {
    pub fn of(archive: &Archive, data: &RunData) -> UnreadCounts {
        let owner = |path: &str| match TeamPath::of(path) {
            TeamPath::Inbox(file) if file.ends_with(".json") => {
                Some(owner_of(inbox_of(file), &data.members).to_owned())
            }
            _ => None,
        };
        let mut states = Vec::new();
        for snapshot in &data.journal.snapshots {
            let at = snapshot.at;
            let changed = snapshot.changed.iter().filter(|change| !change.torn && change.object.is_some());
            let changed = changed.map(|change| (&change.path, change.object.clone()));
            let gone = snapshot.gone.iter().map(|path| (path, None));
            let found = changed.chain(gone).filter_map(|(path, object)| Some((owner(path)?, object)));
            states.extend(found.map(|(owner, object)| InboxState { at, owner, object }));
        }
        UnreadCounts {
            archive: archive.clone(),
            run: data.run.run.clone(),
            states,
            counts: RefCell::default(),
        }
    }

    /// The number of unread messages of each agent at that moment, where there were any.
    pub fn unread_at(&self, at: Timestamp) -> BTreeMap<String, usize> {
        let count = self.states.partition_point(|state| state.at <= at);
        let mut unread = BTreeMap::new();
        let mut is_known = HashSet::new();
        for state in self.states[..count].iter().rev() {
            if is_known.contains(state.owner.as_str()) {
                continue;
            }
            let waiting = state.object.as_deref().map_or(Some(0), |object| self.count(&state.owner, object));
            // A content that cannot be read does not replace the one before.
            let Some(waiting) = waiting else { continue };
            is_known.insert(state.owner.as_str());
            if waiting > 0 {
                unread.insert(state.owner.clone(), waiting);
            }
        }
        unread
    }

    fn count(&self, owner: &str, object: &str) -> Option<usize> {
        if let Some(known) = self.counts.borrow().get(object) {
            return *known;
        }
        let bytes = self.archive.content(&self.run, object).ok();
        let parsed = bytes.and_then(|bytes| TeamFile::Inbox(owner).parse(&bytes));
        let waiting = parsed.and_then(|content| match content {
            FileContent::Mail(_, mail) => Some(mail.unread),
            _ => None,
        });
        self.counts.borrow_mut().insert(object.to_owned(), waiting);
        waiting
    }
}
