//! The rows of a run as its trace: a span for the run, each agent, each turn and each task.

use std::collections::BTreeMap;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
pub use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::{Link, SpanKind};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Status};
use prost::Message;
use serde_json::Value;
use teamkeep_model::TraceParent;

use super::Row;
use super::records::{Resource, integer, nanos, of_row, scope, span_id, text, trace_id};
use crate::setup::Identity;

/// Flags of a span: sampled, and its parent is of the same process.
const SAMPLED: u32 = 0x101;
/// Flags of a link: whether its span is of another process is known, and it is.
const REMOTE: u32 = 0x300;
/// Maximum number of links of a span, as in OpenTelemetry's SDKs.
const MAX_LINKS: usize = 128;

pub fn request(spans: Vec<Span>, resource: &Resource) -> Vec<u8> {
    let scope_spans = vec![ScopeSpans { scope: Some(scope()), spans, ..ScopeSpans::default() }];
    let resource = Some(resource.clone());
    let resource_spans = vec![ResourceSpans { resource, scope_spans, ..ResourceSpans::default() }];
    ExportTraceServiceRequest { resource_spans }.encode_to_vec()
}

/// The rows of a run so far. Its row in `runs` is the last one.
#[derive(Default)]
pub struct RunRows {
    tables: BTreeMap<String, Vec<Row>>,
}

/// The values that the spans of a run have in common.
struct Run<'a> {
    row: &'a Row,
    tables: &'a BTreeMap<String, Vec<Row>>,
    trace: Vec<u8>,
    id: &'a str,
    end: u64,
}

fn column<'a>(row: &'a Row, name: &str) -> &'a str {
    row.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn number(row: &Row, name: &str) -> i64 {
    row.get(name).and_then(Value::as_i64).unwrap_or_default()
}

impl RunRows {
    /// Takes the next row, and returns the spans of a run that is complete with it.
    pub fn add(&mut self, row: Row, identity: &Identity) -> Vec<Span> {
        match column(&row, "table") {
            "runs" => {}
            "agents" | "turns" | "tasks" | "usage" | "incidents" => {
                self.tables.entry(column(&row, "table").to_owned()).or_default().push(row);
                return Vec::new();
            }
            _ => return Vec::new(),
        }
        let tables = std::mem::take(&mut self.tables);
        let id = column(&row, "run");
        let (trace, end) = (trace_id(&identity.organization, id), nanos(row.get("ended_at")));
        let run = Run { row: &row, tables: &tables, trace, id, end };
        let mut spans = vec![run.span()];
        spans.extend(run.rows("agents").map(|row| run.agent(row)));
        spans.extend(run.rows("turns").map(|row| run.turn(row)));
        spans.extend(run.rows("tasks").map(|row| run.task(row)));
        spans
    }
}

