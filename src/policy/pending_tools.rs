//! Tool calls that started and have not returned.

use super::ledger::PendingToolCall;
use super::observe::{member, whose};
use super::{Judged, Ledger};

/// Maximum number of such calls. A failed or denied call has no PostToolUse.
const MOST_BEGUN: usize = 256;

impl Ledger {
    /// The next prompt is the only sign of an interrupted turn: its spawns never returned.
    pub(super) fn spawns_no_more(&mut self, event: &Judged<'_>) {
        if let Some(name) = whose(event) {
            let own = |began: &&mut PendingToolCall| began.by.as_deref() == Some(name);
            self.begun.values_mut().filter(own).for_each(|began| began.spawns = None);
        }
    }

    /// A failed or denied call had no effect, so it does not permit a shutdown either.
    pub(super) fn fails(&mut self, id: &str) {
        self.completing.remove(id);
        let began = self.begun.remove(id);
        for name in began.into_iter().flat_map(|began| began.frees) {
            self.activity_mut(&name).approved_shutdown = false;
        }
    }

    /// A call that started in a turn that has ended did not return: it failed or was denied.
    pub(super) fn turn_ends(&mut self, event: &Judged<'_>, teammate: Option<&str>) {
        if let Some(name) = teammate
            && let Some(activity) = self.members.get_mut(name)
        {
            (activity.turn, activity.idle) = (false, None);
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

    /// Makes room by dropping the oldest call. A call that completes a task is dropped last: without it the completion
    /// would pass unchecked.
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
