//! The task lists of a session beside the team's own.

use std::borrow::Cow;

use super::call::Call;
use teamkeep_model::event::SafeName;
use teamkeep_model::payload::shown_task;
use teamkeep_model::team::HIGHEST_NUMBER;
use teamkeep_store::archive::{CaptureScope, Index};
use teamkeep_system::fs;

impl Call<'_> {
    /// Stores the task list that the session names, and captures it: at the next call, parts of it may be deleted.
    pub(crate) fn capture_named_list(&mut self) {
        let received = &self.received;
        let (Some(own), Some(session)) = (&self.by.own, &received.session) else { return };
        let list = received.list.as_ref().filter(|list| *list != own.name()).map(SafeName::as_str);
        let known = match own.team() {
            Some(team) => self.found.teams.get(team).map(Cow::Borrowed),
            None => list.and_then(|_| received.archive.index(own)).map(Cow::Owned),
        };
        if known.is_none_or(|known| known.lists.knows(session.as_str(), list)) {
            return;
        }
        let updated = received.archive.update_run(own, |index, _| {
            index.learn_list(session.as_str(), list);
            true
        });
        self.outcome.note("note the task list of the session", updated);
        match list {
            Some(_) => self
                .found
                .add(own, received.archive.capture(own, &received.client, &received.capture_request())),
            None => self.found.reload(own, &received.archive),
        }
    }

    /// Records a task that a tool names and that is not in any known list: no gate sees the tasks of the session's list.
    pub(crate) fn note_missing_list(&mut self) {
        let received = &self.received;
        let task = shown_task(received.kind, &received.payload).and_then(|id| SafeName::new(&id));
        let (Some(task), Some(own), Some(session)) = (task, &self.by.own, &received.session) else { return };
        let Some(index) = own.team().and_then(|team| self.found.teams.get(team)) else { return };
        let missing = (!self.is_in_a_list(own, index, session, &task)).then_some(task.as_str());
        if index.lists.is_missing(session.as_str(), missing) {
            return;
        }
        let updated =
            received.archive.update_run(own, |index, _| index.lists.note_missing(session.as_str(), missing));
        self.outcome.note("note the task that is missing", updated);
        self.found.reload(own, &received.archive);
    }

    /// Whether a list of the session has or had the task: Claude Code removes the files but keeps the highest number.
    fn is_in_a_list(&self, own: &CaptureScope, index: &Index, session: &SafeName, task: &SafeName) -> bool {
        let lists = index.lists(own.team().map(SafeName::as_str), Some(session.as_str()));
        let known = index.more_tasks.iter().map(String::as_str).chain([own.name().as_str()]);
        let tasks = self.received.client.join("tasks");
        let mut dirs = known.filter(|list| lists.prefix(list).is_some()).map(|list| tasks.join(list));
        dirs.any(|dir| {
            let highest = || {
                fs::read_regular(&dir.join(HIGHEST_NUMBER), fs::MAX_JSON_BYTES).ok().map(|(bytes, _)| bytes)
            };
            dir.join(format!("{task}.json")).symlink_metadata().is_ok()
                || highest().is_some_and(|highest| was_given(&highest, task.as_str()))
        })
    }
}

fn was_given(highest: &[u8], task: &str) -> bool {
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let highest = std::str::from_utf8(highest).ok().and_then(number);
    number(task).zip(highest).is_some_and(|(task, highest)| task <= highest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_up_to_the_highest_was_assigned() {
        assert!(was_given(b"7\n", "7") && was_given(b"12", "7"));
        assert!(
            !was_given(b"6", "7")
                && !was_given(b"", "7")
                && !was_given(b"7", "x")
                && !was_given(b"\xff", "7")
        );
    }
}
