//! The parts of requests.

#![allow(dead_code, clippy::unwrap_used, clippy::panic)]

use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::trace::v1::Span;
use serde_json::{Map, Value, json};

use super::receiver::Request;

pub fn spans(requests: &[Request]) -> Vec<&Span> {
    let resources = requests.iter().filter_map(|request| match request {
        Request::Traces(request) => Some(&request.resource_spans),
        Request::Logs(_) => None,
    });
    let scopes = resources.flatten().flat_map(|resource| &resource.scope_spans);
    scopes.flat_map(|scope| &scope.spans).collect()
}

pub fn records(requests: &[Request]) -> Vec<&LogRecord> {
    let resources = requests.iter().filter_map(|request| match request {
        Request::Logs(request) => Some(&request.resource_logs),
        Request::Traces(_) => None,
    });
    let scopes = resources.flatten().flat_map(|resource| &resource.scope_logs);
    scopes.flat_map(|scope| &scope.log_records).collect()
}

/// The attributes of the resources.
pub fn resources(requests: &[Request]) -> Vec<Map<String, Value>> {
    let resource = |request: &Request| match request {
        Request::Traces(request) => request.resource_spans[0].resource.clone(),
        Request::Logs(request) => request.resource_logs[0].resource.clone(),
    };
    requests.iter().map(|request| attributes(&resource(request).unwrap().attributes)).collect()
}

/// Attributes as JSON. Fails if a name comes twice.
pub fn attributes(list: &[KeyValue]) -> Map<String, Value> {
    let mut all = Map::new();
    for attribute in list {
        let value = json_of(attribute.value.as_ref().unwrap().value.as_ref().unwrap());
        assert!(all.insert(attribute.key.clone(), value).is_none(), "{} comes twice", attribute.key);
    }
    all
}

/// The value of an attribute as text.
pub fn attribute(list: &[KeyValue], name: &str) -> Option<String> {
    let value = attributes(list).remove(name)?;
    Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}

fn json_of(value: &Any) -> Value {
    match value {
        Any::StringValue(text) => json!(text),
        Any::BoolValue(flag) => json!(flag),
        Any::IntValue(number) => json!(number),
        Any::DoubleValue(number) => json!(number),
        Any::ArrayValue(array) => {
            array.values.iter().map(|item| json_of(item.value.as_ref().unwrap())).collect()
        }
        other => panic!("{other:?}"),
    }
}
