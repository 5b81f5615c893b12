//! The telemetry of a fleet: of each kind of item the natural keys, which are in the reports too, and the sums of the metrics.

use std::collections::{BTreeMap, HashMap};

use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use opentelemetry_proto::tonic::metrics::v1::{AggregationTemporality, Metric, NumberDataPoint};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use serde_json::{Value, json};
use teamkeep_ship::otlp::{Request, names};

use super::expected::checksum;
use super::sent::{attribute, metrics, points, records, spans};

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Telemetry {
    keys: BTreeMap<&'static str, Vec<String>>,
    sums: BTreeMap<&'static str, i64>,
}

impl Telemetry {
    pub fn key(&mut self, kind: &'static str, key: String) {
        self.keys.entry(kind).or_default().push(key);
    }

    pub fn add(&mut self, metric: &'static str, number: i64) {
        *self.sums.entry(metric).or_default() += number;
    }

    /// The number of keys of each kind and their checksum, and the sums.
    pub fn into_value(self) -> Value {
        let keys = self
            .keys
            .into_iter()
            .map(|(kind, keys)| (kind.to_owned(), json!({"count": keys.len(), "checksum": checksum(keys)})));
        let sums = self.sums.into_iter().map(|(metric, sum)| (metric.to_owned(), json!(sum)));
        keys.chain(sums).collect()
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
    /// Counts each id, and each data point of a series, once. Fails if one came again with another content.
    pub fn of(requests: &[Request]) -> Received {
        let (mut received, mut seen) = (Received::default(), HashMap::new());
        for span in spans(requests) {
            let id = (span.trace_id.clone(), span.span_id.clone());
            if received.is_new(&mut seen, format!("{id:?}"), span.encode_to_vec()) {
                received.span(span);
            }
        }
        for record in records(requests) {
            let id = attribute(&record.attributes, names::ID).unwrap();
            if received.is_new(&mut seen, id, record.encode_to_vec()) {
                received.record(record);
            }
        }
        for metric in metrics(requests) {
            assert_cumulative(metric);
            for point in points(metric) {
                let mut series: Vec<String> =
                    point.attributes.iter().map(|one| format!("{:?}", (&one.key, &one.value))).collect();
                series.sort();
                // A run has one revision here, so that each series has one point.
                let id = format!("{} {series:?} {}", metric.name, point.start_time_unix_nano);
                if received.is_new(&mut seen, id, point.encode_to_vec()) {
                    received.point(metric, point);
                }
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
        let text = |name| attribute(&span.attributes, name);
        let run = text(names::RUN_ID).unwrap();
        let agent = text(names::AGENT_NAME).unwrap_or_default();
        match text(names::OPERATION_NAME).as_deref() {
            Some("invoke_workflow") => self.telemetry.key("runs", run),
            Some("invoke_agent") => {
                let start = span.start_time_unix_nano / 1_000_000;
                self.telemetry.key("turns", format!("{run}/{agent}/{start}"));
            }
            _ => match text(names::TASK_ID) {
                Some(task) => self.telemetry.key("tasks", format!("{run}/{task}")),
                None => self.telemetry.key("agents", format!("{run}/{agent}")),
            },
        }
    }

    fn record(&mut self, record: &LogRecord) {
        let text = |name| attribute(&record.attributes, name).unwrap();
        let run = text(names::RUN_ID);
        match record.event_name.as_str() {
            names::MESSAGE => {
                let at = record.time_unix_nano / 1_000_000;
                self.telemetry.key("messages", format!("{run}/{at}/{}", text(names::MESSAGE_CHARS)));
            }
            names::VERDICT => {
                let (event, gate) = (text(names::VERDICT_EVENT), text(names::VERDICT_GATE));
                self.telemetry.key("verdicts", format!("{run}/{event}/{gate}"));
            }
            names::INCIDENT => {
                self.telemetry.key("incidents", format!("{run}/{}", text(names::INCIDENT_ID)));
            }
            other => panic!("unknown event {other}"),
        }
    }

    fn point(&mut self, metric: &Metric, point: &NumberDataPoint) {
        let known = names::METRICS.iter().find(|known| known.name == metric.name).unwrap();
        if let Some(Number::AsInt(number)) = point.value {
            self.telemetry.add(known.name, number);
        }
    }
}

/// A receiver replaces a point of a cumulative sum by the same one. It would add those of another sum.
fn assert_cumulative(metric: &Metric) {
    if let Some(Data::Sum(sum)) = &metric.data {
        assert_eq!(sum.aggregation_temporality(), AggregationTemporality::Cumulative, "{}", metric.name);
    }
}
