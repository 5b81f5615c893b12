//! Agents that showed no activity for a long time while they owned a task in progress.

use super::scene::{Draft, Scene, task_names};
use super::{IncidentKind, Remedy, Severity};
use crate::report::input::Spans;
use crate::report::messages::{MessageRow, bare};
use crate::report::tasks::TaskHistory;
use crate::report::work::{open_questions, waits_for_approval, waits_for_task};
use crate::timeline::{Entry, EntryKind, TurnEvent};
use teamkeep_model::payload::EventKind as Event;
use teamkeep_model::time::{Timestamp, duration};
use teamkeep_model::words::{count, listed};
use teamkeep_store::archive::RunRecord;

/// A stall that lasted at least this many times the threshold is severe, even if nothing was lost.
const SEVERE: i64 = 4;

/// A time of an agent in which its silence has another reason.
pub(super) type Excuse<'a> = (&'a str, (i64, i64));

/// The stalls. `excused` are the times in which an agent waits for the user, or after its turn failed or was interrupted.
pub(super) fn stalls(scene: &Scene<'_>, excused: &[Excuse<'_>]) -> Vec<Draft> {
    let mut found: Vec<Draft> = Vec::new();
    let is_crashed = |name: &str| scene.case.data.crashed_panes.iter().any(|crashed| crashed == name);
    let names: Vec<&str> = scene.case.teammates().chain([scene.case.lead]).collect();
    for name in names {
        let silences = silent_with_work(scene, name, excused);
        // A pause of the whole team, such as a suspended computer, is one incident. A crash is not part of it.
        let (alone, with_all): (Vec<_>, Vec<_>) = silences
            .into_iter()
            .partition(|(span, _)| is_crashed(name) || scene.is_anyone_else_active(name, *span));
        let mut own: Vec<Silences<'_>> = Vec::new();
        for (span, tasks) in with_all {
            let is_joint = |other: &&mut Draft| {
                other.overlaps(span) && other.agents[0] != name && !is_crashed(&other.agents[0])
            };
            match found.iter_mut().find(is_joint) {
                Some(all) => join(scene, all, name, &tasks, span),
                None => own.push((vec![span], tasks)),
            }
        }
        // A message can end a silence, but not the stall: repeated silences with one task are one incident.
        for (span, tasks) in alone {
            let is_same = |(_, known): &&mut Silences<'_>| {
                tasks.iter().any(|task| known.iter().any(|one| one.id == task.id))
            };
            match own.iter_mut().find(is_same) {
                Some((spans, _)) => spans.push(span),
                None => own.push((vec![span], tasks)),
            }
        }
        found.extend(own.iter().map(|(spans, tasks)| stall(scene, name, spans, tasks)));
    }
    found
}

type Silences<'a> = (Vec<(i64, i64)>, Vec<&'a TaskHistory>);
type Silence<'a> = ((i64, i64), Vec<&'a TaskHistory>);

