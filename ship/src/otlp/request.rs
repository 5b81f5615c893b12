//! Requests, and their encoding.

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message;
use teamkeep_core::store::shipping::Signal;

use teamkeep_core::config::OtlpEncoding;

/// One request to a receiver, of bounded size.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    Traces(ExportTraceServiceRequest),
    Logs(ExportLogsServiceRequest),
    Metrics(ExportMetricsServiceRequest),
}

impl Request {
    /// A request without data, to find out whether a receiver responds at all.
    pub fn empty() -> Request {
        Request::Traces(ExportTraceServiceRequest::default())
    }

    pub fn signal(&self) -> Signal {
        match self {
            Request::Traces(_) => Signal::Traces,
            Request::Logs(_) => Signal::Logs,
            Request::Metrics(_) => Signal::Metrics,
        }
    }

    /// Number of spans, log records or metrics.
    pub fn items(&self) -> usize {
        match self {
            Request::Traces(request) => {
                let scopes = request.resource_spans.iter().flat_map(|resource| &resource.scope_spans);
                scopes.map(|scope| scope.spans.len()).sum()
            }
            Request::Logs(request) => {
                let scopes = request.resource_logs.iter().flat_map(|resource| &resource.scope_logs);
                scopes.map(|scope| scope.log_records.len()).sum()
            }
            Request::Metrics(request) => {
                let scopes = request.resource_metrics.iter().flat_map(|resource| &resource.scope_metrics);
                scopes.map(|scope| scope.metrics.len()).sum()
            }
        }
    }

    pub fn encode(&self, encoding: OtlpEncoding) -> serde_json::Result<Vec<u8>> {
        match (encoding, self) {
            (OtlpEncoding::Protobuf, Request::Traces(request)) => Ok(request.encode_to_vec()),
            (OtlpEncoding::Protobuf, Request::Logs(request)) => Ok(request.encode_to_vec()),
            (OtlpEncoding::Protobuf, Request::Metrics(request)) => Ok(request.encode_to_vec()),
            (OtlpEncoding::Json, Request::Traces(request)) => serde_json::to_vec(request),
            (OtlpEncoding::Json, Request::Logs(request)) => serde_json::to_vec(request),
            (OtlpEncoding::Json, Request::Metrics(request)) => serde_json::to_vec(request),
        }
    }
}
