//! The spans of tasks, with their changes as events.

use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::Event;
use teamkeep::report::{Change, TaskHistory};
use teamkeep_core::client::json;
use teamkeep_core::model::TaskStatus;
use teamkeep_core::sys::clock::Timestamp;

use super::attributes::{Attributes, nanos};
use super::names;
use super::run_context::{RunContext, bare};

/// Maximum number of events of a span, as in OpenTelemetry's SDKs.
const MAX_EVENTS: usize = 128;

/// Every status that is sent; all others are `other`.
pub const STATUSES: [&str; 5] = ["pending", "in_progress", "completed", "deleted", "other"];

pub fn task_spans(context: &RunContext<'_>) -> Vec<Span> {
    context.export.report.tasks.iter().filter_map(|task| task_span(context, task)).collect()
}

/// The span of a task; `None` if it was sent before and has not changed since.
fn task_span(context: &RunContext<'_>, task: &TaskHistory) -> Option<Span> {
    let export = context.export;
    let (first, last) = (task.changes.first()?.at, task.changes.last()?.at);
    let end = ended_at(task).unwrap_or_else(|| export.end()).max(first);
    if !export.is_new(end.max(last)) {
        return None;
    }
    let costs = export.report.spending.tasks.iter().find(|usage| usage.task == task.id);
    let subject = task.subject.as_deref().and_then(|subject| export.text(subject));
    let attributes = context
        .run_attributes()
        .text(names::SPAN_KIND, "CHAIN")
        .text(names::TASK_ID, &task.id)
        .text(names::TASK_STATUS, status(&task.status))
        .maybe(names::TASK_OWNER, task.owner.as_deref().map(|owner| context.name(owner)))
        .texts(names::TASK_BLOCKED_BY, &task.blocked_by)
        .maybe(names::TASK_SUBJECT, subject)
        .maybe(names::INPUT, subject)
        .maybe_double(names::COST, costs.and_then(|usage| usage.cost));
    let dropped = task.changes.len().saturating_sub(MAX_EVENTS);
    Some(Span {
        parent_span_id: context.run_span().bytes(),
        name: format!("task {}", task.id),
        attributes: attributes.into_list(),
        events: task.changes.iter().skip(dropped).map(|change| event(context, change)).collect(),
        dropped_events_count: dropped.try_into().unwrap_or(u32::MAX),
        ..context.span(context.task_span(&task.id), (first, end))
    })
}

/// When a task was completed or removed; `None` if neither happened or it was reopened since.
fn ended_at(task: &TaskHistory) -> Option<Timestamp> {
    let is_done = |change: &&Change| change.to.as_ref().is_none_or(TaskStatus::is_done);
    let done = task.changes.iter().rev().take_while(is_done).last();
    done.map(|change| change.at).or(task.removed_at)
}

fn event(context: &RunContext<'_>, change: &Change) -> Event {
    let attributes = Attributes::default()
        .text(names::TASK_CHANGE, json::serde_name(&change.kind))
        .maybe(names::TASK_FROM, change.from.as_ref().map(status))
        .maybe(names::TASK_STATUS, change.to.as_ref().map(status))
        .maybe(names::TASK_OWNER, change.owner.as_deref().map(|owner| context.name(owner)))
        .text(names::TASK_ACTOR, bare(&change.by));
    Event {
        time_unix_nano: nanos(change.at),
        name: names::TASK_CHANGED.to_owned(),
        attributes: attributes.into_list(),
        ..Event::default()
    }
}

/// The name of a status.
pub fn status(status: &TaskStatus) -> &str {
    match status {
        TaskStatus::Other(_) => "other",
        known => known.as_str(),
    }
}
