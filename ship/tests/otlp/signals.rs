//! The spans, log records and metrics of a run.

use std::collections::{BTreeMap, HashSet};

use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use serde_json::Value;
use teamkeep_core::config::{OtlpEncoding, ShipPrivacy};
use teamkeep_ship::otlp::{Request, requests};

use super::recorded::Recorded;
use super::sample::{RESOURCE, Sample, at};
use super::sent::{attribute, metrics, points, records, spans};

fn sent() -> Vec<Request> {
    requests(&RESOURCE, &Sample::new().export(ShipPrivacy::Full, 60, None))
}

fn named<'a>(spans: &[&'a Span], name: &str) -> &'a Span {
    spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("no span {name}"))
}

#[test]
fn a_run_is_a_trace_of_agents_turns_and_tasks() {
    let sent = sent();
    let spans = spans(&sent);
    let tree = spans.iter().map(|span| {
        let parent = spans.iter().find(|parent| parent.span_id == span.parent_span_id);
        let seconds = |nanos: u64| nanos as i64 / 1_000_000_000 - at(0).millis() / 1_000;
        let times = (seconds(span.start_time_unix_nano), seconds(span.end_time_unix_nano));
        (span.name.as_str(), parent.map(|parent| parent.name.as_str()), times)
    });
    let tree: Vec<_> = tree.collect();
    assert_eq!(
        tree,
        [
            ("invoke_workflow parser", None, (0, 60)),
            ("agent team-lead", Some("invoke_workflow parser"), (0, 60)),
            // A turn without a recorded end ends with the run.
            ("agent alice", Some("invoke_workflow parser"), (10, 60)),
            ("invoke_agent team-lead", Some("agent team-lead"), (1, 5)),
            ("invoke_agent alice", Some("agent alice"), (10, 30)),
            ("invoke_agent alice", Some("agent alice"), (40, 60)),
            ("task 1", Some("invoke_workflow parser"), (2, 25)),
            ("task 2", Some("invoke_workflow parser"), (2, 60)),
        ]
    );
}

#[test]
fn usage_is_on_the_agent_and_counts_cached_tokens_as_input() {
    let sent = sent();
    let agent = named(&spans(&sent), "agent alice");
    let value = |name| attribute(&agent.attributes, name).unwrap();
    assert_eq!(value("gen_ai.usage.input_tokens"), "4301");
    assert_eq!(value("gen_ai.usage.output_tokens"), "20");
    assert_eq!(value("gen_ai.usage.cache_read.input_tokens"), "300");
    assert_eq!(value("gen_ai.usage.cache_write.input_tokens"), "4000");
    assert_eq!(value("gen_ai.usage.cache_creation.input_tokens"), "4000");
    assert_eq!(
        (value("gen_ai.request.model"), value("gen_ai.response.model")),
        ("opus".into(), "claude-opus-5-5".into())
    );
    let with_usage = spans(&sent)
        .iter()
        .filter(|span| attribute(&span.attributes, "gen_ai.usage.input_tokens").is_some())
        .count();
    // No token is counted twice if a receiver adds up all spans.
    assert_eq!(with_usage, 2);
}

#[test]
fn openinference_gets_the_kinds_of_spans_and_the_texts_of_a_run() {
    let mut sample = Sample::new();
    sample.report.spending.agents[1].messages = 0;
    let sent = requests(&RESOURCE, &sample.export(ShipPrivacy::Full, 60, None));
    let spans = spans(&sent);
    let value = |name, attribute_name| attribute(&named(&spans, name).attributes, attribute_name);
    let kinds = ["invoke_workflow parser", "agent alice", "agent team-lead", "invoke_agent alice", "task 1"]
        .map(|name| value(name, "openinference.span.kind").unwrap());
    // Tokens and cost are counted on spans of the kind LLM.
    assert_eq!(kinds, ["CHAIN", "LLM", "AGENT", "AGENT", "CHAIN"]);
    assert_eq!(value("agent alice", "llm.model_name").unwrap(), "claude-opus-5-5");
    assert_eq!(value("agent team-lead", "llm.model_name"), None, "several models");
    let run = |name| value("invoke_workflow parser", name);
    assert_eq!(run("input.value"), run("teamkeep.run.title"));
    assert_eq!(run("output.value"), run("teamkeep.run.summary"));
    assert_eq!(run("user.id").unwrap(), "u-1");
    assert_eq!(value("task 1", "input.value"), value("task 1", "teamkeep.task.subject"));
    assert!(run("input.value").is_some() && value("task 1", "input.value").is_some());
}

#[test]
fn a_crashed_run_is_an_error() {
    let sent = sent();
    let run = named(&spans(&sent), "invoke_workflow parser");
    assert_eq!(run.status.as_ref().unwrap().code(), StatusCode::Error);
    assert_eq!(attribute(&run.attributes, "error.type").unwrap(), "crashed");
    assert_eq!(attribute(&run.attributes, "gen_ai.conversation.id").unwrap(), "s-lead");
}

#[test]
fn turns_are_linked_to_claude_codes_spans_and_to_their_tasks() {
    let sent = sent();
    let spans = spans(&sent);
    let links = |span: &Span| {
        let link = |link: &opentelemetry_proto::tonic::trace::v1::span::Link| {
            (attribute(&link.attributes, "teamkeep.link").unwrap(), link.trace_id[0], link.span_id.clone())
        };
        span.links.iter().map(link).collect::<Vec<_>>()
    };
    let run = named(&spans, "invoke_workflow parser");
    let client = |trace, span| ("client".to_owned(), trace, vec![span; 8]);
    assert_eq!(links(run), [client(0xaa, 0x11), client(0xbb, 0x33)]);
    let task = ("task".to_owned(), run.trace_id[0], named(&spans, "task 1").span_id.clone());
    let turns: Vec<&&Span> = spans.iter().filter(|span| span.name == "invoke_agent alice").collect();
    assert_eq!(links(turns[0]), [client(0xaa, 0x11), client(0xaa, 0x22), task]);
    assert_eq!(links(turns[1]), [client(0xbb, 0x44)]);
}

