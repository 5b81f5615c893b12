//! Work lost because its agent went away: at a shutdown, by a crash of the agent, or by a crash of the whole session.

use super::scene::{Draft, GRACE, Scene, task_names};
use super::stalls::{claim, restore, wasted};
use super::{IncidentKind, Remedy, Severity};
use crate::report::tasks::{TaskHistory, TaskUpdate};
use crate::timeline::{Entry, EntryKind, Kind};
use std::cmp::Reverse;
use std::collections::HashMap;
use teamkeep_model::TaskStatus;
use teamkeep_model::time::duration;
use teamkeep_model::words::listed;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Departure {
    /// It approved a shutdown.
    Shutdown,
    /// Another agent stopped it with TaskStop.
    Stopped,
    /// It left without either.
    Vanished,
}

/// The crash of the whole session, if there was one. It lost the tasks that nothing else explains.
pub(super) fn crashed_lead(scene: &Scene<'_>, open: &[&TaskHistory]) -> Option<Draft> {
    if !scene.is_crashed() {
        return None;
    }
    let mut draft = Draft::new(IncidentKind::CrashedLead, Severity::High, (scene.end, scene.end));
    draft.agent(scene.case.lead);
    open.iter().for_each(|task| draft.task(&task.id));
    draft.lost = draft.tasks.clone();
    if let Some(last) = scene.case.entries.iter().rfind(|entry| entry.at.millis() <= scene.end) {
        draft.step(last, "the last activity of the session");
    }
    let lost = match open.len() {
        0 => String::new(),
        _ => format!(", with {} unfinished", task_names(&draft.tasks)),
    };
    draft.summary = format!("Claude Code exited without ending its session{lost}");
    if open.is_empty() {
        draft.severity = Severity::Low;
    } else {
        draft.remedy = Some(restore(scene));
    }
    Some(draft)
}

/// The teammates in panes whose process exited while the team ran, since their last activity.
pub(super) fn crashed_panes(scene: &Scene<'_>) -> Vec<Draft> {
    let crashed = scene.case.data.crashed_panes.iter().filter(|name| !has_left(scene, name));
    let draft = |name: &String| {
        let last = scene.case.entries.iter().rfind(|entry| entry.actor == *name);
        let since = last.map_or(scene.end, |entry| entry.at.millis());
        let mut draft = Draft::new(IncidentKind::CrashedAgent, Severity::High, (since, scene.end));
        draft.agent(name);
        let tasks = scene.held(name, scene.end);
        claim(scene, &mut draft, name, &tasks);
        if let Some(last) = last {
            draft.step(last, format!("the last activity of {name}"));
        }
        let owned = task_names(&draft.tasks);
        let after = completed_later(&tasks, name).unwrap_or_default();
        draft.summary = match tasks.len() {
            0 => format!("the process of {name} exited without ending its session"),
            _ => format!("the process of {name} exited with {owned} in progress{after}"),
        };
        draft.remedy = match scene.case.is_over() {
            _ if tasks.is_empty() => None,
            true => tasks.iter().any(|task| scene.is_lost(task)).then(|| restore(scene)),
            false => Some(Remedy::Advice(format!("Assign {owned} to another teammate"))),
        };
        draft.spend(wasted(scene, name, &tasks));
        draft
    };
    crashed.map(draft).collect()
}

fn has_left(scene: &Scene<'_>, name: &str) -> bool {
    let (joined, left) = scene.case.team.stays(name).last().copied().unwrap_or_default();
    let mut approved = scene.entries(Kind::ShutdownApproved).filter(|entry| entry.actor == name);
    left.is_some() || approved.any(|entry| entry.at >= joined)
}

/// The work that was in progress when its agent left.
pub(super) fn departures(scene: &Scene<'_>) -> Vec<Draft> {
    let names: Vec<&str> = scene.case.teammates().collect();
    names.into_iter().flat_map(|name| of_agent(scene, name)).collect()
}

