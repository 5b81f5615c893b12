//! Merges tasks: each change once, from the files (what changed) and from tool calls (who changed it).

use chrono::TimeDelta;
use std::collections::{BTreeMap, HashMap, HashSet};

use super::entry::{Entry, EntryKind, Source};
use super::messages::names;
use super::run_data::{CallEvents, RunData};
use super::transcripts::ToolOutcome;
use teamkeep_model::payload::{EventKind as Event, TaskUpdate};
use teamkeep_model::team::{spelled, without_team};
use teamkeep_model::time::Timestamp;
use teamkeep_model::{TaskStatus, Tool};
use teamkeep_policy::{LiveState, TaskChange, TaskEvent};

/// One change of a task.
#[derive(Debug, Clone)]
struct Change {
    at: Timestamp,
    after: TaskValues,
    actor: Option<String>,
    sources: Vec<Source>,
    /// Whether an agent requested the deletion.
    deleted: bool,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct TaskValues {
    /// `None` if the file was gone.
    status: Option<TaskStatus>,
    owner: Option<String>,
    subject: Option<String>,
}

impl Change {
    fn new(at: Timestamp, after: TaskValues, actor: Option<String>, source: Source) -> Change {
        Change { at, after, actor, sources: vec![source], deleted: false }
    }
}

struct Update {
    from: Timestamp,
    until: Timestamp,
    task: String,
    update: TaskUpdate,
    by: Option<String>,
    /// Whether a hook reported its success, and when. Otherwise it only names the author of a change in the files.
    is_confirmed: bool,
}

/// The entries of all tasks, without the trackers of 2.1.47.
pub(super) fn tasks(data: &RunData) -> Vec<Entry> {
    let names = names(data);
    let mut lives = from_files(data, &names);
    from_creation(data, &mut lives);
    for update in updates(data, &names) {
        apply_tool_call(lives.entry(update.task.clone()).or_default(), &update);
    }
    lives.iter().flat_map(|(id, changes)| to_entries(id, changes, data)).collect()
}

/// The status and the owner of each task until Claude Code returned it to pending at the owner's shutdown. Not of a task that
/// has changed since. Changes after `until` are ignored.
pub fn held_until_shutdown(
    data: &RunData,
    until: Option<Timestamp>,
) -> BTreeMap<String, (TaskStatus, String)> {
    let mut team = LiveState::default();
    let mut returned = BTreeMap::new();
    for entry in tasks(data).iter().filter(|entry| until.is_none_or(|until| entry.at <= until)) {
        let Some(task) = entry.task().filter(|task| !task.is_renamed && task.to.is_some()) else { continue };
        returned.remove(&task.id);
        let owner = team.tasks.get(&task.id).and_then(|before| before.owner.clone());
        entry.apply_to(&mut team);
        if let (None, Some(owner), Some(status)) = (&task.owner, owner, &task.from)
            && entry.actor == "client"
        {
            returned.insert(task.id.clone(), (status.clone(), owner));
        }
    }
    returned
}

/// The agent that owns a task. A file can have `@bob`, `bob@team` or bob's agent id; an owner without a name means
/// unassigned.
fn owner_of(text: &str, data: &RunData, names: &HashMap<String, String>) -> Option<String> {
    let name = names.get(text).map_or_else(|| without_team(text), String::as_str);
    let name = names.get(name).map_or(name, String::as_str);
    let members = || data.members.iter().map(String::as_str).chain([data.lead()]);
    (!name.is_empty()).then(|| spelled(name, members).unwrap_or(name).to_owned())
}

fn from_files(data: &RunData, names: &HashMap<String, String>) -> BTreeMap<String, Vec<Change>> {
    let internal: HashSet<&String> = (data.snapshots.tasks.iter())
        .filter(|(_, _, task)| task.as_ref().is_some_and(|task| task.internal))
        .map(|(_, id, _)| id)
        .collect();
    let mut lives: BTreeMap<String, Vec<Change>> = BTreeMap::new();
    for (at, id, task) in &data.snapshots.tasks {
        if internal.contains(id) {
            continue;
        }
        let life = lives.entry(id.clone()).or_default();
        let last = life.last().map(|last| &last.after);
        let after = match task {
            Some(task) => TaskValues {
                status: Some(task.status.clone().unwrap_or_else(TaskStatus::unknown)),
                owner: task.owner.as_ref().and_then(|owner| owner_of(owner, data, names)),
                subject: task.subject.clone(),
            },
            None => {
                TaskValues { subject: last.and_then(|last| last.subject.clone()), ..TaskValues::default() }
            }
        };
        if last != Some(&after) && (after.status.is_some() || last.is_some()) {
            life.push(Change::new(*at, after, None, Source::Snapshot));
        }
    }
    lives
}

fn from_creation(data: &RunData, lives: &mut BTreeMap<String, Vec<Change>>) {
    for event in &data.events {
        let (id, subject) = match event.kind {
            Event::TaskCreated => (event.text("task_id"), event.text("task_subject")),
            Event::PostToolUse if event.tool() == Some(Tool::TaskCreate) => {
                let task = event.tool_response().get("task");
                let text = |key| task.and_then(|task| task.get(key)).and_then(serde_json::Value::as_str);
                (text("id"), text("subject"))
            }
            _ => continue,
        };
        let Some(id) = id.map(|id| data.snapshots.ids.of_event(event.task_list(), id)) else {
            continue;
        };
        let used = event.tool_use_id().and_then(|id| data.transcripts.uses.get(id));
        let by = event.who().map(str::to_owned).or_else(|| used.map(|used| used.transcript.by.clone()));
        let life = lives.entry(id).or_default();
        // Claude Code can reuse a number after it erased the task: the nearest creation counts.
        let begins = |place: usize, life: &[Change]| place == 0 || life[place - 1].after.status.is_none();
        let first = (0..life.len()).rev().find(|place| begins(*place, life) && life[*place].at <= event.at);
        match first.or_else(|| (!life.is_empty()).then_some(0)) {
            Some(place) => {
                let change = &mut life[place];
                change.actor = change.actor.take().or(by);
                if !change.sources.contains(&Source::Hook) {
                    change.sources.insert(0, Source::Hook);
                }
                if change.at > event.at {
                    change.at = event.at;
                }
            }
            // It was deleted before the run.
            None if event.at < data.run.started_at => {}
            None => {
                let after = TaskValues {
                    status: Some(TaskStatus::Pending),
                    owner: None,
                    subject: subject.map(str::to_owned),
                };
                life.push(Change::new(event.at, after, by, Source::Hook));
            }
        }
    }
}

fn updates(data: &RunData, names: &HashMap<String, String>) -> Vec<Update> {
    let read = |call: CallEvents<'_>| -> Option<(String, TaskUpdate, Option<String>)> {
        let used = call.id.and_then(|id| data.transcripts.uses.get(id));
        let is_done = used.is_some_and(|used| used.result == Some(ToolOutcome::Done));
        let event = call.after.or(call.before.filter(|_| is_done))?;
        let mut update = TaskUpdate::of(event.tool_input(), event.tool_response())?;
        update.owner = update.owner.map(|owner| owner_of(&owner, data, names).unwrap_or_default());
        let by = call.who().map(str::to_owned).or_else(|| used.map(|used| used.transcript.by.clone()));
        let task = data.snapshots.ids.of_event(event.task_list(), &update.task);
        (update.success != Some(false)).then_some((task, update, by))
    };
    let calls = data.tool_calls(Tool::TaskUpdate).into_iter();
    let found = calls.filter_map(|call| {
        let (task, update, by) = read(call)?;
        let from = call.first()?.at;
        let until = call.after.map_or(from, |after| after.at);
        Some(Update { from, until, task, update, by, is_confirmed: call.after.is_some() })
    });
    found.collect()
}

