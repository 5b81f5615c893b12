//! Sends requests to a receiver with OTLP over HTTP.

use std::fmt;
use std::io::Write;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Client, Response};
use teamkeep_core::error::{Error, Result};
use url::Url;

use super::response::{Answer, Secrets, refusal};
use super::target::shown;
use teamkeep_core::config::OtlpEncoding;

use super::{OtlpTarget, Request, Signal};
use crate::tls_problem;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The time for a whole request and its response.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum part of a response that is read.
const MAX_RESPONSE_BYTES: usize = 64 << 10;
/// The longest wait that a receiver can ask for.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(3_600);

/// Why a request failed. The text has no header values, and of the address no user, password or query.
#[derive(Debug)]
pub struct SendError {
    pub kind: SendErrorKind,
    pub(super) text: String,
    pub hint: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendErrorKind {
    /// The receiver is busy: send the same request again, at the earliest after that time.
    Retry { after: Option<Duration> },
    /// There was no response, or one that is not from a receiver: send the same request again.
    Lost,
    /// The receiver does not accept the request. Sending it again does not help.
    Rejected,
    /// The request is larger than the receiver accepts: send its halves.
    TooLarge,
    /// The receiver failed. The specification forbids sending the request again soon; a later round does.
    Failed,
    /// The TLS handshake failed, or the certificate is not trusted.
    Tls,
    /// The receiver does not accept the credentials, so it accepts no other request either.
    Unauthorized,
    /// The receiver does not have the address of this signal.
    Unsupported { status: u16 },
    /// The receiver took the request except for that many items. Do not send it again.
    Partial { rejected: i64 },
}

impl SendErrorKind {
    /// Whether other requests would fail in the same way now.
    pub fn affects_other_requests(self) -> bool {
        matches!(
            self,
            SendErrorKind::Retry { .. }
                | SendErrorKind::Lost
                | SendErrorKind::Tls
                | SendErrorKind::Unauthorized
        )
    }
}

impl SendError {
    pub(super) fn new(kind: SendErrorKind, text: impl Into<String>) -> SendError {
        SendError { kind, text: text.into(), hint: None }
    }

    pub(super) fn lost(text: impl Into<String>) -> SendError {
        SendError::new(SendErrorKind::Lost, text)
    }

    pub fn into_error(self) -> Error {
        Error::new(self.text).maybe_hint(self.hint)
    }
}

impl fmt::Display for SendError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

impl std::error::Error for SendError {}

/// The address for each signal.
#[derive(Debug)]
struct Addresses {
    traces: Url,
    logs: Url,
    metrics: Url,
}

/// A connection to a receiver. Needs a runtime of tokio with I/O and time.
#[derive(Debug)]
pub struct Sender {
    client: Client,
    encoding: OtlpEncoding,
    addresses: Addresses,
    secrets: Secrets,
}

impl Sender {
    pub fn new(target: &OtlpTarget) -> Result<Sender> {
        Sender::with_timeouts(target, CONNECT_TIMEOUT, TIMEOUT)
    }

    /// A sender that waits at most so long for a connection, and for a whole request.
    pub fn with_timeouts(target: &OtlpTarget, connect: Duration, total: Duration) -> Result<Sender> {
        let mut headers = HeaderMap::new();
        for (name, value) in target.headers.iter() {
            let invalid = || Error::usage(format!("invalid header {name:?} for the OTLP receiver"));
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid())?;
            let mut value = HeaderValue::from_str(value).map_err(|_| invalid())?;
            value.set_sensitive(true);
            headers.append(name, value);
        }
        // The sender's own headers are set on each request and replace these.
        let builder = || {
            Client::builder()
                .user_agent(concat!("teamkeep-ship/", env!("CARGO_PKG_VERSION")))
                .default_headers(headers.clone())
                .connect_timeout(connect)
                .timeout(total)
                .redirect(Policy::none())
        };
        let addresses = Addresses {
            traces: target.address(Signal::Traces)?,
            logs: target.address(Signal::Logs)?,
            metrics: target.address(Signal::Metrics)?,
        };
        let client = match builder().build() {
            // The system has no certificates, and none are needed.
            Err(_) if addresses.traces.scheme() == "http" => builder().tls_certs_only([]).build(),
            client => client,
        };
        let client = client.map_err(|error| {
            let hint = tls_problem::is_tls(&error).then_some(tls_problem::NO_CERTIFICATES);
            Error::caused("cannot prepare the connection to the OTLP receiver", cause(error)).maybe_hint(hint)
        })?;
        let secrets = Secrets::of(&target.headers, &addresses.traces);
        Ok(Sender { client, encoding: target.encoding, addresses, secrets })
    }

