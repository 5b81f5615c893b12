//! Work lost because its agent went away: at a shutdown, by a crash of the agent, or by a crash of the whole session.

use super::draft::{Draft, task_names};
use super::scene::{GRACE, Scene};
use super::stalls::{claim, restore, wasted};
use super::{IncidentKind, Severity};
use crate::report::tasks::{TaskHistory, TaskUpdate};
use crate::timeline::{Entry, EntryKind, Kind};
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
            false => Some(format!("Assign {owned} to another teammate")),
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
    draft.summary = format!("{name} {what} with {owned} in progress for {}{after}", duration(at - begin));
    if needs_work {
        draft.severity = Severity::High;
        draft.remedy = Some(match scene.case.is_over() {
            true => restore(scene),
            false => format!("Assign {owned} to another teammate"),
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
