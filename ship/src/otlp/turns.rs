//! The spans of agents' turns, and their links.

use std::collections::{BTreeMap, HashSet};

use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::Link;
use teamkeep::report::TaskHistory;
use teamkeep_core::model::TaskStatus;
use teamkeep_core::sys::clock::Timestamp;

use super::attributes::Attributes;
use super::run_context::{RunContext, SAMPLED, TurnSpan, bare};
use super::{ClientSpan, RunExport, names};

/// Maximum number of links of a span, as in OpenTelemetry's SDKs.
pub(super) const MAX_LINKS: usize = 128;
/// Flags of a link: whether its span is of another process is known, and it is.
const REMOTE: u32 = 0x300;

/// The hook calls of each agent, or of each session if the agent is not known, by time.
#[derive(Debug)]
struct Calls<'a> {
    by_agent: BTreeMap<&'a str, Vec<&'a ClientSpan>>,
    by_session: BTreeMap<&'a str, Vec<&'a ClientSpan>>,
}

impl<'a> Calls<'a> {
    fn new(links: &'a [ClientSpan]) -> Calls<'a> {
        let mut calls = Calls { by_agent: BTreeMap::new(), by_session: BTreeMap::new() };
        for link in links {
            match (&link.agent, &link.session) {
                (Some(agent), _) => calls.by_agent.entry(agent).or_default().push(link),
                (None, Some(session)) => calls.by_session.entry(session).or_default().push(link),
                (None, None) => {}
            }
        }
        let lists = calls.by_agent.values_mut().chain(calls.by_session.values_mut());
        lists.for_each(|list| list.sort_by_key(|link| link.at));
        calls
    }

    /// The calls that were made in a turn.
    fn in_turn(&self, span: &TurnSpan<'_>) -> impl Iterator<Item = &'a ClientSpan> {
        let session = span.turn.instance.as_deref().and_then(|session| self.by_session.get(session));
        let lists = self.by_agent.get(span.agent()).into_iter().chain(session);
        lists.flat_map(|list| {
            let from = list.partition_point(|link| link.at < span.from);
            let to = list.partition_point(|link| link.at <= span.to);
            list[from..to].iter().copied()
        })
    }
}

pub fn turn_spans(context: &RunContext<'_>) -> Vec<Span> {
    let (tasks, calls) = (times_in_progress(context.export), Calls::new(context.export.links));
    let new = context.turns.iter().filter(|turn| context.export.is_new(turn.to));
    new.map(|turn| turn_span(context, turn, (&tasks, &calls))).collect()
}

fn turn_span(
    context: &RunContext<'_>,
    span: &TurnSpan<'_>,
    (tasks, calls): (&TasksOf<'_>, &Calls<'_>),
) -> Span {
    let turn = span.turn;
    let own: Vec<&str> = tasks.get(turn.agent.as_str()).map_or_else(Vec::new, |times| {
        let during = |(_, from, to): &&(&str, Timestamp, Timestamp)| *from < span.to && span.from < *to;
        let mut seen = HashSet::new();
        times.iter().filter(during).map(|(task, ..)| *task).filter(|task| seen.insert(*task)).collect()
    });
    let attributes = context
        .conversation_attributes()
        .text(names::SPAN_KIND, "AGENT")
        .text(names::OPERATION_NAME, "invoke_agent")
        .text(names::PROVIDER_NAME, "anthropic")
        .text(names::AGENT_NAME, &turn.agent)
        .maybe(names::AGENT_ID, turn.instance.as_ref())
        .flag(names::TURN_FOR_IDLERS, turn.for_idlers)
        .texts(names::TURN_TASKS, own.iter().copied());
    let mut links = client_links(calls.in_turn(span));
    links.extend(own.iter().map(|task| Link {
        trace_id: context.ids.trace(),
        span_id: context.task_span(task).bytes(),
        attributes: Attributes::default().text(names::LINK, "task").into_list(),
        flags: SAMPLED,
        ..Link::default()
    }));
    Span {
        parent_span_id: context.agent_span(&turn.agent).bytes(),
        name: format!("invoke_agent {}", turn.agent),
        attributes: attributes.into_list(),
        ..linked(context.span(span.id, span.times()), links)
    }
}

/// The tasks that each agent had in progress, each with begin and end.
type TasksOf<'a> = BTreeMap<&'a str, Vec<(&'a str, Timestamp, Timestamp)>>;

fn times_in_progress<'a>(export: &RunExport<'a>) -> TasksOf<'a> {
    let mut times: TasksOf<'a> = BTreeMap::new();
    for TaskHistory { id, changes, .. } in &export.report.tasks {
        let until = changes.iter().skip(1).map(|change| change.at).chain([export.end()]);
        for (change, until) in changes.iter().zip(until) {
            if let (Some(TaskStatus::InProgress), Some(owner)) = (&change.to, &change.owner) {
                times.entry(bare(owner)).or_default().push((id, change.at, until));
            }
        }
    }
    times
}

/// Links to spans of Claude Code, each once.
pub(super) fn client_links<'a>(spans: impl Iterator<Item = &'a ClientSpan>) -> Vec<Link> {
    let mut seen = HashSet::new();
    let new = spans.filter(|span| seen.insert(span.span.as_str()));
    let link = |ClientSpan { span, .. }: &ClientSpan| Link {
        trace_id: span.trace_id().to_be_bytes().to_vec(),
        span_id: span.parent_id().to_be_bytes().to_vec(),
        attributes: Attributes::default().text(names::LINK, "client").into_list(),
        flags: REMOTE | u32::from(span.flags()),
        ..Link::default()
    };
    new.map(link).collect()
}

/// The span with as many of the links as it can have.
pub(super) fn linked(span: Span, mut links: Vec<Link>) -> Span {
    let dropped = links.len().saturating_sub(MAX_LINKS);
    links.truncate(MAX_LINKS);
    Span { links, dropped_links_count: dropped.try_into().unwrap_or(u32::MAX), ..span }
}
