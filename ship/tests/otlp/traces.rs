//! The trace of a run: spans for the run, its agents, their turns and the tasks.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use serde_json::Value;
use teamkeep_model::time;

use super::machine;
use super::receiver::{Receiver, Request};
use super::sent::{attribute, attributes, spans};
use crate::support::{Machine, TRACES};

const TRACES_ONLY: &str = "otlp-signals = \"traces\"";

/// The requests of a machine with all recorded runs.
fn sent() -> (Machine, Vec<Request>) {
    let receiver = Receiver::start();
    let machine = machine(&TRACES, &receiver, TRACES_ONLY);
    machine.change_logs_with_spans();
    machine.ship_all();
    (machine, receiver.requests())
}

fn nanos(time: &Value) -> u64 {
    u64::try_from(time::parse(time.as_str().unwrap()).unwrap().millis()).unwrap() * 1_000_000
}

fn text(row: &Value, column: &str) -> String {
    row[column].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_run_is_a_trace_of_its_agents_turns_and_tasks() {
    let (machine, requests) = sent();
    let spans = spans(&requests);
    let names: HashMap<&[u8], &str> =
        spans.iter().map(|span| (span.span_id.as_slice(), span.name.as_str())).collect();
    assert_eq!(names.len(), spans.len(), "IDs are unique");
    let traces: BTreeSet<&[u8]> = spans.iter().map(|span| span.trace_id.as_slice()).collect();
    let runs = machine.rows("runs");
    assert_eq!(traces.len(), runs.len());
    let mut found: Vec<_> = spans
        .iter()
        .map(|span| {
            let parent = names.get(span.parent_span_id.as_slice()).copied().unwrap_or_default();
            assert_eq!(parent.is_empty(), span.parent_span_id.is_empty(), "{} has no parent", span.name);
            let run = attribute(&span.attributes, "teamkeep.run").unwrap();
            (run, span.name.clone(), parent.to_owned(), span.start_time_unix_nano, span.end_time_unix_nano)
        })
        .collect();
    let mut expected = Vec::new();
    for run in &runs {
        let of_run = |table: &str| -> Vec<Value> {
            machine.rows(table).into_iter().filter(|row| row["run"] == run["run"]).collect()
        };
        let (id, end, turns) = (text(run, "run"), nanos(&run["ended_at"]), of_run("turns"));
        let name = format!("invoke_workflow {}", text(run, "team")).trim_end().to_owned();
        let starts = turns.iter().chain([run]).map(|row| nanos(&row["time"]));
        let start = starts.min().unwrap();
        expected.push((id.clone(), name.clone(), String::new(), start, end));
        for row in of_run("agents") {
            let own: Vec<&Value> = turns.iter().filter(|turn| turn["agent"] == row["agent"]).collect();
            let from = own.iter().map(|turn| nanos(&turn["time"])).min().unwrap_or(nanos(&run["time"]));
            let to = own.iter().map(|turn| nanos(&turn["ended_at"])).max().unwrap_or(end);
            expected.push((id.clone(), format!("agent {}", text(&row, "agent")), name.clone(), from, to));
        }
        for row in &turns {
            let agent = text(row, "agent");
            let (from, to) = (nanos(&row["time"]), nanos(&row["ended_at"]));
            expected.push((id.clone(), format!("invoke_agent {agent}"), format!("agent {agent}"), from, to));
        }
        for row in of_run("tasks") {
            let to = match row["status"].as_str().unwrap() {
                "completed" | "deleted" => nanos(&row["changed_at"]),
                _ => row.get("removed_at").map_or(end, nanos),
            };
            expected.push((
                id.clone(),
                format!("task {}", text(&row, "task")),
                name.clone(),
                nanos(&row["time"]),
                to,
            ));
        }
    }
    found.sort();
    expected.sort();
    assert_eq!(found.len(), expected.len());
    found.iter().zip(&expected).for_each(|(found, expected)| assert_eq!(found, expected));
}

#[test]
fn no_span_begins_before_its_parent_or_ends_before_it_begins() {
    let (_, requests) = sent();
    let spans = spans(&requests);
    for span in &spans {
        assert!(span.start_time_unix_nano <= span.end_time_unix_nano && span.start_time_unix_nano > 0);
        if let Some(parent) = spans.iter().find(|other| other.span_id == span.parent_span_id) {
            let (from, begin) = (parent.start_time_unix_nano, span.start_time_unix_nano);
            assert!(from <= begin, "{} begins before {}", span.name, parent.name);
        }
    }
}

#[test]
fn tokens_are_only_on_agents_and_count_cached_ones_as_input() {
    let (machine, requests) = sent();
    let columns = ["input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"];
    let mut expected = columns
        .map(|column| machine.rows("usage").iter().map(|row| row[column].as_i64().unwrap()).sum::<i64>());
    expected[0] += expected[2] + expected[3];
    let names = ["input_tokens", "output_tokens", "cache_read.input_tokens", "cache_creation.input_tokens"];
    let found = names.map(|name| {
        let of = |span: &&Span| attribute(&span.attributes, &format!("gen_ai.usage.{name}"));
        spans(&requests).iter().filter_map(of).map(|number| number.parse::<i64>().unwrap()).sum::<i64>()
    });
    assert!(expected[0] > 0);
    assert_eq!(found, expected);
    for span in spans(&requests) {
        let all = attributes(&span.attributes);
        let is_agent = span.name.starts_with("agent ");
        assert!(is_agent || !all.contains_key("gen_ai.usage.input_tokens"), "{}", span.name);
        let kind = match span.name.split(' ').next().unwrap() {
            "agent" if all.get("gen_ai.usage.input_tokens").is_some() => "LLM",
            "agent" | "invoke_agent" => "AGENT",
            _ => "CHAIN",
        };
        assert_eq!(all["openinference.span.kind"], kind, "{}", span.name);
        assert!(all.contains_key("gen_ai.conversation.id"), "{}", span.name);
    }
}

#[test]
fn a_run_that_crashed_or_lost_work_is_an_error() {
    let (machine, requests) = sent();
    let runs: BTreeMap<String, Value> =
        machine.rows("runs").into_iter().map(|run| (text(&run, "run"), run)).collect();
    let incidents = machine.rows("incidents");
    let mut errors = 0;
    for span in spans(&requests).iter().filter(|span| span.parent_span_id.is_empty()) {
        let run = &runs[&attribute(&span.attributes, "teamkeep.run").unwrap()];
        let high = incidents.iter().find(|row| row["run"] == run["run"] && row["severity"] == "high");
        let expected = match run["outcome"].as_str().unwrap() {
            "crashed" => Some("crashed".to_owned()),
            _ => high.map(|row| text(row, "kind")),
        };
        let is_error = span.status.as_ref().is_some_and(|status| status.code() == StatusCode::Error);
        assert_eq!((is_error, attribute(&span.attributes, "error.type")), (expected.is_some(), expected));
        errors += usize::from(is_error);
    }
    assert!(errors > 0 && errors < runs.len(), "{errors}");
}

#[test]
fn turns_are_linked_to_claude_codes_spans_and_to_the_spans_of_their_tasks() {
    let (machine, requests) = sent();
    let spans = spans(&requests);
    let turns = machine.rows("turns");
    let (mut client, mut tasks) = (0, 0);
    for span in spans.iter().filter(|span| span.name.starts_with("invoke_agent ")) {
        let run = attribute(&span.attributes, "teamkeep.run").unwrap();
        let agent = attribute(&span.attributes, "gen_ai.agent.name").unwrap();
        let row = turns.iter().find(|row| {
            row["run"] == *run && row["agent"] == *agent && nanos(&row["time"]) == span.start_time_unix_nano
        });
        let row = row.unwrap();
        let list = |column: &str| row[column].as_array().unwrap().clone();
        assert_eq!(span.links.len(), list("client_spans").len() + list("task_ids").len(), "{row}");
        for link in &span.links {
            let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
            if attribute(&link.attributes, "teamkeep.link").unwrap() == "client" {
                let parent = format!("00-{}-{}-01", hex(&link.trace_id), hex(&link.span_id));
                assert!(list("client_spans").contains(&parent.into()), "{row}");
                client += 1;
            } else {
                let task = spans.iter().find(|task| task.span_id == link.span_id).unwrap();
                assert!(list("task_ids").contains(&task.name["task ".len()..].into()), "{row}");
                assert_eq!(link.trace_id, task.trace_id);
                tasks += 1;
            }
        }
    }
    assert!(client > 10 && tasks > 3, "{client} {tasks}");
}

#[test]
fn the_same_rows_have_the_same_spans() {
    let (machine, first) = sent();
    let receiver = Receiver::start();
    machine.configure_lake(&format!("{TRACES_ONLY}\notlp = \"{}\"", receiver.base));
    machine.ship_all();
    assert_eq!(spans(&receiver.requests()), spans(&first));
}