/// How long before a tool call a snapshot can have started that saw its effect.
const TIME_SLACK: TimeDelta = TimeDelta::milliseconds(250);

/// Merges a tool call into a task's changes: it names the author of a change in the files, or adds one that no
/// snapshot shows.
fn apply_tool_call(life: &mut Vec<Change>, update: &Update) {
    let status = update.update.change.as_ref().map(|(_, to)| to).or(update.update.status.as_ref());
    let deletes = status == Some(&TaskStatus::Deleted);
    let owner = update.update.owner.as_ref();
    let subject = update.update.subject.as_ref();
    // A change shows the call if it has what the call asked for.
    let shows = |place: usize, life: &[Change]| {
        let (now, before) = (&life[place].after, place.checked_sub(1).map(|place| &life[place].after));
        let brought = status.is_none_or(|status| now.status.as_ref() == Some(status))
            && owner.is_none_or(|owner| now.owner.as_deref().unwrap_or("") == owner)
            && subject.is_none_or(|subject| now.subject.as_ref() == Some(subject));
        let differs = before.is_none_or(|before| {
            (status.is_some() && before.status != now.status)
                || (owner.is_some() && before.owner != now.owner)
                || (subject.is_some() && before.subject != now.subject)
        });
        if deletes { now.status.is_none() } else { brought && differs }
    };
    // A snapshot during the call may have seen the change; one after it saw it too, unless a later change replaced it.
    let until = life.iter().position(|change| change.at > update.until).unwrap_or(life.len());
    let seen = |from: Timestamp| {
        (0..life.len().min(until + 1)).find(|place| {
            let change = &life[*place];
            change.at >= from && change.actor.is_none() && shows(*place, life)
        })
    };
    let seen = seen(update.from).or_else(|| seen(update.from - TIME_SLACK));
    if let Some(place) = seen {
        let change = &mut life[place];
        change.actor.clone_from(&update.by);
        change.deleted |= deletes;
        change.sources.insert(0, Source::Hook);
        return;
    }
    if !update.is_confirmed || (status.is_none() && owner.is_none() && subject.is_none()) {
        return;
    }
    let place = life.iter().position(|change| change.at >= update.from).unwrap_or(life.len());
    let Some(before) = place.checked_sub(1).and_then(|place| life.get(place)).map(|change| &change.after)
    else {
        return;
    };
    if update.update.change.as_ref().is_some_and(|(from, _)| before.status.as_ref() != Some(from)) {
        return;
    }
    let after = TaskValues {
        status: if deletes { None } else { status.or(before.status.as_ref()).cloned() },
        owner: match owner {
            Some(owner) => Some(owner.clone()).filter(|owner| !owner.is_empty()),
            None => before.owner.clone(),
        },
        subject: subject.or(before.subject.as_ref()).cloned(),
    };
    if after != *before {
        let at = life.get(place).map_or(update.until, |next| next.at.min(update.until));
        let change = Change::new(at, after, update.by.clone(), Source::Hook);
        life.insert(place, Change { deleted: deletes, ..change });
    }
}

