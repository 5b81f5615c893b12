//! Sends requests to a receiver with OTLP over HTTP: its addresses, and the credentials that errors do not show.

use std::io::Write;
use std::time::Duration;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use object_store::client::{HttpClient, HttpError, HttpRequest};
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceResponse;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Method, StatusCode};
use url::Url;

use crate::requests::{self, Requests};
use teamkeep_model::words::{QUOTE_CHARS, one_line};
use teamkeep_system::error::{Error, Result};

/// The time for a whole request and its response.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum size of a response.
const MAX_RESPONSE_BYTES: usize = 64 << 10;

/// A connection to a receiver. Needs a runtime of tokio with I/O and time.
#[derive(Debug)]
pub struct Sender {
    client: HttpClient,
    requests: Requests,
    headers: HeaderMap,
    logs: Url,
    traces: Url,
    secrets: Secrets,
}

/// The size of a request that was sent, and a note if the receiver did not take all of it.
#[derive(Debug, Default)]
pub struct SentRequest {
    pub bytes: u64,
    pub note: Option<String>,
}

impl Sender {
    /// `headers` are sent with each request.
    pub fn new(base: &str, mut headers: HeaderMap) -> Result<Sender> {
        let (logs, traces) = (Signal::Logs.address(base)?, Signal::Traces.address(base)?);
        let requests = Requests::to_receiver();
        let client = requests.client_to(&logs, TIMEOUT).map_err(|error| {
            let hint = requests::is_tls(&error).then_some(requests::NO_CERTIFICATES);
            let cause = requests::innermost(&error).to_string();
            Error::caused("cannot prepare the connection to the OTLP receiver", cause).maybe_hint(hint)
        })?;
        let secrets = Secrets::of(&headers);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        Ok(Sender { client, requests, headers, logs, traces, secrets })
    }

    /// Sends a request, again while the receiver is busy or out of reach. A request that the receiver rejects is not sent again, because
    /// that would not help: it is a note.
    pub async fn send(&self, signal: Signal, request: &[u8]) -> Result<SentRequest> {
        let address = match signal {
            Signal::Logs => &self.logs,
            Signal::Traces => &self.traces,
        };
        // The address is not for the table `hosts`.
        let what = || format!("cannot send {}", signal.name());
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(request)?;
        let body = gzip.finish()?;
        let bytes = body.len() as u64;
        let mut post = HttpRequest::new(body.into());
        *post.method_mut() = Method::POST;
        *post.uri_mut() =
            address.as_str().parse().map_err(|_| Error::new("invalid address").within(what()))?;
        post.headers_mut().clone_from(&self.headers);
        self.requests.begin();
        let lost = |error: HttpError| {
            let cause = format!("{address}: {}", requests::innermost(&error));
            Error::caused(what(), cause).maybe_hint(requests::tls_hint(&error))
        };
        let (head, body) = self.client.execute(post).await.map_err(lost)?.into_parts();
        let body = requests::read(body, MAX_RESPONSE_BYTES).await.map_err(lost)?;
        let kind = head.headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
        let answer =
            Answer { status: head.status, is_protobuf: kind.starts_with(b"application/x-protobuf"), body };
        let note =
            self.note(signal, &answer).map_err(|error| error.within(address.as_str()).within(what()))?;
        Ok(SentRequest { bytes, note })
    }

    /// A note if the receiver did not take everything; an error if the same request can be taken later.
    fn note(&self, signal: Signal, answer: &Answer) -> Result<Option<String>> {
        let status = answer.status;
        if status.is_success() {
            if !answer.is_protobuf && requests::is_web_page(&answer.body) {
                let error = Error::new("the response is a web page, not an OTLP response");
                return Err(error.hint("check ship.otlp, and whether the network needs a login"));
            }
            return Ok(self.partial_note(signal, answer));
        }
        let error = Error::new(format!("HTTP status {status}{}", self.quoted(&answer.message())));
        let hint = match status.as_u16() {
            300..=399 => "redirects are not followed: set ship.otlp to the final address",
            401 | 403 => "check the credentials in ship.otlp-headers-file",
            404 | 405 | 501 => {
                "check ship.otlp and ship.otlp-signals: /v1/logs and /v1/traces are appended to the address"
            }
            400 | 413 | 422 => {
                let name = signal.name();
                return Ok(Some(format!("the OTLP receiver rejected a request with {name}: {error}")));
            }
            _ => return Err(error),
        };
        Err(error.hint(hint))
    }

