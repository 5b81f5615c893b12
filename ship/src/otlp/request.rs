//! Requests, and their encoding.

use std::ops::Range;

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
    pub fn empty(signal: Signal) -> Request {
        match signal {
            Signal::Traces => Request::Traces(ExportTraceServiceRequest::default()),
            Signal::Logs => Request::Logs(ExportLogsServiceRequest::default()),
            Signal::Metrics => Request::Metrics(ExportMetricsServiceRequest::default()),
        }
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

    /// The two halves of the items, in order; `None` for a single item.
    pub fn halves(&self) -> Option<[Request; 2]> {
        let items = self.items();
        let half = items.div_ceil(2);
        (items > 1).then(|| [self.part(0..half), self.part(half..items)])
    }

    /// A request with the items at these places only.
    fn part(&self, places: Range<usize>) -> Request {
        let mut part = self.clone();
        let mut next = 0;
        let mut is_kept = || {
            next += 1;
            places.contains(&(next - 1))
        };
        match &mut part {
            Request::Traces(request) => {
                let scopes = request.resource_spans.iter_mut().flat_map(|resource| &mut resource.scope_spans);
                scopes.for_each(|scope| scope.spans.retain(|_| is_kept()));
            }
            Request::Logs(request) => {
                let scopes = request.resource_logs.iter_mut().flat_map(|resource| &mut resource.scope_logs);
                scopes.for_each(|scope| scope.log_records.retain(|_| is_kept()));
            }
            Request::Metrics(request) => {
                let scopes =
                    request.resource_metrics.iter_mut().flat_map(|resource| &mut resource.scope_metrics);
                scopes.for_each(|scope| scope.metrics.retain(|_| is_kept()));
            }
        }
        part
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

#[cfg(test)]
mod tests {
    use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};

    use super::*;

    fn request(names: &[&str]) -> Request {
        let span = |name: &&str| Span { name: (*name).to_owned(), ..Span::default() };
        let spans = names.iter().map(span).collect();
        let scope_spans = vec![ScopeSpans { spans, ..ScopeSpans::default() }];
        let resource_spans = vec![ResourceSpans { scope_spans, ..ResourceSpans::default() }];
        Request::Traces(ExportTraceServiceRequest { resource_spans })
    }

    #[test]
    fn the_halves_have_all_items_in_order() {
        assert_eq!(request(&["a", "b", "c"]).halves(), Some([request(&["a", "b"]), request(&["c"])]));
        assert_eq!(request(&["a", "b"]).halves(), Some([request(&["a"]), request(&["b"])]));
        assert_eq!(request(&["a"]).halves(), None);
        for signal in Signal::ALL {
            let empty = Request::empty(signal);
            assert_eq!((empty.signal(), empty.items(), empty.halves()), (signal, 0, None));
        }
    }
}
