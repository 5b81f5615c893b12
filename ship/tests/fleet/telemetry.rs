//! The telemetry of a fleet: of each kind of item the natural keys, which are in the reports too.

use std::collections::{BTreeMap, HashMap};

use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use serde_json::{Value, json};

use super::expected::checksum;
use super::receiver::Request;
use super::sent::{attribute, records, spans};

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Telemetry(BTreeMap<&'static str, Vec<String>>);

impl Telemetry {
    pub fn key(&mut self, kind: &'static str, key: String) {
        self.0.entry(kind).or_default().push(key);
    }

    /// The number of keys of each kind and their checksum.
    pub fn into_value(self) -> Value {
        let keys = self.0.into_iter();
        keys.map(|(kind, keys)| (kind.to_owned(), json!({"count": keys.len(), "checksum": checksum(keys)})))
            .collect()
    }
}

/// The telemetry in the requests that a receiver got, and how many items it got, again or not.
#[derive(Debug, Default)]
pub struct Received {
    pub telemetry: Telemetry,
    pub items: usize,
    pub distinct: usize,
}

impl Received {
    /// Counts each id once. Fails if one came again with another content.
    pub fn of(requests: &[Request]) -> Received {
        let (mut received, mut seen) = (Received::default(), HashMap::new());
        for span in spans(requests) {
            let id = (span.trace_id.clone(), span.span_id.clone());
            if received.is_new(&mut seen, format!("{id:?}"), span.encode_to_vec()) {
                received.span(span);
            }
        }
        for record in records(requests) {
            let id = attribute(&record.attributes, "log.record.uid").unwrap();
            // The time of the shipment.
            let content = LogRecord { observed_time_unix_nano: 0, ..record.clone() };
            if received.is_new(&mut seen, id, content.encode_to_vec()) {
                received.record(record);
            }
        }
        received
    }

    fn is_new(&mut self, seen: &mut HashMap<String, Vec<u8>>, id: String, content: Vec<u8>) -> bool {
        self.items += 1;
        if let Some(known) = seen.get(&id) {
            assert!(*known == content, "{id} has two contents");
            return false;
        }
        seen.insert(id, content);
        self.distinct += 1;
        true
    }

    fn span(&mut self, span: &Span) {
        let text = |name| attribute(&span.attributes, name).unwrap_or_default();
        let (run, agent) = (text("teamkeep.run"), text("gen_ai.agent.name"));
        let (kind, key) = match span.name.split(' ').next().unwrap() {
            "invoke_workflow" => ("runs as spans", run),
            "invoke_agent" => {
                let start = span.start_time_unix_nano / 1_000_000;
                ("turns as spans", format!("{run}/{agent}/{start}"))
            }
            "task" => ("tasks as spans", format!("{run}/{}", text("teamkeep.task"))),
            _ => ("agents as spans", format!("{run}/{agent}")),
        };
        self.telemetry.key(kind, key);
    }

    fn record(&mut self, record: &LogRecord) {
        let text = |name: &str| attribute(&record.attributes, name).unwrap_or_default();
        let (run, at) = (text("teamkeep.run"), record.time_unix_nano / 1_000_000);
        let (kind, key) = match record.event_name.as_str() {
            "teamkeep.events" => ("events", text("teamkeep.id")),
            "teamkeep.runs" => ("runs", run),
            "teamkeep.agents" => ("agents", format!("{run}/{}", text("gen_ai.agent.name"))),
            "teamkeep.turns" => ("turns", format!("{run}/{}/{at}", text("gen_ai.agent.name"))),
            "teamkeep.tasks" => ("tasks", format!("{run}/{}", text("teamkeep.task"))),
            "teamkeep.messages" => ("messages", format!("{run}/{at}/{}", text("teamkeep.chars"))),
            "teamkeep.verdicts" => {
                ("verdicts", format!("{run}/{}/{}", text("teamkeep.event"), text("teamkeep.gate")))
            }
            "teamkeep.incidents" => ("incidents", format!("{run}/{}", text("teamkeep.incident"))),
            "teamkeep.usage" | "teamkeep.tools" | "teamkeep.hosts" => return,
            other => panic!("unknown event {other}"),
        };
        self.telemetry.key(kind, key);
    }
}