    /// The items that the receiver did not take although it accepted the request.
    fn partial_note(&self, signal: Signal, answer: &Answer) -> Option<String> {
        let body = answer.body.clone();
        let (rejected, message) = match signal {
            _ if !answer.is_protobuf => return None,
            Signal::Traces => ExportTraceServiceResponse::decode(body)
                .ok()?
                .partial_success
                .map(|partial| (partial.rejected_spans, partial.error_message))?,
            Signal::Logs => ExportLogsServiceResponse::decode(body)
                .ok()?
                .partial_success
                .map(|partial| (partial.rejected_log_records, partial.error_message))?,
        };
        let name = signal.name();
        (rejected > 0)
            .then(|| format!("the OTLP receiver rejected {rejected} of the {name}{}", self.quoted(&message)))
    }

    /// `: "words"`, on one line, without secrets and control characters.
    fn quoted(&self, message: &str) -> String {
        let hidden = self.secrets.hide(message);
        let line = one_line(&hidden.replace(char::is_control, " "));
        let start: String = line.chars().take(QUOTE_CHARS).collect();
        if start.is_empty() { String::new() } else { format!(": {start:?}") }
    }
}

struct Answer {
    status: StatusCode,
    is_protobuf: bool,
    body: Bytes,
}

/// The body of an error: `google.rpc.Status`.
#[derive(Clone, PartialEq, Message)]
struct RpcStatus {
    #[prost(string, tag = "2")]
    message: String,
}

impl Answer {
    fn message(&self) -> String {
        if self.is_protobuf {
            return RpcStatus::decode(self.body.clone()).map(|status| status.message).unwrap_or_default();
        }
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A kind of telemetry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    Logs,
    Traces,
}

impl Signal {
    pub fn name(self) -> &'static str {
        match self {
            Signal::Logs => "logs",
            Signal::Traces => "traces",
        }
    }

    /// The address for a signal, below the base address.
    fn address(self, base: &str) -> Result<Url> {
        let invalid = |why: String| {
            Error::usage(format!("invalid address of the OTLP receiver in ship.otlp: {why}"))
                .hint("use a base address such as https://collector.example.com:4318")
        };
        let mut address = Url::parse(base).map_err(|error| invalid(error.to_string()))?;
        if !matches!(address.scheme(), "http" | "https") || address.host_str().is_none() {
            return Err(invalid("it is not an http or https address".to_owned()));
        }
        let path = format!("{}/v1/{}", address.path().trim_end_matches('/'), self.name());
        address.set_path(&path);
        Ok(address)
    }
}

/// The shortest part of a header that is replaced in a receiver's words.
const MIN_SECRET_CHARS: usize = 6;

/// Credentials, which a receiver may quote and errors do not show.
struct Secrets(Vec<String>);

impl std::fmt::Debug for Secrets {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Secrets({})", self.0.len())
    }
}

impl Secrets {
    fn of(headers: &HeaderMap) -> Secrets {
        let values = headers.values().filter_map(|value| value.to_str().ok());
        let parts = values.flat_map(|value| [value].into_iter().chain(value.split([' ', '=', ','])));
        let mut secrets: Vec<String> = parts.map(str::to_owned).collect();
        secrets.retain(|secret| secret.chars().count() >= MIN_SECRET_CHARS);
        // The whole value before its parts.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Secrets(secrets)
    }

    fn hide(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret, "[hidden]"))
    }
}