#[test]
fn records_belong_to_the_turn_in_which_they_happened() {
    let sent = sent();
    let spans = spans(&sent);
    let of = |id: &[u8]| spans.iter().find(|span| span.span_id == id).map(|span| span.name.as_str());
    let records: Vec<_> = records(&sent)
        .iter()
        .map(|record| {
            (record.event_name.as_str(), record.severity_text.as_str(), of(&record.span_id).unwrap())
        })
        .collect();
    assert_eq!(
        records,
        [
            ("teamkeep.message", "INFO", "invoke_agent team-lead"),
            ("teamkeep.message", "WARN", "invoke_agent alice"),
            ("teamkeep.verdict", "WARN", "invoke_agent alice"),
            ("teamkeep.incident", "ERROR", "invoke_agent alice"),
            ("teamkeep.verdict", "DEBUG", "invoke_agent alice"),
        ]
    );
}

#[test]
fn metrics_count_tasks_messages_verdicts_tokens_and_money() {
    let sent = sent();
    let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for metric in metrics(&sent) {
        for point in points(metric) {
            let value = match point.value.unwrap() {
                Number::AsInt(number) => number.to_string(),
                Number::AsDouble(number) => number.to_string(),
            };
            assert_eq!(attribute(&point.attributes, "teamkeep.run.id").unwrap(), "run-1");
            values.entry(metric.name.clone()).or_default().push(value);
        }
    }
    let expected = [
        ("teamkeep.cost", "0.5"),
        ("teamkeep.incidents", "1"),
        ("teamkeep.messages", "1 1"),
        ("teamkeep.run.duration", "60"),
        ("teamkeep.tasks", "0 0 1 0 1"),
        ("teamkeep.tokens", "1 20 300 4000 2 20 300 4000"),
        ("teamkeep.verdicts", "1 1"),
    ];
    let values: Vec<_> = values.iter().map(|(name, values)| (name.as_str(), values.join(" "))).collect();
    assert_eq!(values, expected.map(|(name, values)| (name, values.to_owned())));
}

#[test]
fn json_has_hexadecimal_ids_and_large_numbers_as_texts() {
    let sent = sent();
    for request in &sent {
        let json: Value = serde_json::from_slice(&request.encode(OtlpEncoding::Json).unwrap()).unwrap();
        let pointer = match request {
            Request::Traces(_) => {
                let span = json.pointer("/resourceSpans/0/scopeSpans/0/spans/0").unwrap();
                assert_eq!(span["traceId"].as_str().unwrap().len(), 32);
                assert_eq!(span["spanId"].as_str().unwrap().len(), 16);
                assert_eq!(span["startTimeUnixNano"], "1770091506000000000");
                continue;
            }
            Request::Logs(_) => "/resourceLogs/0/scopeLogs/0/logRecords/0/timeUnixNano",
            Request::Metrics(_) => "/resourceMetrics/0/scopeMetrics/0/metrics/1/sum/dataPoints/0/asInt",
        };
        assert!(json.pointer(pointer).unwrap().is_string(), "{pointer}");
    }
}

#[test]
fn recorded_runs_have_unique_ids_and_known_parents() {
    for name in ["v47-inprocess", "v177-inprocess", "v328-inprocess", "v328-panes", "v328-headless"] {
        let recorded = Recorded::trace(name);
        let sent = requests(&RESOURCE, &recorded.export(ShipPrivacy::Full));
        let spans = spans(&sent);
        let ids: HashSet<&[u8]> = spans.iter().map(|span| span.span_id.as_slice()).collect();
        assert_eq!(ids.len(), spans.len(), "{name}");
        for span in &spans {
            assert!(
                span.parent_span_id.is_empty() || ids.contains(span.parent_span_id.as_slice()),
                "{name}: {}",
                span.name
            );
            assert!(span.start_time_unix_nano <= span.end_time_unix_nano, "{name}: {}", span.name);
        }
        let records = records(&sent);
        let own: HashSet<_> =
            records.iter().map(|record| attribute(&record.attributes, "teamkeep.id")).collect();
        assert_eq!(own.len(), records.len(), "{name}");
        assert!(records.iter().all(|record| ids.contains(record.span_id.as_slice())), "{name}");
        // The same run again, from the same data.
        assert_eq!(sent, requests(&RESOURCE, &recorded.export(ShipPrivacy::Full)), "{name}");
    }
}

#[test]
fn no_span_of_a_recorded_run_begins_before_its_parent() {
    for trace in ["v328-inprocess", "v328-panes", "v328-gc", "v47-inprocess", "v177-inprocess"] {
        let recorded = Recorded::trace(trace);
        let sent = requests(&RESOURCE, &recorded.export(ShipPrivacy::Metadata));
        let (all, mut children) = (spans(&sent), 0);
        for span in &all {
            let Some(parent) = all.iter().find(|other| other.span_id == span.parent_span_id) else {
                continue;
            };
            children += 1;
            let (from, begin) = (parent.start_time_unix_nano, span.start_time_unix_nano);
            assert!(from <= begin, "{trace}: {} begins before {}", span.name, parent.name);
        }
        assert!(children > 3, "{trace}: {children}");
    }
}