    /// Sends a request once.
    pub async fn send(&self, request: &Request) -> std::result::Result<(), SendError> {
        let signal = request.signal();
        let address = match signal {
            Signal::Traces => &self.addresses.traces,
            Signal::Logs => &self.addresses.logs,
            Signal::Metrics => &self.addresses.metrics,
        };
        let what = format!("cannot send {} to {}", signal.name(), shown(address));
        let body = self.body(request).map_err(|error| {
            SendError::new(SendErrorKind::Rejected, format!("{what}: cannot encode the request: {error}"))
        })?;
        let content_type = match self.encoding {
            OtlpEncoding::Protobuf => "application/x-protobuf",
            OtlpEncoding::Json => "application/json",
        };
        let post = self
            .client
            .post(address.clone())
            .header(CONTENT_TYPE, content_type)
            .header(CONTENT_ENCODING, "gzip")
            .body(body);
        let lost = |error: reqwest::Error| {
            // Other errors of TLS can be temporary.
            let hint = tls_problem::hint(&error);
            let kind = if hint.is_some() { SendErrorKind::Tls } else { SendErrorKind::Lost };
            SendError { hint, ..SendError::new(kind, format!("{what}: {}", cause(error))) }
        };
        let response = post.send().await.map_err(lost)?;
        let answer = self.read(response).await.map_err(lost)?;
        match refusal(signal, &answer, &self.secrets) {
            None => Ok(()),
            Some(error) if error.kind == SendErrorKind::TooLarge && request.items() == 1 => {
                let item = format!("cannot send a single {} to {}", item_name(signal), shown(address));
                Err(SendError { text: format!("{item}: {}", error.text), ..error })
            }
            Some(error) => Err(SendError { text: format!("{what}: {}", error.text), ..error }),
        }
    }

    fn body(&self, request: &Request) -> std::io::Result<Vec<u8>> {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(&request.encode(self.encoding)?)?;
        gzip.finish()
    }

    /// Reads the response up to its maximum size.
    async fn read(&self, mut response: Response) -> reqwest::Result<Answer> {
        let header = |name| response.headers().get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        let is_protobuf =
            header(CONTENT_TYPE).is_some_and(|value| value.starts_with("application/x-protobuf"));
        // Instead of a number of seconds it can be a date, which is ignored.
        let after = header(RETRY_AFTER).and_then(|value| value.trim().parse().ok());
        let after = after.map(|seconds| Duration::from_secs(seconds).min(MAX_RETRY_AFTER));
        let status = response.status();
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await? {
            body.extend_from_slice(&chunk[..chunk.len().min(MAX_RESPONSE_BYTES - body.len())]);
            if body.len() == MAX_RESPONSE_BYTES {
                break;
            }
        }
        Ok(Answer { status, after, is_protobuf, body })
    }
}

fn item_name(signal: Signal) -> &'static str {
    match signal {
        Signal::Traces => "span",
        Signal::Logs => "log record",
        Signal::Metrics => "metric",
    }
}

/// The innermost cause, without the address.
fn cause(error: reqwest::Error) -> String {
    if error.is_timeout() {
        return "timed out".to_owned();
    }
    tls_problem::innermost(&error.without_url()).to_string()
}
