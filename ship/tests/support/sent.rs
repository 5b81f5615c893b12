//! The parts of requests.

#![allow(dead_code, clippy::unwrap_used, clippy::panic)]

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value as AnyValue;
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::{Metric, NumberDataPoint};
use opentelemetry_proto::tonic::trace::v1::Span;
use teamkeep_ship::otlp::Request;

pub fn spans(requests: &[Request]) -> Vec<&Span> {
    let resources = requests.iter().filter_map(|request| match request {
        Request::Traces(request) => Some(&request.resource_spans),
        _ => None,
    });
    let scopes = resources.flatten().flat_map(|resource| &resource.scope_spans);
    scopes.flat_map(|scope| &scope.spans).collect()
}

pub fn records(requests: &[Request]) -> Vec<&LogRecord> {
    let resources = requests.iter().filter_map(|request| match request {
        Request::Logs(ExportLogsServiceRequest { resource_logs }) => Some(resource_logs),
        _ => None,
    });
    let scopes = resources.flatten().flat_map(|resource| &resource.scope_logs);
    scopes.flat_map(|scope| &scope.log_records).collect()
}

pub fn metrics(requests: &[Request]) -> Vec<&Metric> {
    let resources = requests.iter().filter_map(|request| match request {
        Request::Metrics(request) => Some(&request.resource_metrics),
        _ => None,
    });
    let scopes = resources.flatten().flat_map(|resource| &resource.scope_metrics);
    scopes.flat_map(|scope| &scope.metrics).collect()
}

pub fn points(metric: &Metric) -> &[NumberDataPoint] {
    match metric.data.as_ref().unwrap() {
        Data::Gauge(gauge) => &gauge.data_points,
        Data::Sum(sum) => &sum.data_points,
        other => panic!("{other:?}"),
    }
}

/// The value of an attribute as text.
pub fn attribute(list: &[KeyValue], name: &str) -> Option<String> {
    let value = list.iter().find(|attribute| attribute.key == name)?.value.clone()?.value?;
    Some(shown(&value))
}

fn shown(value: &AnyValue) -> String {
    match value {
        AnyValue::StringValue(text) => text.clone(),
        AnyValue::BoolValue(flag) => flag.to_string(),
        AnyValue::IntValue(number) => number.to_string(),
        AnyValue::DoubleValue(number) => number.to_string(),
        AnyValue::ArrayValue(array) => {
            let items = array.values.iter().filter_map(|item| item.value.as_ref()).map(shown);
            items.collect::<Vec<_>>().join(",")
        }
        other => panic!("{other:?}"),
    }
}
