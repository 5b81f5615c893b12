//! The trace of a run: a span for the run, each agent, each turn and each task.

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use teamkeep::report::{Agent, IncidentKind, ModelUsage, Outcome, Report, Severity};
use teamkeep_core::client::json;
use teamkeep_core::sys::clock::Timestamp;

use super::attributes::Attributes;
use super::batch::batches;
use super::run_context::RunContext;
use super::tasks::task_spans;
use super::turns::{client_links, linked, turn_spans};
use super::{ClientSpan, Request, Resource, RunExport, names};

/// The spans of a run that were not sent before. The span of the run itself is always among them.
pub fn traces(resource: &Resource<'_>, export: &RunExport<'_>) -> Vec<Request> {
    let context = RunContext::new(resource, export);
    let mut spans = vec![run_span(&context)];
    spans.extend(agent_spans(&context));
    spans.extend(turn_spans(&context));
    spans.extend(task_spans(&context));
    let request = |spans| {
        let scope = Some(resource.scope());
        let scope_spans = vec![ScopeSpans { scope, spans, ..ScopeSpans::default() }];
        let resource = Some(resource.to_otlp());
        let resource_spans = vec![ResourceSpans { resource, scope_spans, ..ResourceSpans::default() }];
        Request::Traces(ExportTraceServiceRequest { resource_spans })
    };
    batches(spans).into_iter().map(request).collect()
}

fn run_span(context: &RunContext<'_>) -> Span {
    let RunExport { run, report, .. } = context.export;
    let overview = &report.overview;
    let error = error_type(report);
    let (title, summary) =
        (context.export.text(&report.verdict.title), context.export.text(&report.verdict.sentence));
    let attributes = context
        .conversation_attributes()
        .text(names::SPAN_KIND, "CHAIN")
        .text(names::OPERATION_NAME, "invoke_workflow")
        .text(names::PROVIDER_NAME, "anthropic")
        .maybe(names::AGENT_NAME, overview.team.as_ref())
        .maybe(names::USER_ID, context.user)
        .maybe(names::ERROR_TYPE, error.clone())
        .count(names::RUN_REVISION, context.export.revision)
        .maybe(names::RUN_CONTINUES, run.continues.as_ref())
        .text(names::RUN_OUTCOME, json::serde_name(&report.verdict.kind))
        .maybe(names::RUN_ENDED_BY, overview.ended_by.as_ref())
        .text(names::RUN_TOPOLOGY, json::serde_name(&overview.topology))
        .count(names::RUN_MEMBERS, overview.count.members)
        .count(names::RUN_TASKS, overview.count.tasks)
        .count(names::RUN_TASKS_COMPLETED, overview.count.completed)
        .count(names::RUN_MESSAGES, overview.count.messages)
        .count(names::RUN_INCIDENTS, report.incidents.len())
        .texts(names::CLIENT_VERSIONS, &overview.client_versions)
        .maybe_double(names::COST, report.spending.cost)
        .maybe(names::RUN_TITLE, title)
        .maybe(names::RUN_SUMMARY, summary)
        .maybe(names::INPUT, title)
        .maybe(names::OUTPUT, summary);
    let status = error
        .map(|_| Status { code: StatusCode::Error.into(), message: summary.unwrap_or_default().to_owned() });
    let name = match &overview.team {
        Some(team) => format!("invoke_workflow {team}"),
        None => "invoke_workflow".to_owned(),
    };
    // A lead can begin before the run.
    let agents = report.agents.iter().filter_map(|agent| Some(agent_times(context, agent)?.0));
    let times = (agents.fold(overview.started_at, Timestamp::min), context.export.end());
    let span =
        Span { name, attributes: attributes.into_list(), status, ..context.span(context.run_span(), times) };
    linked(span, client_links(first_of_each_trace(context.export.links).into_iter()))
}

/// Why a run counts as failed: it crashed, or has an incident of high severity.
fn error_type(report: &Report) -> Option<String> {
    let worst = report.incidents.iter().find(|incident| incident.severity == Severity::High);
    match report.verdict.kind {
        Outcome::Crashed => Some("crashed".to_owned()),
        _ => worst.map(|incident| IncidentKind::name(incident.kind)),
    }
}

