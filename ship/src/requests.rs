//! The requests to a store or a receiver: they are repeated for a limited time. After a lasting error of TLS a request is not repeated.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use http_body_util::{BodyExt, Collected, Limited};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService, ReqwestConnector,
};
use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Client, StatusCode};
use url::Url;

use crate::patience::Patience;
use crate::tls;

/// How long one request may take. Objects have up to some 32 MiB.
pub const TIMEOUT: Duration = Duration::from_secs(120);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The rule by which requests are repeated, and the time for repeats that all requests for an object share.
#[derive(Debug, Clone)]
pub struct Requests {
    /// Whether the same request can succeed later.
    is_temporary: fn(StatusCode) -> bool,
    patience: Arc<Mutex<Patience>>,
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
        Requests { is_temporary, patience: Arc::default() }
    }

    /// The requests for another object begin.
    pub fn begin(&self) {
        *self.patience() = Patience::default();
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

    fn patience(&self) -> MutexGuard<'_, Patience> {
        self.patience.lock().unwrap_or_else(PoisonError::into_inner)
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
            let (outcome, is_temporary) = match self.client.execute(request.clone()).await {
                Ok(answer) => {
                    let is_temporary = (self.requests.is_temporary)(answer.status());
                    (Ok(answer), is_temporary)
                }
                Err(error) => {
                    let is_lasting = matches!(error.kind(), HttpErrorKind::Decode | HttpErrorKind::Unknown);
                    let is_temporary = !is_lasting && tls::hint(&error).is_none();
                    (Err(error), is_temporary)
                }
            };
            attempts += 1;
            let asked = outcome.as_ref().ok().and_then(|answer| retry_after(answer.headers()));
            let pause = || self.requests.patience().pause(attempts, start.elapsed(), asked);
            match is_temporary.then(pause).flatten() {
                Some(pause) => tokio::time::sleep(pause).await,
                None => return outcome.and_then(without_conflict),
            }
        }
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
