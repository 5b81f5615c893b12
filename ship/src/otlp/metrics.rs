//! The metrics of a run. All are cumulative from the start of the run, so that sending them again changes nothing.

use std::collections::BTreeMap;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Metric, NumberDataPoint, ResourceMetrics, ScopeMetrics, Sum,
};
use teamkeep::report::{IncidentKind, ModelUsage, Severity};
use teamkeep_core::client::json;
use teamkeep_core::client::team::Tokens;
use teamkeep_core::sys::clock::Timestamp;

use super::attributes::{Attributes, nanos, word};
use super::batch::batches;
use super::names::{self, Instrument, MetricName};
use super::run_context::{RunContext, bare};
use super::tasks::{STATUSES, status};
use super::traces::only_model;
use super::{Request, Resource, RunExport};

/// Maximum number of data points of a metric in a request.
const MAX_POINTS: usize = 250;

/// The value of a metric for one set of attributes.
type Point = (Attributes, Value);

/// The metrics of a run.
pub fn metrics(resource: &Resource<'_>, export: &RunExport<'_>) -> Vec<Request> {
    let context = RunContext::new(resource, export);
    let points = [
        (names::RUN_DURATION, duration(export)),
        (names::TASKS, tasks(export)),
        (names::MESSAGES, messages(export)),
        (names::VERDICTS, verdicts(export)),
        (names::INCIDENTS, incidents(export)),
        (names::TOKENS, tokens(export)),
        (names::COSTS, costs(export)),
    ];
    let metrics = points.into_iter().flat_map(|(name, points)| metric(&context, name, points)).collect();
    let request = |metrics| {
        let scope = Some(resource.scope());
        let scope_metrics = vec![ScopeMetrics { scope, metrics, ..ScopeMetrics::default() }];
        let resource = Some(resource.to_otlp());
        let resource_metrics =
            vec![ResourceMetrics { resource, scope_metrics, ..ResourceMetrics::default() }];
        Request::Metrics(ExportMetricsServiceRequest { resource_metrics })
    };
    batches(metrics).into_iter().map(request).collect()
}

/// A metric, in parts if it has many points.
fn metric(context: &RunContext<'_>, name: MetricName, points: Vec<Point>) -> Vec<Metric> {
    let times = (context.export.report.overview.started_at, context.export.end());
    let point = |(attributes, value): &Point| number(times, context.run_attributes().all(attributes), *value);
    let part = |points: &[Point]| {
        let data_points = points.iter().map(point).collect();
        let data = match name.instrument {
            Instrument::Gauge => Data::Gauge(Gauge { data_points }),
            Instrument::Counter | Instrument::UpDownCounter => Data::Sum(Sum {
                data_points,
                aggregation_temporality: AggregationTemporality::Cumulative.into(),
                is_monotonic: name.instrument == Instrument::Counter,
            }),
        };
        Metric {
            name: name.name.to_owned(),
            unit: name.unit.to_owned(),
            description: name.meaning.replace('`', ""),
            data: Some(data),
            ..Metric::default()
        }
    };
    points.chunks(MAX_POINTS).map(part).collect()
}

fn number((from, to): (Timestamp, Timestamp), attributes: Attributes, value: Value) -> NumberDataPoint {
    NumberDataPoint {
        attributes: attributes.into_list(),
        start_time_unix_nano: nanos(from),
        time_unix_nano: nanos(to),
        value: Some(value),
        ..NumberDataPoint::default()
    }
}

fn whole(count: impl TryInto<i64>) -> Value {
    Value::AsInt(count.try_into().unwrap_or(i64::MAX))
}

/// Counts items by key.
fn counts<K: Ord>(keys: impl Iterator<Item = K>) -> BTreeMap<K, u64> {
    let mut counts = BTreeMap::new();
    keys.for_each(|key| *counts.entry(key).or_default() += 1);
    counts
}

fn duration(export: &RunExport<'_>) -> Vec<Point> {
    let seconds = (export.end() - export.report.overview.started_at).num_milliseconds() as f64 / 1_000.0;
    vec![(Attributes::default(), Value::AsDouble(seconds))]
}

