//! Rows as log records; and what spans have in common with these: the attributes, and the IDs.

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::logs::v1::{ResourceLogs, ScopeLogs, SeverityNumber};
use prost::Message;
use serde_json::Value;

use super::Row;
use crate::setup::Identity;
use teamkeep_model::time;

pub use opentelemetry_proto::tonic::logs::v1::LogRecord;
pub use opentelemetry_proto::tonic::resource::v1::Resource;

/// The columns with the text of a row, of which the first is the body.
const BODIES: [&str; 4] = ["text", "reason", "payload", "summary"];

pub fn request(log_records: Vec<LogRecord>, resource: &Resource) -> Vec<u8> {
    let scope_logs = vec![ScopeLogs { scope: Some(scope()), log_records, ..ScopeLogs::default() }];
    let resource = Some(resource.clone());
    let resource_logs = vec![ResourceLogs { resource, scope_logs, ..ResourceLogs::default() }];
    ExportLogsServiceRequest { resource_logs }.encode_to_vec()
}

pub fn record(row: &Row, identity: &Identity) -> LogRecord {
    let column = |name: &str| row.get(name).and_then(Value::as_str);
    let mut rest = row.clone();
    // A row that is sent again has another time of the shipment.
    rest.shift_remove("shipped_at");
    let id = record_id(&identity.organization, &Value::Object(rest.clone()).to_string());
    let body = BODIES.iter().find_map(|name| Some((*name, column(name)?)));
    if let Some((name, _)) = body {
        rest.shift_remove(name);
    }
    let severity = match (column("severity"), column("decision")) {
        (Some("high"), _) => SeverityNumber::Error,
        (Some("medium"), _) | (_, Some("block")) => SeverityNumber::Warn,
        _ => SeverityNumber::Info,
    };
    let mut list = vec![text("log.record.uid", &id)];
    list.extend(of_row(&rest));
    LogRecord {
        time_unix_nano: nanos(row.get("time")),
        observed_time_unix_nano: nanos(row.get("shipped_at")),
        severity_number: severity.into(),
        severity_text: severity.as_str_name().trim_start_matches("SEVERITY_NUMBER_").to_owned(),
        body: body.map(|(_, text)| body_of(text)),
        attributes: list,
        trace_id: column("run").map(|run| trace_id(&identity.organization, run)).unwrap_or_default(),
        event_name: format!("teamkeep.{}", column("table").unwrap_or_default()),
        ..LogRecord::default()
    }
}

/// The columns that have a name in the semantic conventions of OpenTelemetry. All others are `teamkeep.COLUMN`.
pub const CONVENTIONS: [(&str, &str); 6] = [
    ("agent", "gen_ai.agent.name"),
    ("sender", "gen_ai.agent.name"),
    ("agent_id", "gen_ai.agent.id"),
    ("session", "gen_ai.conversation.id"),
    ("model", "gen_ai.request.model"),
    ("user_name", "user.id"),
];
/// The columns that are the same for all rows of a shipment, and the time of a row.
const ELSEWHERE: [&str; 7] = ["table", "v", "org", "host", "store", "shipped_at", "time"];

/// Maximum length of a text in an attribute.
const MAX_TEXT_BYTES: usize = 4 << 10;
/// Maximum length of the body of a log record.
const MAX_BODY_BYTES: usize = 64 << 10;
/// Maximum number of items of a list.
const MAX_LIST_ITEMS: usize = 128;

/// Who ships.
pub fn resource(identity: &Identity) -> Resource {
    let attributes = vec![
        text("service.name", "teamkeep"),
        text("service.version", env!("CARGO_PKG_VERSION")),
        text("host.name", &identity.host),
        text("teamkeep.organization", &identity.organization),
        text("teamkeep.store", &identity.store),
    ];
    Resource { attributes, ..Resource::default() }
}

pub fn scope() -> InstrumentationScope {
    let (name, version) = ("teamkeep".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    InstrumentationScope { name, version, ..InstrumentationScope::default() }
}

/// The columns of a row, but for those of the resource and the time.
pub fn of_row(row: &Row) -> Vec<KeyValue> {
    let own = row.iter().filter(|(column, _)| !ELSEWHERE.contains(&column.as_str()));
    own.filter_map(|(column, value)| {
        let conventional = CONVENTIONS.iter().find(|(known, _)| known == column);
        let name = conventional.map_or_else(|| format!("teamkeep.{column}"), |(_, name)| (*name).to_owned());
        Some(attribute(name, any(value)?))
    })
    .collect()
}

pub fn text(name: &str, value: &str) -> KeyValue {
    attribute(name.to_owned(), Any::StringValue(cut(value, MAX_TEXT_BYTES)))
}

pub fn integer(name: &str, value: i64) -> KeyValue {
    attribute(name.to_owned(), Any::IntValue(value))
}

/// The body of a log record, cut at 64 KiB.
fn body_of(text: &str) -> AnyValue {
    AnyValue { value: Some(Any::StringValue(cut(text, MAX_BODY_BYTES))) }
}

/// Nanoseconds since 1970 of a time in a row; 0 without one, and for earlier times, which OTLP cannot express.
pub fn nanos(time: Option<&Value>) -> u64 {
    let time = time.and_then(Value::as_str).and_then(time::parse);
    time.map_or(0, |time| u64::try_from(time.millis()).unwrap_or_default().saturating_mul(1_000_000))
}

fn attribute(key: String, value: Any) -> KeyValue {
    KeyValue { key, value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}

/// `None` for an empty list.
fn any(value: &Value) -> Option<Any> {
    Some(match value {
        Value::String(text) => Any::StringValue(cut(text, MAX_TEXT_BYTES)),
        Value::Bool(flag) => Any::BoolValue(*flag),
        Value::Number(number) => match number.as_i64() {
            Some(integer) => Any::IntValue(integer),
            None => Any::DoubleValue(number.as_f64()?),
        },
        Value::Array(items) if !items.is_empty() => {
            let items = items.iter().take(MAX_LIST_ITEMS).filter_map(any);
            Any::ArrayValue(ArrayValue {
                values: items.map(|value| AnyValue { value: Some(value) }).collect(),
            })
        }
        Value::Array(_) | Value::Object(_) | Value::Null => return None,
    })
}

fn cut(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(max - '…'.len_utf8())])
}

/// Separates these hashes from all others. Changing it changes every ID.
const TRACE_CONTEXT: &str = "teamkeep-ship 2026-11-24 OTLP trace id";
const ITEM_CONTEXT: &str = "teamkeep-ship 2026-11-24 OTLP item id";

/// The trace of a run. The IDs are hashes of the organization, the run and the item, so that data that is sent again has the same ones.
pub fn trace_id(organization: &str, run: &str) -> Vec<u8> {
    derive::<16>(TRACE_CONTEXT, &[organization, run])
}

/// The span of an item that the key identifies within the run.
pub fn span_id(run: &str, table: &str, key: &[&str]) -> Vec<u8> {
    derive::<8>(ITEM_CONTEXT, &[&[run, table], key].concat())
}

/// A log record, by the row's text.
fn record_id(organization: &str, row: &str) -> String {
    derive::<8>(ITEM_CONTEXT, &[organization, row]).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A hash of the parts, each with its length before it.
fn derive<const BYTES: usize>(context: &str, parts: &[&str]) -> Vec<u8> {
    let mut hasher = blake3::Hasher::new_derive_key(context);
    for part in parts {
        hasher.update(&(part.len() as u64).to_be_bytes()).update(part.as_bytes());
    }
    let mut id = [0; BYTES];
    hasher.finalize_xof().fill(&mut id);
    id.to_vec()
}