/// The first call in each trace of Claude Code. The turns have links to the others.
fn first_of_each_trace(links: &[ClientSpan]) -> Vec<&ClientSpan> {
    let mut first: Vec<&ClientSpan> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    first.extend(links.iter().filter(|link| seen.insert(link.span.trace_id())));
    first
}

fn agent_spans(context: &RunContext<'_>) -> Vec<Span> {
    context.export.report.agents.iter().filter_map(|agent| agent_span(context, agent)).collect()
}

/// The first and the last activity of an agent; `None` if none is known.
fn agent_times(context: &RunContext<'_>, agent: &Agent) -> Option<(Timestamp, Timestamp)> {
    let turns = context.turns.iter().filter(|turn| turn.agent() == agent.name).map(|turn| turn.times());
    let instances = agent.instances.iter().filter_map(|instance| Some((instance.first?, instance.last?)));
    let times = turns.chain(instances);
    times.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))
}

/// The span of an agent, from its first to its last activity; `None` if it was sent before and did nothing since.
fn agent_span(context: &RunContext<'_>, agent: &Agent) -> Option<Span> {
    let report = context.export.report;
    let run = || (report.overview.started_at, context.export.end());
    let (from, to) = agent_times(context, agent).unwrap_or_else(run);
    if !context.export.is_new(to) {
        return None;
    }
    let only_id = || match agent.instances.as_slice() {
        [instance] => Some(&instance.id),
        _ => None,
    };
    let member = report.overview.members.iter().find(|person| person.name == agent.name);
    let tool_uses: Option<usize> = agent.instances.iter().map(|instance| instance.tool_uses).sum();
    let usage = report.spending.agents.iter().find(|usage| usage.agent == agent.name);
    let attributes = context
        .conversation_attributes()
        .text(names::SPAN_KIND, agent_span_kind(usage))
        .text(names::PROVIDER_NAME, "anthropic")
        .text(names::AGENT_NAME, &agent.name)
        .maybe(names::AGENT_ID, only_id())
        .text(names::AGENT_KIND, json::serde_name(&agent.kind))
        .maybe(names::AGENT_TYPE, member.and_then(|member| member.agent_type.as_ref()))
        .maybe(names::REQUEST_MODEL, member.and_then(|member| member.model.as_ref()))
        .maybe_count(names::AGENT_TOOL_USES, tool_uses);
    Some(Span {
        parent_span_id: context.run_span().bytes(),
        name: format!("agent {}", agent.name),
        attributes: usage.map_or(attributes.clone(), |usage| with_usage(attributes, usage)).into_list(),
        ..context.span(context.agent_span(&agent.name), (from, to))
    })
}

/// The kind of an agent's span in OpenInference. Phoenix counts tokens and cost only on spans of the kind `LLM`.
fn agent_span_kind(usage: Option<&ModelUsage>) -> &'static str {
    match usage {
        Some(usage) if usage.messages > 0 => "LLM",
        _ => "AGENT",
    }
}

fn with_usage(attributes: Attributes, usage: &ModelUsage) -> Attributes {
    let tokens = usage.tokens;
    let input = tokens.input.saturating_add(tokens.cache_read).saturating_add(tokens.cache_write);
    attributes
        .maybe(names::RESPONSE_MODEL, only_model(usage))
        .maybe(names::MODEL_NAME, only_model(usage))
        .texts(names::AGENT_MODELS, &usage.models)
        .count(names::AGENT_REQUESTS, usage.messages)
        .count(names::INPUT_TOKENS, input)
        .count(names::OUTPUT_TOKENS, tokens.output)
        .count(names::CACHE_READ_TOKENS, tokens.cache_read)
        .count(names::CACHE_WRITE_TOKENS, tokens.cache_write)
        .count(names::CACHE_CREATION_TOKENS, tokens.cache_write)
        .maybe_double(names::COST, usage.cost)
}

/// The model of all the agent's messages.
pub(super) fn only_model(usage: &ModelUsage) -> Option<&str> {
    match usage.models.as_slice() {
        [model] => Some(model),
        _ => None,
    }
}
