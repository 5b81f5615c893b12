//! Editing a file that another agent of the team changed meanwhile.

use crate::config::{Gate, Policy};
use crate::model::{TaskStatus, Tool};
use crate::policy::file_history::UnseenChange;
use crate::policy::ledger::mark;
use crate::policy::{Access, Case, Finding, Place, Reason};
use crate::sys::clock;

pub fn judge(policy: &Policy, case: &Case<'_>) -> Option<Finding> {
    let mode = policy.edit_collision.mode;
    let agent = case.team.ledger.agent(&case.event)?;
    let (place, change) = conflicts(case).into_iter().find(|(_, change)| counts(case, change))?;
    let by = change.by;
    let reason = Reason::of(mode).then("editing ").path(place.shown()).then(", which ").name(by);
    let reason = reason.then(" changed at ").then(&clock::moment(change.at));
    let (code, since, advice) = match change.seen_before {
        true => {
            ("edit-of-changed-file", ", after you last read it.", "Read the file again before you edit it,")
        }
        false => ("edit-of-file-in-use", ".", "Read the file before you edit it,"),
    };
    let reason = reason.then(since);
    let tasks = case.owned(by, &TaskStatus::InProgress);
    let reason = if !tasks.is_empty() {
        reason.then(" ").name(by).then(" is working on ").tasks(&tasks).then(".")
    } else if case.works(by) {
        reason.then(" ").name(by).then(" is still working.")
    } else {
        reason
    };
    let reason = reason.instead(&format!("{advice} and keep the other agent's changes.")).finish();
    // Each file has its own count: an agent that read one again is not allowed to overwrite the next.
    let counted = Some(format!("{agent} {}", mark(&place.path)));
    Some(Finding { counted, ..Finding::new(Gate::EditCollision, code, mode.into(), &agent, reason) })
}

/// Whether the result depends on the team's tasks, which a hook call does not read for every edit.
pub fn needs_tasks(case: &Case<'_>) -> bool {
    !conflicts(case).is_empty()
}

/// The changes of the edited file by others that the acting agent has not seen.
fn conflicts<'a>(case: &Case<'a>) -> Vec<(&'a Place, UnseenChange<'a>)> {
    let Some(Access::Changes(place)) = case.event.access.filter(|_| case.event.calls(Tool::Edit)) else {
        return Vec::new();
    };
    let Some(agent) = case.team.ledger.agent(&case.event) else { return Vec::new() };
    let unseen = case.team.ledger.files.unseen_changes(&place.path, &agent);
    unseen.into_iter().map(|change| (place, change)).collect()
}

/// An agent that never looked at the file may not know the change, but nothing that it knew is outdated: this counts only
/// while the other agent works.
fn counts(case: &Case<'_>, change: &UnseenChange<'_>) -> bool {
    change.seen_before || case.works(change.by)
}