fn of_agent(scene: &Scene<'_>, name: &str) -> Vec<Draft> {
    let mut found: Vec<Draft> = Vec::new();
    let mut handled: Option<i64> = None;
    let is_about = |entry: &&Entry| entry.stopped().map_or(entry.actor == name, |stopped| stopped == name);
    for entry in scene.case.entries.iter().filter(is_about) {
        let at = entry.at.millis();
        match (&entry.kind, entry.kind()) {
            (EntryKind::MemberJoined(_), _) => handled = None,
            (_, Kind::ShutdownApproved) if handled.is_none() => {
                handled = Some(at);
                found.extend(lost_work(scene, name, entry, Departure::Shutdown));
            }
            (EntryKind::MemberLeft | EntryKind::SessionEnded(_), _) if handled.is_none() => {
                handled = Some(at);
                // At the end of its session the whole team leaves.
                if is_before_end(scene, at) {
                    found.extend(lost_work(scene, name, entry, Departure::Vanished));
                }
            }
            (EntryKind::AgentStopped(_), _) if handled.is_none() => {
                handled = Some(at);
                found.extend(lost_work(scene, name, entry, Departure::Stopped));
            }
            _ => {}
        }
    }
    found
}

fn lost_work(scene: &Scene<'_>, name: &str, entry: &Entry, how: Departure) -> Option<Draft> {
    let at = entry.at.millis();
    let tasks = scene.held(name, at);
    if tasks.is_empty() {
        return None;
    }
    let begin = tasks.iter().flat_map(|task| task.held_by(name, scene.end).iter().collect::<Vec<_>>());
    let begin = begin.filter(|(from, _)| *from < at).map(|(from, _)| from).min().unwrap_or(at);
    let (kind, what) = match how {
        Departure::Shutdown => (IncidentKind::LostWork, "was shut down".to_owned()),
        Departure::Stopped => (IncidentKind::LostWork, format!("was stopped by {}", entry.actor)),
        Departure::Vanished => (IncidentKind::CrashedAgent, "disappeared".to_owned()),
    };
    let mut draft = Draft::new(kind, Severity::Medium, (begin, at));
    draft.dated = Some(at);
    draft.agent(name);
    claim(scene, &mut draft, name, &tasks);
    draft.step(entry, format!("{name} {what}"));
    for task in &tasks {
        let returned = scene.case.entries.iter().find(|later| {
            later.at >= entry.at
                && later.task().is_some_and(|change| {
                    change.id == task.id && change.to == Some(TaskStatus::Pending) && later.actor == "client"
                })
        });
        if let Some(returned) = returned {
            draft.step(returned, format!("Claude Code returned #{} to pending and unassigned it", task.id));
        }
    }
    let owned = task_names(&draft.tasks);
    let (after, needs_work) = match completed_later(&tasks, name) {
        Some(after) => (after, false),
        None => (String::new(), true),
    };
    draft.summary = format!("{name} {what} with {owned} in progress for {}", duration(at - begin));
    draft.consequence = after;
    if needs_work {
        draft.severity = Severity::High;
        draft.remedy = Some(match scene.case.is_over() {
            true => restore(scene),
            false => Remedy::Advice(format!("Assign {owned} to another teammate")),
        });
    }
    draft.spend(wasted(scene, name, &tasks));
    Some(draft)
}

/// Who completed the tasks that an agent left, if all of them were completed.
fn completed_later(tasks: &[&TaskHistory], name: &str) -> Option<String> {
    let is_done = |change: &&TaskUpdate| change.to == Some(TaskStatus::Completed);
    let mut agents: Vec<String> = Vec::new();
    for task in tasks {
        let last = task.changes.iter().rfind(is_done).filter(|_| task.status == TaskStatus::Completed)?;
        let agent = if last.by == "unknown" { last.owner.as_ref().unwrap_or(&last.by) } else { &last.by };
        let agent = if agent == name { format!("a new {name}") } else { agent.clone() };
        if !agents.contains(&agent) {
            agents.push(agent);
        }
    }
    let object = if tasks.len() > 1 { "them" } else { "it" };
    (!agents.is_empty()).then(|| format!("; {} completed {object} later", listed(&agents)))
}

