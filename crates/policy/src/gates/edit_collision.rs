//! Editing a file that changed after the agent last read or wrote it.

use crate::ledger::mark;
use crate::{Access, Case, Edit, Finding, Reason};
use teamkeep_config::{Gate, Mode, Policy};
use teamkeep_model::TaskStatus;
use teamkeep_model::time::{self, Timestamp};

pub(super) fn judge(policy: &Policy, case: &Case<'_>) -> Option<Finding> {
    let mode = policy.edit_collision.mode;
    let agent = case.team.ledger.agent(&case.event)?;
    let Conflict { edit, seen_before, by } = conflict(case)?;
    let (mode, code) = match by {
        // An agent that never looked at the file may not know the change, but nothing that it knew is outdated: this counts
        // only while the other agent works.
        Some((name, _)) if !seen_before && !case.works(name) => return None,
        // Claude Code replaces a text only if the file has it once, and reports others itself before the hook (2.1.332). So
        // nothing of the other's is lost, but the agent should know that the rest of the file is not what it read.
        Some(_) if !edit.is_whole => (Mode::Warn, "edit-beside-changes"),
        // A formatter changes files after each edit.
        None if !edit.is_whole => return None,
        Some(_) if !seen_before => (mode, "edit-of-file-in-use"),
        _ => (mode, "edit-of-changed-file"),
    };
    let mut reason = Reason::default().then("editing ").path(&edit.path).then(", which ");
    reason = match by {
        Some((name, at)) => reason.name(name).then(" changed at ").then(&time::moment(at)),
        None => reason.then("a command, a formatter or the user changed"),
    };
    reason = reason.then(if seen_before { ", after this agent last read it." } else { "." });
    if let Some((name, _)) = by {
        let tasks = case.owned(name, &TaskStatus::InProgress);
        if !tasks.is_empty() {
            reason = reason.then(" ").name(name).then(" is working on ").tasks(&tasks).then(".");
        } else if case.works(name) {
            reason = reason.then(" ").name(name).then(" is still working.");
        }
    }
    for (index, line) in edit.lost.iter().enumerate() {
        reason = reason.then(if index == 0 { " Your content does not have: " } else { ", " }).quote(line);
    }
    let advice = match code {
        "edit-beside-changes" => {
            "Your edit is in another place. Read the file again before you rely on the rest of it."
        }
        _ => "Read the file again before you edit it, and keep the changes of others.",
    };
    // Each file has its own count: an agent that read one again is not allowed to overwrite the next.
    let counted = Some(format!("{agent} {}", mark(&edit.path)));
    let reason = reason.instead(advice);
    Some(Finding { counted, ..Finding::new(Gate::EditCollision, code, mode.into(), &agent, reason) })
}

/// A file that is not as the agent knows it.
struct Conflict<'a> {
    edit: &'a Edit,
    /// Whether the agent read or wrote it before.
    seen_before: bool,
    /// The other agent that changed it since, and when; `None` if no Edit or Write of an agent did.
    by: Option<(&'a str, Timestamp)>,
}

fn conflict<'a>(case: &Case<'a>) -> Option<Conflict<'a>> {
    let Some(Access::Edit(edit)) = case.event.access else { return None };
    let (agent, files) = (case.team.ledger.agent(&case.event)?, &case.team.ledger.files);
    let present = edit.present.as_ref()?;
    let used = files.of(&edit.path, &agent);
    let by = files.changed_by(&edit.path, &agent, used.map(|used| used.at));
    let seen = used.and_then(|used| used.seen.as_ref());
    let is_conflict = seen.map_or(by.is_some(), |seen| !seen.is_same(present));
    is_conflict.then_some(Conflict { edit, seen_before: seen.is_some(), by })
}