/// The silences in which the agent had tasks in progress and did not wait for another agent or the user.
fn silent_with_work<'a>(scene: &Scene<'a>, name: &str, excused: &[Excuse<'_>]) -> Vec<Silence<'a>> {
    let limit = millis(scene.limits.silent);
    let own = excused.iter().filter(|(agent, _)| *agent == name);
    let excused = Spans::of(own.map(|(_, span)| *span));
    let waits_for_task = waits_for_task(scene.tasks, name, scene.end);
    let waits_for_approval = waits_for_approval(scene.case, name, scene.end);
    let mut found = Vec::new();
    for (from, to) in scene.silences(name, limit) {
        // Between its turns, the lead waits for the user or for a teammate.
        if name == scene.case.lead && !is_in_turn(scene, name, (from, to)) {
            continue;
        }
        let answer = open_questions(scene.mail, name, scene.end);
        let at_most = millis(scene.limits.waiting);
        let answer = answer.into_iter().filter(|question| (from - at_most..=from).contains(&question.from));
        let waits = Spans::of(answer.map(|question| (question.from, question.to)));
        let waits = Spans::union([&waits, &excused, &waits_for_task, &waits_for_approval]);
        let whole = Spans::of([(from, to)]);
        let of_task = |task: &&TaskHistory| task.held_by(name, scene.end).intersection(&whole).total() > 0;
        let tasks: Vec<&TaskHistory> = scene.tasks.iter().filter(of_task).collect();
        let busy: Vec<Spans> = tasks.iter().map(|task| task.held_by(name, scene.end)).collect();
        let work = Spans::union(&busy).intersection(&whole).difference(&waits);
        let long = work.iter().filter(|(from, to)| to - from >= limit);
        found.extend(long.map(|span| (span, tasks.clone())));
    }
    found
}

fn is_in_turn(scene: &Scene<'_>, name: &str, (from, to): (i64, i64)) -> bool {
    scene.turns.iter().any(|turn| {
        let begins = turn.from.is_some_and(|begins| begins.millis() <= from);
        turn.agent == name && begins && turn.to.is_none_or(|ends| ends.millis() >= to)
    })
}

fn stall(scene: &Scene<'_>, name: &str, silences: &[(i64, i64)], tasks: &[&TaskHistory]) -> Draft {
    let from = silences.iter().map(|(from, _)| *from).min().unwrap_or_default();
    let to = silences.iter().map(|(_, to)| *to).max().unwrap_or_default();
    let silent: i64 = silences.iter().map(|(from, to)| to - from).sum();
    let mut draft = Draft::new(IncidentKind::StalledAgent, Severity::Medium, (from, to));
    draft.lasted = Some(silent);
    draft.silences.extend(silences.iter().map(|span| (name.to_owned(), *span)));
    draft.agent(name);
    claim(scene, &mut draft, name, tasks);
    let last = scene.case.entries.iter().rfind(|entry| entry.actor == name && entry.at.millis() <= from);
    if let Some(last) = last {
        draft.step(last, last_activity(scene, last, from));
    }
    let waiting = waiting_messages(scene, name, silences);
    draft.counted = waiting.iter().map(|message| message.id.clone()).collect();
    for message in waiting.first().into_iter().chain(waiting.last()) {
        let entry =
            scene.case.entries.iter().find(|entry| entry.at == message.at && entry.actor == message.from);
        if let Some(entry) = entry {
            draft.step(entry, format!("{} wrote to {name} and got no answer", message.from));
        }
    }
    let is_next = |entry: &&Entry| entry.stopped().unwrap_or(&entry.actor) == name && entry.at.millis() >= to;
    let next = scene.case.entries.iter().find(is_next);
    if let Some(next) = next.filter(|_| !scene.lasts(to)) {
        let what = match &next.kind {
            EntryKind::AgentStopped(_) => format!("was stopped by {}", next.actor),
            EntryKind::MemberLeft | EntryKind::SessionEnded(_) => "left".to_owned(),
            _ => "showed activity again".to_owned(),
        };
        draft.step(next, format!("{name} {what}"));
    }
    let owned = task_names(&draft.tasks);
    if !waiting.is_empty() {
        draft.consequence = format!("; {} waited for it", count(waiting.len(), "message"));
    }
    let was = if scene.lasts(to) { "has been" } else { "was" };
    let time = match silences.len() {
        1 => format!("for {}", duration(silent)),
        times => format!("{times} times, for {} in all,", duration(silent)),
    };
    draft.summary = format!("{name} {was} silent {time} with {owned} in progress");
    if scene.lasts(to) || silent >= SEVERE * millis(scene.limits.silent) {
        draft.severity = Severity::High;
    }
    draft.spend(wasted(scene, name, tasks));
    if !scene.case.is_over() {
        draft.advise(format!("Ask {name} for {owned}, or reassign the task"));
    }
    draft
}

/// The command that brings the run's unfinished tasks back, in a new session.
pub(super) fn restore(scene: &Scene<'_>) -> Remedy {
    Remedy::Command(restore_command(&scene.case.data.run, None))
}

/// The command that starts a session with the tasks of a run that were unfinished at a moment, or at its end.
pub fn restore_command(run: &RunRecord, at: Option<Timestamp>) -> String {
    let at = at.map(|at| format!(" --at={at}")).unwrap_or_default();
    format!("teamkeep restore {}{at} --yes", run.run)
}

/// The cost of the agent while tasks of its own were in progress that were never completed.
pub(super) fn wasted(scene: &Scene<'_>, name: &str, tasks: &[&TaskHistory]) -> Option<(u64, Option<f64>)> {
    let lost = tasks.iter().filter(|task| scene.is_lost(task));
    let times: Vec<Spans> = lost.map(|task| task.held_by(name, scene.end)).collect();
    let times = Spans::union(&times);
    scene.spending.spent(name, times.iter())
}

/// Adds the tasks, with the entry in which the agent took each.
pub(super) fn claim(scene: &Scene<'_>, draft: &mut Draft, name: &str, tasks: &[&TaskHistory]) {
    for task in tasks {
        draft.task(&task.id);
        let times = task.held_by(name, scene.end);
        let Some((begin, _)) = times.iter().filter(|(from, _)| *from <= draft.span.1).last() else {
            continue;
        };
        if let Some(entry) = scene.task_entry(&task.id, begin) {
            let called = task.subject.as_ref().map(|subject| format!(": {subject}")).unwrap_or_default();
            draft.step(entry, format!("{name} had #{} in progress{called}", task.id));
        }
    }
    draft.keep_lost(scene);
}

/// The entry, and the tool call after it that had not ended, if any.
fn last_activity(scene: &Scene<'_>, entry: &Entry, from: i64) -> String {
    let what = match &entry.kind {
        EntryKind::Turn(turn) if turn.event == TurnEvent::Started => "started a turn",
        EntryKind::Turn(_) => "ended its turn",
        EntryKind::Message(_) => "sent a message",
        EntryKind::Task(_) => "changed a task",
        EntryKind::MemberJoined(_) => "joined",
        _ => "was active",
    };
    let name = &entry.actor;
    let mut own = scene.case.data.events.iter().filter(|event| event.at.millis() <= from);
    let last = own.rfind(|event| event.who() == Some(name) && event.verdict.is_none());
    let call = last.filter(|event| event.kind == Event::PreToolUse && event.at > entry.at);
    let uses = scene.case.data.transcripts.uses.values().filter(|used| used.transcript.by == *name);
    let uses = uses.filter(|used| used.at.is_some_and(|at| at > entry.at && at.millis() <= from));
    let used = || uses.max_by_key(|used| used.at).map(|used| used.tool.as_str());
    match call.and_then(|event| event.tool_name()).or_else(used) {
        Some(tool) => format!("{name} {what}; its last action was {tool}"),
        None => format!("{name} {what}; after that it showed no activity"),
    }
}

/// A message that ends a silence does not wait, in milliseconds.
const AT_ONCE: i64 = 5_000;

/// The messages that were sent to the agent while it was silent, and did not end the silence.
fn waiting_messages<'a>(scene: &Scene<'a>, name: &str, silences: &[(i64, i64)]) -> Vec<&'a MessageRow> {
    let is_inside = |at: i64| {
        silences.iter().any(|(from, to)| {
            let end = if scene.lasts(*to) { *to } else { to - AT_ONCE };
            (*from..=end).contains(&at)
        })
    };
    let is_waiting = |one: &&MessageRow| {
        !one.automatic && one.refused.is_none() && bare(&one.to) == name && is_inside(one.at.millis())
    };
    scene.mail.messages.iter().filter(is_waiting).collect()
}

/// Another agent was silent at the same time, and no one else was active.
fn join(scene: &Scene<'_>, all: &mut Draft, name: &str, tasks: &[&TaskHistory], (from, to): (i64, i64)) {
    all.agent(name);
    all.silences.push((name.to_owned(), (from, to)));
    claim(scene, all, name, tasks);
    all.span = (all.span.0.min(from), all.span.1.max(to));
    let (time, owned) = (duration(all.span.1 - all.span.0), task_names(&all.tasks));
    let were = if scene.lasts(to) { "have been" } else { "were" };
    let names = listed(&all.agents);
    all.consequence.clear();
    all.summary = format!("{names} {were} silent at the same time for {time} with {owned} in progress");
    all.spend(wasted(scene, name, tasks));
}

pub(in crate::report) fn millis(duration: std::time::Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
