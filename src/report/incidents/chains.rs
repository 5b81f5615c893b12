//! Who waits for whom: open tasks that block others, questions without an answer, and abandoned tasks.

use super::dependencies::Dependencies;
use super::draft::{Draft, duration, explained_losses, task_names};
use super::scene::Scene;
use super::stalls::{millis, restore};
use super::{IncidentKind, Severity};
use crate::report::messages::bare;
use crate::report::tasks::TaskHistory;
use crate::report::work::open_questions;
use crate::timeline::Entry;
use teamkeep_core::model::TaskStatus;

/// Open tasks that block others although no agent works on them, for longer than the threshold.
pub fn blocked_chains(scene: &Scene<'_>) -> Vec<Draft> {
    let dependencies = Dependencies::of(scene.tasks.iter().filter(|task| task.is_unfinished()).collect());
    let mut found = Vec::new();
    for root in dependencies.roots() {
        let path = dependencies.critical_path(root);
        let since = path.iter().filter_map(|task| task.changes.last()).map(|change| change.at.millis()).max();
        let since = since.unwrap_or(scene.end);
        let is_worked_on = root.status == TaskStatus::InProgress;
        if path.len() < 2 || is_worked_on || scene.end - since < millis(scene.limits.silent) {
            continue;
        }
        found.push(chain(scene, &path, (since, scene.end)));
    }
    found.extend(cycle(scene, &dependencies.cyclic));
    found
}

fn chain(scene: &Scene<'_>, path: &[&TaskHistory], span: (i64, i64)) -> Draft {
    let mut draft = Draft::new(IncidentKind::BlockedChain, Severity::Medium, span);
    let blockers = std::iter::once(None).chain(path.iter().map(Some));
    for (task, blocker) in path.iter().zip(blockers) {
        if let Some(owner) = &task.owner {
            draft.agent(owner);
        }
        draft.task(&task.id);
        if let Some(entry) = last_change(scene, task) {
            let by = blocker.map(|blocker| format!(", blocked by #{}", blocker.id)).unwrap_or_default();
            let owner = task.owner.as_deref().unwrap_or("no agent");
            draft.step(entry, format!("#{} ({}, owned by {owner}){by}", task.id, task.status));
        }
    }
    let (root, rest) = (&draft.tasks[..1], &draft.tasks[1..]);
    let waited = match (scene.lasts(span.1), rest.len()) {
        (false, _) => "waited",
        (true, 1) => "has waited",
        (true, _) => "have waited",
    };
    let (rest, time) = (task_names(rest), duration(span.1 - span.0));
    draft.summary = format!("{rest} {waited} {time} for {}, which no agent works on", task_names(root));
    draft.remedy = Some(match scene.case.is_over() {
        true => restore(scene),
        false => format!("Assign {} to a teammate", task_names(root)),
    });
    draft
}

fn last_change<'a>(scene: &Scene<'a>, task: &TaskHistory) -> Option<&'a Entry> {
    scene.changes_of(&task.id).last().copied()
}

/// Open tasks that depend on each other, so that none can begin. `cyclic` can also have tasks that are blocked by them.
fn cycle(scene: &Scene<'_>, cyclic: &[&TaskHistory]) -> Option<Draft> {
    let is_blocker = |task: &&TaskHistory| cyclic.iter().any(|other| other.blocked_by.contains(&task.id));
    let left: Vec<&TaskHistory> = cyclic.iter().copied().filter(is_blocker).collect();
    let since = left.iter().filter_map(|task| task.changes.last()).map(|change| change.at.millis()).max()?;
    let mut draft = Draft::new(IncidentKind::BlockedChain, Severity::High, (since, scene.end));
    for task in &left {
        draft.task(&task.id);
        if let Some(entry) = last_change(scene, task) {
            draft.step(entry, format!("#{} is blocked by {}", task.id, task_names(&task.blocked_by)));
        }
    }
    draft.summary = format!("{} depend on each other, so none of them can begin", task_names(&draft.tasks));
    draft.remedy = Some(format!("Remove a dependency of {}", task_names(&draft.tasks[..1])));
    Some(draft)
}

/// Agents that asked a question, got no answer for longer than the threshold, and did nothing else meanwhile.
pub fn unanswered_questions(scene: &Scene<'_>) -> Vec<Draft> {
    let limit = millis(scene.limits.silent);
    let mut found = Vec::new();
    let names: Vec<&str> = scene.case.teammates().collect();
    for name in names {
        for question in open_questions(scene.mail, name, scene.end) {
            let silent = scene.silences(name, limit).into_iter().find(|(from, _)| {
                (question.from..question.from + millis(scene.limits.waiting)).contains(from)
            });
            let Some(silent) = silent.filter(|_| question.asked.to != "*") else { continue };
            let span = (question.from, question.to.min(silent.1));
            let tasks = scene.held(name, span.0);
            if span.1 - span.0 < limit || tasks.is_empty() {
                continue;
            }
            let asked = bare(&question.asked.to);
            let mut draft = Draft::new(IncidentKind::BlockedChain, Severity::Medium, span);
            draft.agent(asked);
            draft.agent(name);
            tasks.iter().for_each(|task| draft.task(&task.id));
            let is_it = |entry: &&Entry| entry.at == question.asked.at && entry.actor == name;
            if let Some(entry) = scene.case.entries.iter().find(is_it) {
                draft.step(entry, format!("{name} asked {asked} a question"));
            }
            let (owned, time) = (task_names(&draft.tasks), duration(span.1 - span.0));
            draft.summary =
                format!("{name} waited {time} for an answer from {asked}, with {owned} in progress");
            draft.remedy = scene.lasts(span.1).then(|| format!("Ask {asked} to answer {name}"));
            found.push(draft);
        }
    }
    found
}

/// The unfinished tasks of a run that is over, except those of other incidents.
pub fn unfinished_work(scene: &Scene<'_>, explained: &[Draft]) -> Option<Draft> {
    let explained = explained_losses(scene, explained);
    let open = scene.tasks.iter().filter(|task| scene.is_lost(task) && !explained.contains(task.id.as_str()));
    let open: Vec<&TaskHistory> = open.collect();
    let first = open.iter().filter_map(|task| task.changes.first()).map(|change| change.at).min()?;
    let mut draft = Draft::new(IncidentKind::UnfinishedWork, Severity::Medium, (first.millis(), scene.end));
    for task in &open {
        draft.task(&task.id);
        if let Some(owner) = &task.owner {
            draft.agent(owner);
        }
        if let Some(entry) = last_change(scene, task) {
            let owner = task.owner.as_deref().unwrap_or("no agent");
            draft.step(entry, format!("#{} was still {}, owned by {owner}", task.id, task.status));
        }
    }
    let were = if open.len() == 1 { "was" } else { "were" };
    draft.summary = format!("the run ended before {} {were} completed", task_names(&draft.tasks));
    draft.remedy = Some(restore(scene));
    Some(draft)
}