fn to_entries(id: &str, changes: &[Change], data: &RunData) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut before: Option<&TaskValues> = None;
    for change in changes {
        let (was, after) = (before.and_then(|before| before.status.clone()), &change.after);
        let vanished = || data.snapshots.presence.iter().any(|(at, there)| !there && *at == change.at);
        let erased_with_team = after.status.is_none() && !change.deleted && vanished();
        // A session that is resumed, or that names its list, finds tasks that were created before.
        let is_found = (data.run.continues.is_some() || data.snapshots.ids.is_named(id))
            && before.is_none()
            && change.actor.is_none()
            && change.sources == [Source::Snapshot]
            && change.at == data.run.started_at;
        let event = match (&was, &after.status) {
            (None, Some(_)) if is_found => TaskEvent::Found,
            (None, Some(_)) => TaskEvent::Created,
            (_, None) if change.deleted => TaskEvent::Deleted,
            (_, None) => TaskEvent::Erased,
            (Some(_), Some(TaskStatus::Deleted)) => TaskEvent::Deleted,
            (Some(was), Some(TaskStatus::Completed)) if *was != TaskStatus::Completed => TaskEvent::Completed,
            _ => TaskEvent::Changed,
        };
        if before != Some(after) && !erased_with_team {
            // Only Claude Code erases a task, or returns it to pending and removes its owner.
            let returned = before.is_some_and(|before| before.owner.is_some())
                && after.owner.is_none()
                && after.status == Some(TaskStatus::Pending);
            let by_client = is_found || event == TaskEvent::Erased || returned;
            let actor = change
                .actor
                .clone()
                .unwrap_or_else(|| if by_client { "client" } else { "unknown" }.to_owned());
            let kind = EntryKind::Task(TaskChange {
                event,
                id: id.to_owned(),
                subject: after.subject.clone(),
                from: was,
                to: after.status.clone(),
                owner: after.owner.clone(),
                is_renamed: before
                    .is_some_and(|before| before.status == after.status && before.owner == after.owner),
            });
            entries.push(Entry { at: change.at, actor, sources: change.sources.clone(), kind });
        }
        before = Some(after);
    }
    entries
}
