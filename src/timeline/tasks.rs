//! Merges tasks: each change once, from the files (what changed) and from tool calls (who changed it).

use std::collections::{BTreeMap, HashSet};

use super::entry::{Entry, Source};
use super::entry_kind::{EntryKind, TaskEntry, TaskEvent};
use super::run_data::{Call, RunData};
use super::transcript::Outcome;
use crate::clock;
use crate::model::{TaskStatus, Tool};
use crate::payload::{Kind as Event, TaskUpdate};

/// One change of a task.
#[derive(Debug, Clone)]
struct Change {
    at: String,
    /// The status after; `None` if the file was gone.
    status: Option<TaskStatus>,
    owner: Option<String>,
    subject: Option<String>,
    actor: Option<String>,
    sources: Vec<Source>,
    /// Whether an agent requested the deletion.
    deleted: bool,
}

/// A tool call that changed a task.
struct Update<'a> {
    from: &'a str,
    until: &'a str,
    task: String,
    update: TaskUpdate,
    by: Option<String>,
    /// Whether a hook reported its success, and when. Otherwise it only names the author of a change in the files.
    is_told: bool,
}

/// The entries of all tasks, without the trackers of 2.1.47.
pub fn tasks(material: &RunData) -> Vec<Entry> {
    let mut lives = from_files(material);
    from_creation(material, &mut lives);
    let updates = updates(material);
    for update in &updates {
        apply_tool_call(lives.entry(update.task.clone()).or_default(), update);
    }
    lives.iter().flat_map(|(id, changes)| to_entries(id, changes, material)).collect()
}

/// The changes in the snapshots.
fn from_files(material: &RunData) -> BTreeMap<String, Vec<Change>> {
    let internal: HashSet<&String> = (material.history.tasks.iter())
        .filter(|(_, _, task)| task.as_ref().is_some_and(|task| task.internal))
        .map(|(_, id, _)| id)
        .collect();
    let mut lives: BTreeMap<String, Vec<Change>> = BTreeMap::new();
    for (at, id, task) in &material.history.tasks {
        if internal.contains(id) {
            continue;
        }
        let life = lives.entry(id.clone()).or_default();
        let last = life.last();
        let (status, owner, subject) = match task {
            Some(task) => (
                Some(task.status.clone().unwrap_or_else(TaskStatus::unknown)),
                task.owner.clone(),
                task.subject.clone(),
            ),
            None => (None, None, last.and_then(|last| last.subject.clone())),
        };
        let same =
            last.is_some_and(|last| last.status == status && last.owner == owner && last.subject == subject);
        if !same && (status.is_some() || last.is_some()) {
            let sources = vec![Source::Snapshot];
            life.push(Change {
                at: at.clone(),
                status,
                owner,
                subject,
                actor: None,
                sources,
                deleted: false,
            });
        }
    }
    lives
}

/// Adds the creator of each task, and tasks that no snapshot has.
fn from_creation(material: &RunData, lives: &mut BTreeMap<String, Vec<Change>>) {
    for event in &material.events {
        let (id, subject) = match event.kind {
            Event::TaskCreated => (event.payload.text("task_id"), event.payload.text("task_subject")),
            Event::PostToolUse if event.payload.tool() == Some(Tool::TaskCreate) => {
                let task = event.payload.tool_response().get("task");
                let text = |key| task.and_then(|task| task.get(key)).and_then(serde_json::Value::as_str);
                (text("id"), text("subject"))
            }
            _ => continue,
        };
        let Some(id) = id.map(|id| material.history.ids.of_event(event.task_list.as_deref(), id)) else {
            continue;
        };
        let used = event.payload.tool_use_id().and_then(|id| material.transcripts.uses.get(id));
        let by = event.who().map(str::to_owned).or_else(|| used.map(|used| used.by.clone()));
        let life = lives.entry(id).or_default();
        // Claude Code can reuse a number after it erased the task: the nearest creation counts.
        let begins = |place: usize, life: &[Change]| place == 0 || life[place - 1].status.is_none();
        let first = (0..life.len()).rev().find(|place| begins(*place, life) && life[*place].at <= event.at);
        match first.or_else(|| (!life.is_empty()).then_some(0)) {
            Some(place) => {
                let change = &mut life[place];
                change.actor = change.actor.take().or(by);
                if !change.sources.contains(&Source::Hook) {
                    change.sources.insert(0, Source::Hook);
                }
                if change.at > event.at {
                    change.at.clone_from(&event.at);
                }
            }
            None => life.push(Change {
                at: event.at.clone(),
                status: Some(TaskStatus::Pending),
                owner: None,
                subject: subject.map(str::to_owned),
                actor: by,
                sources: vec![Source::Hook],
                deleted: false,
            }),
        }
    }
}

/// The successful tool calls.
fn updates(material: &RunData) -> Vec<Update<'_>> {
    let read = |call: Call<'_>| -> Option<(String, TaskUpdate, Option<String>)> {
        let used = call.id.and_then(|id| material.transcripts.uses.get(id));
        let is_done = used.is_some_and(|used| used.result == Some(Outcome::Done));
        let told = call.after.or(call.before.filter(|_| is_done))?;
        let update = TaskUpdate::of(told.payload.tool_input(), told.payload.tool_response())?;
        let by = call.who().map(str::to_owned).or_else(|| used.map(|used| used.by.clone()));
        let task = material.history.ids.of_event(told.task_list.as_deref(), &update.task);
        (update.success != Some(false)).then_some((task, update, by))
    };
    let calls = material.tool_calls(Tool::TaskUpdate).into_iter();
    let found = calls.filter_map(|call| {
        let (task, update, by) = read(call)?;
        let from = &call.first()?.at;
        let until = call.after.map_or(from, |after| &after.at);
        Some(Update { from, until, task, update, by, is_told: call.after.is_some() })
    });
    found.collect()
}