/// Also those with the count 0: an earlier revision may have had another one.
fn tasks(export: &RunExport<'_>) -> Vec<Point> {
    let counts = counts(export.report.tasks.iter().map(|task| status(&task.status)));
    let point = |status: &str| {
        let count = counts.get(status).copied().unwrap_or_default();
        (Attributes::default().text(names::TASK_STATUS, status), whole(count))
    };
    STATUSES.into_iter().map(point).collect()
}

fn messages(export: &RunExport<'_>) -> Vec<Point> {
    let counts = counts(export.report.mail.messages.iter().map(|message| {
        (bare(&message.from), word(&message.kind), message.automatic, message.refused.is_some())
    }));
    let point = |((from, kind, automatic, rejected), count)| {
        let attributes = Attributes::default()
            .text(names::AGENT_NAME, from)
            .text(names::MESSAGE_KIND, kind)
            .maybe_flag(names::MESSAGE_AUTOMATIC, Some(automatic))
            .maybe_flag(names::MESSAGE_REJECTED, Some(rejected));
        (attributes, whole(count))
    };
    counts.into_iter().map(point).collect()
}

fn verdicts(export: &RunExport<'_>) -> Vec<Point> {
    let keys = export
        .verdicts
        .iter()
        .map(|verdict| (verdict.agent.as_str(), verdict.gate.as_str(), verdict.decision));
    let point = |((agent, gate, decision), count)| {
        let attributes = Attributes::default()
            .text(names::AGENT_NAME, agent)
            .text(names::VERDICT_DECISION, json::serde_name(&decision))
            .text(names::VERDICT_GATE, gate);
        (attributes, whole(count))
    };
    counts(keys).into_iter().map(point).collect()
}

/// For a run that was sent before, also those with the count 0: its earlier revision may have had other incidents.
fn incidents(export: &RunExport<'_>) -> Vec<Point> {
    let mut counts =
        counts(export.report.incidents.iter().map(|incident| (incident.kind, incident.severity)));
    if export.previous.is_some() {
        for kind in IncidentKind::ALL {
            for severity in [Severity::High, Severity::Medium, Severity::Low] {
                counts.entry((*kind, severity)).or_default();
            }
        }
    }
    let point = |((kind, severity), count): ((IncidentKind, Severity), u64)| {
        let attributes = Attributes::default()
            .text(names::INCIDENT_KIND, kind.name())
            .text(names::INCIDENT_SEVERITY, severity.name());
        (attributes, whole(count))
    };
    counts.into_iter().map(point).collect()
}

fn by_agent(usage: &ModelUsage) -> Attributes {
    Attributes::default()
        .text(names::AGENT_NAME, &usage.agent)
        .maybe(names::RESPONSE_MODEL, only_model(usage))
}

/// The series that an agent had while all its messages were of one model, if they are of several now. A run that was sent before
/// sets them to 0: all of its tokens are in the series without a model.
fn earlier(export: &RunExport<'_>, usage: &ModelUsage) -> Vec<Attributes> {
    if export.previous.is_none() || only_model(usage).is_some() {
        return Vec::new();
    }
    let agent = || Attributes::default().text(names::AGENT_NAME, &usage.agent);
    usage.models.iter().map(|model| agent().text(names::RESPONSE_MODEL, model)).collect()
}

fn tokens(export: &RunExport<'_>) -> Vec<Point> {
    let points = |agent: &Attributes, tokens: Tokens| {
        let types = [
            ("input", tokens.input),
            ("output", tokens.output),
            ("cache_read", tokens.cache_read),
            ("cache_write", tokens.cache_write),
        ];
        types.map(|(name, count)| (agent.clone().text(names::TOKEN_TYPE, name), whole(count)))
    };
    let agents = export.report.spending.agents.iter();
    let series = agents.flat_map(|usage| {
        let zeros = earlier(export, usage).into_iter().map(|agent| (agent, Tokens::default()));
        zeros.chain([(by_agent(usage), usage.tokens)])
    });
    series.flat_map(|(agent, tokens)| points(&agent, tokens)).collect()
}

fn costs(export: &RunExport<'_>) -> Vec<Point> {
    let points = |usage: &ModelUsage| {
        let zeros = earlier(export, usage).into_iter().map(|agent| (agent, Value::AsDouble(0.0)));
        let cost = usage.cost.map(|cost| (by_agent(usage), Value::AsDouble(cost)));
        zeros.chain(cost).collect::<Vec<_>>()
    };
    export.report.spending.agents.iter().flat_map(points).collect()
}
