//! Tools that have begun and do not come back.

use super::ledger::Began;
use super::observe::{member, whose};
use super::{Judged, Ledger};

/// How many tools are remembered that never came back: one that failed or was refused has no PostToolUse.
const MOST_BEGUN: usize = 256;

impl Ledger {
    /// A turn that was interrupted is told of by the next prompt alone: what it was spawning did not come back.
    pub(super) fn spawns_no_more(&mut self, event: &Judged<'_>) {
        if let Some(name) = whose(event) {
            let own = |began: &&mut Began| began.by.as_deref() == Some(name);
            self.begun.values_mut().filter(own).for_each(|began| began.spawns = None);
        }
    }

    /// A tool that failed or was refused did nothing, and lets nobody go.
    pub(super) fn fails(&mut self, id: &str) {
        self.completing.remove(id);
        let began = self.begun.remove(id);
        for name in began.into_iter().flat_map(|began| began.frees) {
            self.deeds(&name).let_go = false;
        }
    }

    /// A tool that was begun in a turn that is over did not come back: it failed, or somebody refused it.
    pub(super) fn turn_ends(&mut self, event: &Judged<'_>, teammate: Option<&str>) {
        if let Some(name) = teammate
            && let Some(deeds) = self.members.get_mut(name)
        {
            (deeds.turn, deeds.idle) = (false, None);
        }
        if let Some(name) = member(event) {
            let Ledger { begun, completing, .. } = self;
            begun.retain(|id, began| {
                let open = began.by.as_deref() != Some(name);
                if !open {
                    completing.remove(id);
                }
                open
            });
        }
    }

    /// Where there is no room for another, forgets the oldest tool that has begun. One that completes a task goes only
    /// where all of them do: without it the completion would pass unchecked.
    pub(super) fn make_room(&mut self) {
        if self.begun.len() < MOST_BEGUN {
            return;
        }
        let Ledger { begun, completing, .. } = self;
        let oldest = begun.iter().min_by_key(|(id, began)| (completing.contains_key(*id), began.order, *id));
        if let Some(id) = oldest.map(|(id, _)| id.clone()) {
            begun.remove(&id);
            completing.remove(&id);
        }
    }
}