/// Milliseconds by which a snapshot can have started before a tool call whose effect it saw.
const TIME_SLACK_MS: i64 = 250;

/// Merges a tool call into a task's changes: it names the author of a change in the files, or adds one that no
/// snapshot shows.
fn apply_tool_call(life: &mut Vec<Change>, update: &Update<'_>) {
    let status = update.update.change.as_ref().map(|(_, to)| to).or(update.update.status.as_ref());
    let deletes = status == Some(&TaskStatus::Deleted);
    let owner = update.update.owner.as_ref();
    let subject = update.update.subject.as_ref();
    // A change shows the call if it has what the call asked for.
    let shows = |place: usize, life: &[Change]| {
        let (now, before) = (&life[place], place.checked_sub(1).map(|place| &life[place]));
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
    let until = life.iter().position(|change| change.at.as_str() > update.until).unwrap_or(life.len());
    let seen = |from: &str| {
        (0..life.len().min(until + 1)).find(|place| {
            let change = &life[*place];
            change.at.as_str() >= from && change.actor.is_none() && shows(*place, life)
        })
    };
    let seen = seen(update.from).or_else(|| seen(&clock::before(update.from, TIME_SLACK_MS)));
    if let Some(place) = seen {
        let change = &mut life[place];
        change.actor.clone_from(&update.by);
        change.deleted |= deletes;
        change.sources.insert(0, Source::Hook);
        return;
    }
    if !update.is_told || (status.is_none() && owner.is_none() && subject.is_none()) {
        return;
    }
    let place = life.iter().position(|change| change.at.as_str() >= update.from).unwrap_or(life.len());
    let before = place.checked_sub(1).and_then(|place| life.get(place));
    let then = before.and_then(|change| change.status.clone());
    let expected = update.update.change.as_ref().is_none_or(|(from, _)| then.as_ref() == Some(from));
    let Some(before) = before.filter(|_| expected) else { return };
    let added = Change {
        at: life.get(place).map_or(update.until, |next| next.at.as_str().min(update.until)).to_owned(),
        status: if deletes { None } else { status.cloned().or(then) },
        owner: owner
            .cloned()
            .map_or_else(|| before.owner.clone(), |owner| (!owner.is_empty()).then_some(owner)),
        subject: subject.cloned().or_else(|| before.subject.clone()),
        actor: update.by.clone(),
        sources: vec![Source::Hook],
        deleted: deletes,
    };
    if added.status != before.status || added.owner != before.owner || added.subject != before.subject {
        life.insert(place, added);
    }
}

/// The entries of one task.
fn to_entries(id: &str, changes: &[Change], material: &RunData) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut before: Option<&Change> = None;
    for change in changes {
        let was = before.and_then(|before| before.status.clone());
        let same = before.is_some_and(|before| {
            before.status == change.status && before.owner == change.owner && before.subject == change.subject
        });
        let erased_with_team =
            change.status.is_none() && !change.deleted && vanished_at(material, &change.at);
        // A session that is resumed, or that names its list, finds tasks that were created before.
        let is_found = (material.run.continues.is_some() || material.history.ids.is_named(id))
            && before.is_none()
            && change.actor.is_none()
            && change.sources == [Source::Snapshot]
            && change.at == material.run.started_at;
        let event = match (&was, &change.status) {
            (None, Some(_)) if is_found => TaskEvent::Found,
            (None, Some(_)) => TaskEvent::Created,
            (_, None) if change.deleted => TaskEvent::Deleted,
            (_, None) => TaskEvent::Erased,
            (Some(_), Some(TaskStatus::Deleted)) => TaskEvent::Deleted,
            (Some(was), Some(TaskStatus::Completed)) if *was != TaskStatus::Completed => TaskEvent::Completed,
            _ => TaskEvent::Changed,
        };
        if !same && !erased_with_team {
            let by = if is_found { "client".to_owned() } else { actor(change, before, event) };
            let kind = EntryKind::Task(TaskEntry {
                event,
                id: id.to_owned(),
                subject: change.subject.clone(),
                from: was,
                to: change.status.clone(),
                owner: change.owner.clone(),
                is_renamed: before
                    .is_some_and(|before| before.status == change.status && before.owner == change.owner),
            });
            entries.push(Entry { at: change.at.clone(), actor: by, sources: change.sources.clone(), kind });
        }
        before = Some(change);
    }
    entries
}

/// The author: from the tool calls, else Claude Code where only it does this.
fn actor(change: &Change, before: Option<&Change>, event: TaskEvent) -> String {
    let returned = || {
        let owned = before.is_some_and(|before| before.owner.is_some());
        owned && change.owner.is_none() && change.status == Some(TaskStatus::Pending)
    };
    match &change.actor {
        Some(actor) => actor.clone(),
        None if event == TaskEvent::Erased || returned() => "client".to_owned(),
        None => "unknown".to_owned(),
    }
}

/// Whether the team's directory disappeared at that moment, with its tasks.
fn vanished_at(material: &RunData, at: &str) -> bool {
    material.history.presence.iter().any(|(time, there)| !there && time == at)
}
