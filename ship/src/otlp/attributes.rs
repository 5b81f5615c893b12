//! Columns as attributes.

use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, InstrumentationScope, KeyValue};
pub use opentelemetry_proto::tonic::resource::v1::Resource;
use serde_json::Value;
use teamkeep_model::time;

use super::Row;
use crate::setup::Identity;

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
pub fn body(text: &str) -> AnyValue {
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