/// Whether the session ended only later.
fn is_before_end(scene: &Scene<'_>, at: i64) -> bool {
    let ends = scene.entries(Kind::SessionEnded).chain(scene.entries(Kind::TeamErased));
    let end = ends.map(|entry| entry.at.millis()).max().unwrap_or(scene.end);
    end - at > GRACE
}

// Which incident lost which task. Each task that a run left unfinished belongs to one incident: the one that ended the
// work on it, or else on a task that it waits for.

/// Activity so soon after an incident is its end, in milliseconds.
const LEAVING: i64 = 60_000;

/// Gives each lost task to the cause that explains it, and returns those that none explains.
pub(super) fn assign<'a>(scene: &Scene<'a>, causes: &mut [Draft]) -> Vec<&'a TaskHistory> {
    let lost: Vec<&TaskHistory> = scene.tasks.iter().filter(|task| scene.is_lost(task)).collect();
    let mut owners: HashMap<&str, usize> = HashMap::new();
    for task in &lost {
        let places = (0..causes.len()).filter(|place| explains(scene, &causes[*place], task));
        if let Some(place) = places.min_by_key(|place| rank(causes, *place)) {
            owners.insert(&task.id, place);
        }
    }
    // Then the tasks that wait for these, the nearest first. A task in progress does not wait.
    loop {
        let waiting = lost.iter().filter(|task| task.status != TaskStatus::InProgress);
        let waiting = waiting.filter(|task| !owners.contains_key(task.id.as_str()));
        let found = waiting.filter_map(|task| {
            let places = task.blocked_by.iter().filter_map(|id| owners.get(id.as_str()).copied());
            Some((task.id.as_str(), places.min_by_key(|place| rank(causes, *place))?))
        });
        let found: Vec<(&str, usize)> = found.collect();
        if found.is_empty() {
            break;
        }
        owners.extend(found);
    }
    let mut rest = Vec::new();
    for task in lost {
        match owners.get(task.id.as_str()) {
            Some(place) => causes[*place].lost.push(task.id.clone()),
            None => rest.push(task),
        }
    }
    for cause in causes.iter_mut().filter(|cause| !cause.lost.is_empty()) {
        describe(scene, cause);
    }
    rest
}

/// Whether the cause ended the work on the task: no agent took the task up again, and the cause is a loss, or the agent
/// that had the task in progress did nothing after it.
fn explains(scene: &Scene<'_>, cause: &Draft, task: &TaskHistory) -> bool {
    let end = cause.until();
    if !cause.tasks.contains(&task.id) || task.is_taken_up_after(end) {
        return false;
    }
    let is_last = |agent: &String| scene.next_activity(agent, end + LEAVING).is_none();
    let holder = cause.agents.iter().find(|agent| task.is_held(agent, end));
    cause.is_loss || holder.map_or_else(|| cause.agents.iter().all(is_last), is_last)
}

/// The order of the causes of one loss. A chain only means that a task waited.
fn rank(causes: &[Draft], place: usize) -> (bool, Severity, Reverse<i64>, usize) {
    let cause = &causes[place];
    (cause.kind == IncidentKind::BlockedChain, cause.severity, Reverse(cause.until()), place)
}

/// Adds the lost tasks to the summary, and the command that restores them.
fn describe(scene: &Scene<'_>, cause: &mut Draft) {
    let is_stated = cause.kind == IncidentKind::TasksDeleted && cause.lost == cause.tasks;
    if !is_stated {
        let were = if cause.lost.len() == 1 { "was" } else { "were" };
        cause.consequence += &format!("; {} {were} never completed", task_names(&cause.lost));
    }
    if matches!(cause.kind, IncidentKind::StalledAgent | IncidentKind::FailedAgent) {
        cause.severity = Severity::High;
    }
    if cause.remedy.is_none() {
        cause.remedy = Some(restore(scene));
    }
}