impl Run<'_> {
    fn rows(&self, table: &str) -> impl Iterator<Item = &Row> {
        self.tables.get(table).into_iter().flatten()
    }

    fn span_id(&self, table: &str, key: &[&str]) -> Vec<u8> {
        span_id(self.id, table, key)
    }

    /// A span without a parent, name and links, with the columns of a row.
    fn new_span(&self, row: &Row, kind: &str, (from, to): (u64, u64)) -> Span {
        let mut attributes = of_row(row);
        attributes.push(text("openinference.span.kind", kind));
        attributes.push(text("gen_ai.provider.name", "anthropic"));
        if column(row, "session").is_empty() {
            attributes.push(text("gen_ai.conversation.id", column(self.row, "session")));
        }
        Span {
            trace_id: self.trace.clone(),
            flags: SAMPLED,
            kind: SpanKind::Internal.into(),
            start_time_unix_nano: from,
            end_time_unix_nano: to.max(from),
            attributes,
            ..Span::default()
        }
    }

    fn span(&self) -> Span {
        let worst = self.rows("incidents").find(|row| column(row, "severity") == "high");
        let failure = match column(self.row, "outcome") {
            "crashed" => Some("crashed"),
            _ => worst.map(|row| column(row, "kind")),
        };
        let begin =
            self.rows("turns").map(|row| nanos(row.get("time"))).fold(nanos(self.row.get("time")), u64::min);
        let mut span = self.new_span(self.row, "CHAIN", (begin, self.end));
        span.span_id = self.span_id("runs", &[]);
        span.name = format!("invoke_workflow {}", column(self.row, "team")).trim_end().to_owned();
        span.attributes.push(text("gen_ai.operation.name", "invoke_workflow"));
        span.attributes.extend(failure.map(|failure| text("error.type", failure)));
        span.status = failure.map(|_| Status { code: StatusCode::Error.into(), ..Status::default() });
        span
    }

    /// The span of an agent, from its first to its last activity; that of the run if none is known.
    fn agent(&self, row: &Row) -> Span {
        let name = column(row, "agent");
        let turns = self.rows("turns").filter(|turn| column(turn, "agent") == name);
        let times = turns.map(|turn| (nanos(turn.get("time")), nanos(turn.get("ended_at"))));
        let times = times.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)));
        let times = times.unwrap_or((nanos(self.row.get("time")), self.end));
        let usage = self.rows("usage").find(|usage| column(usage, "agent") == name);
        let is_model = usage.is_some_and(|usage| number(usage, "model_messages") > 0);
        let mut span = self.new_span(row, if is_model { "LLM" } else { "AGENT" }, times);
        span.span_id = self.span_id("agents", &[name]);
        span.parent_span_id = self.span_id("runs", &[]);
        span.name = format!("agent {name}");
        span.attributes.extend(usage.into_iter().flat_map(usage_attributes));
        span
    }

    fn turn(&self, row: &Row) -> Span {
        let name = column(row, "agent");
        let mut span = self.new_span(row, "AGENT", (nanos(row.get("time")), nanos(row.get("ended_at"))));
        span.span_id = self.span_id("turns", &[name, column(row, "agent_id"), column(row, "time")]);
        span.parent_span_id = self.span_id("agents", &[name]);
        span.name = format!("invoke_agent {name}");
        span.attributes.push(text("gen_ai.operation.name", "invoke_agent"));
        let texts = |name: &str| row.get(name).and_then(Value::as_array).into_iter().flatten();
        let client = texts("client_spans").filter_map(|text| TraceParent::parse(text.as_str()?));
        span.links.extend(client.map(|client| Link {
            trace_id: client.trace_id().to_be_bytes().to_vec(),
            span_id: client.parent_id().to_be_bytes().to_vec(),
            attributes: vec![text("teamkeep.link", "client")],
            flags: REMOTE | u32::from(client.flags()),
            ..Link::default()
        }));
        span.links.extend(texts("task_ids").filter_map(Value::as_str).map(|task| Link {
            trace_id: self.trace.clone(),
            span_id: self.span_id("tasks", &[task]),
            attributes: vec![text("teamkeep.link", "task")],
            flags: SAMPLED,
            ..Link::default()
        }));
        let dropped = span.links.len().saturating_sub(MAX_LINKS);
        span.links.truncate(MAX_LINKS);
        Span { dropped_links_count: dropped.try_into().unwrap_or(u32::MAX), ..span }
    }

    /// The span of a task; it lasts to the end of the run if it was neither completed nor removed.
    fn task(&self, row: &Row) -> Span {
        let id = column(row, "task");
        let to = match (column(row, "status"), row.get("removed_at")) {
            ("completed" | "deleted", _) => nanos(row.get("changed_at")),
            (_, Some(removed)) => nanos(Some(removed)),
            _ => self.end,
        };
        // No change of it was recorded.
        let from = row.get("time").or(self.row.get("time"));
        let mut span = self.new_span(row, "CHAIN", (nanos(from), to));
        span.span_id = self.span_id("tasks", &[id]);
        span.parent_span_id = self.span_id("runs", &[]);
        span.name = format!("task {id}");
        span
    }
}

/// The tokens of an agent. Receivers add up the spans, so no other span has them.
fn usage_attributes(row: &Row) -> Vec<KeyValue> {
    let [input, output, read, write] =
        ["input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"]
            .map(|name| number(row, name));
    let mut usage = vec![
        integer("gen_ai.usage.input_tokens", input.saturating_add(read).saturating_add(write)),
        integer("gen_ai.usage.output_tokens", output),
        integer("gen_ai.usage.cache_read.input_tokens", read),
        integer("gen_ai.usage.cache_creation.input_tokens", write),
    ];
    if let Some([Value::String(model)]) = row.get("models").and_then(Value::as_array).map(Vec::as_slice) {
        usage.push(text("gen_ai.response.model", model));
        usage.push(text("llm.model_name", model));
    }
    usage.extend(of_row(row).into_iter().filter(|attribute| attribute.key == "teamkeep.cost_usd"));
    usage
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::privacy::Pseudonyms;

    #[test]
    fn a_task_without_a_recorded_change_lasts_as_long_as_the_run() {
        let identity = Identity::new("acme", "h", "0123456789abcdef".to_owned(), None, Pseudonyms::none());
        let row = |row: Value| row.as_object().unwrap().clone();
        let mut rows = RunRows::default();
        let task = json!({"table": "tasks", "run": "r", "task": "1", "status": "pending"});
        assert!(rows.add(row(task), &identity).is_empty());
        let run = json!({"table": "runs", "run": "r", "time": "2026-02-03T04:05:06.000Z", "ended_at": "2026-02-03T04:05:07.000Z"});
        let times = rows
            .add(row(run), &identity)
            .into_iter()
            .map(|span| (span.start_time_unix_nano, span.end_time_unix_nano));
        let second = 1_000_000_000;
        assert_eq!(times.collect::<Vec<_>>(), [(1_770_091_506 * second, 1_770_091_507 * second); 2]);
    }
}
