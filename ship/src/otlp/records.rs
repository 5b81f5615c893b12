//! Rows as log records.

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
pub use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::logs::v1::{ResourceLogs, ScopeLogs, SeverityNumber};
use prost::Message;
use serde_json::Value;

use super::{Row, attributes, ids};
use crate::setup::Identity;

/// The columns with the text of a row, of which the first is the body.
const BODIES: [&str; 4] = ["text", "reason", "payload", "summary"];

pub fn request(log_records: Vec<LogRecord>, resource: &attributes::Resource) -> Vec<u8> {
    let scope_logs =
        vec![ScopeLogs { scope: Some(attributes::scope()), log_records, ..ScopeLogs::default() }];
    let resource = Some(resource.clone());
    let resource_logs = vec![ResourceLogs { resource, scope_logs, ..ResourceLogs::default() }];
    ExportLogsServiceRequest { resource_logs }.encode_to_vec()
}

pub fn record(row: &Row, identity: &Identity) -> LogRecord {
    let column = |name: &str| row.get(name).and_then(Value::as_str);
    let mut rest = row.clone();
    // A row that is sent again has another time of the shipment.
    rest.shift_remove("shipped_at");
    let id = ids::record(&identity.organization, &Value::Object(rest.clone()).to_string());
    let body = BODIES.iter().find_map(|name| Some((*name, column(name)?)));
    if let Some((name, _)) = body {
        rest.shift_remove(name);
    }
    let severity = match (column("severity"), column("decision")) {
        (Some("high"), _) => SeverityNumber::Error,
        (Some("medium"), _) | (_, Some("block")) => SeverityNumber::Warn,
        _ => SeverityNumber::Info,
    };
    let mut list = vec![attributes::text("log.record.uid", &id)];
    list.extend(attributes::of_row(&rest));
    LogRecord {
        time_unix_nano: attributes::nanos(row.get("time")),
        observed_time_unix_nano: attributes::nanos(row.get("shipped_at")),
        severity_number: severity.into(),
        severity_text: severity.as_str_name().trim_start_matches("SEVERITY_NUMBER_").to_owned(),
        body: body.map(|(_, text)| attributes::body(text)),
        attributes: list,
        trace_id: column("run").map(|run| ids::trace(&identity.organization, run)).unwrap_or_default(),
        event_name: format!("teamkeep.{}", column("table").unwrap_or_default()),
        ..LogRecord::default()
    }
}
