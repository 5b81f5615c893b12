//! The requests to a store or a receiver: they are repeated for a limited time, and a clock that is off is noticed. After a lasting error
//! of TLS a request is not repeated.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use chrono::{DateTime, TimeDelta};
use http_body_util::{BodyExt, Collected, Limited};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService, ReqwestConnector,
};
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Client, StatusCode};
use teamkeep_system::clock::Clock;
use url::Url;

use crate::patience::Patience;
use crate::tls;

/// How long one request may take. Objects have up to some 32 MiB.
pub const TIMEOUT: Duration = Duration::from_secs(120);
/// A difference of clocks that stores accept.
const MAX_SKEW: TimeDelta = TimeDelta::minutes(5);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The rule by which requests are repeated, and the state that all requests for an object share.
#[derive(Debug, Clone)]
pub struct Requests {
    /// Whether the same request can succeed later.
    is_temporary: fn(StatusCode) -> bool,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    patience: Patience,
    /// This machine's time minus the store's, if that can be why it rejected the last request.
    skew: Option<TimeDelta>,
}

impl Requests {
    pub fn to_store() -> Requests {
        Requests::repeated_if(is_temporary)
    }

    /// Other errors of an OTLP receiver must not be answered by the same request.
    pub fn to_receiver() -> Requests {
        Requests::repeated_if(|status| matches!(status.as_u16(), 408 | 429 | 502..=504))
    }

    fn repeated_if(is_temporary: fn(StatusCode) -> bool) -> Requests {
        tls::install();
        Requests { is_temporary, state: Arc::default() }
    }

    /// The requests for another object begin.
    pub fn begin(&self) {
        *self.state() = State::default();
    }

    /// By how much the clock of this machine is off, if that can be why the last request was rejected.
    pub fn clock_problem(&self) -> Option<String> {
        let skew = self.state().skew?;
        let minutes = (skew.abs().num_seconds() + 30) / 60;
        let side = if skew > TimeDelta::zero() { "ahead of" } else { "behind" };
        Some(format!("the clock of this machine is {minutes} minutes {side} that of the store"))
    }

    /// Sends requests to this address, and follows no redirects.
    pub fn client_to(&self, address: &Url, timeout: Duration) -> reqwest::Result<HttpClient> {
        let builder = || {
            Client::builder()
                .user_agent(concat!("teamkeep-ship/", env!("CARGO_PKG_VERSION")))
                .connect_timeout(CONNECT_TIMEOUT)
                .timeout(timeout)
                .redirect(Policy::none())
        };
        let client = match builder().build() {
            // The system has no certificates, and none are needed.
            Err(_) if address.scheme() == "http" => builder().tls_certs_only([]).build(),
            client => client,
        };
        Ok(self.client(HttpClient::new(client?)))
    }

    fn client(&self, client: HttpClient) -> HttpClient {
        HttpClient::new(Patient { client, requests: self.clone() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HttpConnector for Requests {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let options = options.clone().with_timeout(TIMEOUT);
        ReqwestConnector::default().connect(&options).map(|client| self.client(client))
    }
}

#[derive(Debug)]
struct Patient {
    client: HttpClient,
    requests: Requests,
}

#[async_trait]
impl HttpService for Patient {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let mut attempts = 0;
        loop {
            let start = Instant::now();
            let (outcome, is_temporary) = match self.send(request.clone()).await {
                Ok((answer, is_temporary)) => (Ok(answer), is_temporary),
                Err(error) => {
                    let is_lasting = matches!(error.kind(), HttpErrorKind::Decode | HttpErrorKind::Unknown);
                    let is_temporary = !is_lasting && tls::hint(&error).is_none();
                    (Err(error), is_temporary)
                }
            };
            attempts += 1;
            let asked = outcome.as_ref().ok().and_then(|answer| retry_after(answer.headers()));
            let pause = || self.requests.state().patience.pause(attempts, start.elapsed(), asked);
            match is_temporary.then(pause).flatten() {
                Some(pause) => tokio::time::sleep(pause).await,
                None => return outcome.and_then(without_conflict),
            }
        }
    }
}

impl Patient {
    /// Sends a request once. Returns the response, and whether the same request can succeed later.
    async fn send(&self, request: HttpRequest) -> Result<(HttpResponse, bool), HttpError> {
        let answer = self.client.execute(request).await?;
        let status = answer.status();
        // Other errors have other reasons.
        let can_be_clock = matches!(status.as_u16(), 400 | 401 | 403);
        self.requests.state().skew = can_be_clock.then(|| skew(answer.headers())).flatten();
        Ok((answer, (self.requests.is_temporary)(status)))
    }
}

/// Makes an error of 409: `object_store` would take it for an object that exists, but it means that another request was in progress, or that
/// a directory is missing.
fn without_conflict(answer: HttpResponse) -> Result<HttpResponse, HttpError> {
    if answer.status() == StatusCode::CONFLICT {
        let error = std::io::Error::other(format!("HTTP status {}", answer.status()));
        return Err(HttpError::new(HttpErrorKind::Request, error));
    }
    Ok(answer)
}

/// Whether the same request can succeed later.
pub fn is_temporary(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 409 | 429) || status.is_server_error() && status.as_u16() != 501
}

/// Reads a response of at most that many bytes.
pub async fn read(body: HttpResponseBody, most: usize) -> Result<Bytes, HttpError> {
    let read = Limited::new(body, most).collect().await;
    read.map(Collected::to_bytes).map_err(|error| HttpError::new_boxed(HttpErrorKind::Decode, error))
}

/// Whether a response is the page of a network that needs a login.
pub fn is_web_page(body: &[u8]) -> bool {
    let start = body.trim_ascii_start().to_ascii_lowercase();
    start.starts_with(b"<!doctype html") || start.starts_with(b"<html")
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}

/// This machine's time minus the server's, if stores do not accept the difference.
fn skew(headers: &HeaderMap) -> Option<TimeDelta> {
    let theirs = DateTime::parse_from_rfc2822(headers.get(DATE)?.to_str().ok()?).ok()?;
    let skew = Clock::new(None).now().utc().signed_duration_since(theirs);
    (skew.abs() > MAX_SKEW).then_some(skew)
}
