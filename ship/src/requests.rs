//! The requests to a store or a receiver: when they are repeated, for a limited time, and the hints for errors of TLS. After a lasting
//! one of those a request is not repeated.

use std::error::Error;
use std::hash::{BuildHasher, RandomState};
use std::io;
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
use rustls::{CertificateError, Error as TlsError, InvalidMessage};
use url::Url;

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
        install_cryptography();
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
                    let is_temporary = !is_lasting && tls_hint(&error).is_none();
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

/// Makes an error of 409: `object_store` would take it for an object that exists, but it means that another request was in
/// progress, or that a directory is missing.
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

/// One rule for stores and receivers: the wait in sum. After it, each request is sent once, and the next round continues.
const TOTAL: Duration = Duration::from_secs(60);
const FIRST_WAIT: Duration = Duration::from_millis(500);

#[derive(Debug)]
struct Patience {
    left: Duration,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience { left: TOTAL }
    }
}

impl Patience {
    /// The pause before a request is sent again that was sent `attempts` times, the last time for `spent`; `None` if it is given
    /// up. A random part keeps machines apart. The server can ask for a longer pause, not for a shorter one: `Retry-After: 0`
    /// does not mean without a pause.
    pub fn pause(&mut self, attempts: u32, spent: Duration, asked: Option<Duration>) -> Option<Duration> {
        let doubled = 1_u32.checked_shl(attempts.saturating_sub(1)).unwrap_or(u32::MAX);
        let doubled = FIRST_WAIT.saturating_mul(doubled);
        let pause = doubled.max(asked.unwrap_or_default()).saturating_add(random(doubled / 2));
        let left = self.left.checked_sub(spent.saturating_add(pause));
        self.left = left.unwrap_or_default();
        left.map(|_| pause)
    }
}

/// A random time below this one. A background round that waits for it does not start in the same second on all machines.
pub fn random(below: Duration) -> Duration {
    let nanos = u64::try_from(below.as_nanos()).unwrap_or(u64::MAX).max(1);
    Duration::from_nanos(RandomState::new().hash_one(std::process::id()) % nanos)
}

/// How to trust a private CA.
const TRUST: &str = "add the server's CA certificate to the system's trust store, or (Linux) set SSL_CERT_FILE to a PEM file \
                     with all certificates to trust";
/// The hint for a system without certificates.
pub const NO_CERTIFICATES: &str = "install CA certificates (package ca-certificates), and check SSL_CERT_FILE and SSL_CERT_DIR if they are set";

/// The innermost cause of an error.
pub fn innermost<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    std::iter::successors(Some(error), |error| source(*error)).last().unwrap_or(error)
}

/// Whether an error is one of TLS, or was caused by one.
pub fn is_tls(error: &(dyn Error + 'static)) -> bool {
    tls_error(error).is_some()
}

/// The hint for a lasting error of TLS: the certificate is invalid, or the server does not use TLS. Others,
/// such as an alert of a load balancer that restarts, have no hint.
pub fn tls_hint(error: &(dyn Error + 'static)) -> Option<&'static str> {
    match tls_error(error)? {
        TlsError::InvalidCertificate(error) => Some(certificate_hint(error)),
        TlsError::InvalidMessage(InvalidMessage::InvalidContentType) => {
            Some("the server does not use TLS at this port: check the port, or use http://")
        }
        _ => None,
    }
}

fn certificate_hint(error: &CertificateError) -> &'static str {
    match error {
        CertificateError::UnknownIssuer => TRUST,
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "renew the server's certificate, or check the clock of this machine"
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "check the clock of this machine"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "use a host name that the server's certificate lists"
        }
        _ => "replace the server's certificate with one that a CA issued for a server",
    }
}

fn tls_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a TlsError> {
    let mut errors = std::iter::successors(Some(error), |error| source(*error));
    errors.find_map(|error| error.downcast_ref())
}

/// The cause of an error. That of an I/O error is its content, which `source` leaves out.
fn source<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(content) => Some(content),
        None => error.source(),
    }
}

/// Selects `ring` for the connections that are made from now on. Also for those without TLS: the HTTP client needs one.
fn install_cryptography() {
    // An error means that it is selected already.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

#[cfg(test)]
mod tests {
    use rustls::AlertDescription;

    use super::*;

    /// All pauses between the attempts to send a request.
    fn pauses(patience: &mut Patience, asked: Option<Duration>) -> Vec<Duration> {
        (1..).map_while(|attempts| patience.pause(attempts, Duration::ZERO, asked)).take(100).collect()
    }

    #[test]
    fn pauses_get_longer_and_end_also_if_the_server_asks_for_none() {
        for asked in [None, Some(Duration::ZERO)] {
            let pauses = pauses(&mut Patience::default(), asked);
            for (pause, least) in pauses.iter().zip([500, 1_000, 2_000, 4_000]) {
                let least = Duration::from_millis(least);
                assert!(*pause >= least && *pause < least * 3 / 2, "{pauses:?}");
            }
            assert!(pauses.len() == 6 && pauses.iter().sum::<Duration>() <= TOTAL, "{pauses:?}");
        }
        assert!(Patience { left: Duration::MAX }.pause(99, Duration::ZERO, None).is_some());
    }

    #[test]
    fn the_server_can_ask_for_a_longer_pause_within_the_limit() {
        let asked = Duration::from_secs(25);
        let pauses = pauses(&mut Patience::default(), Some(asked));
        assert!(pauses.len() == 2 && pauses.iter().all(|pause| *pause >= asked), "{pauses:?}");
        assert_eq!(Patience::default().pause(1, Duration::ZERO, Some(TOTAL * 2)), None);
        assert_eq!(Patience::default().pause(1, TOTAL, None), None);
    }

    #[test]
    fn later_requests_are_sent_once() {
        let mut patience = Patience::default();
        pauses(&mut patience, None);
        assert_eq!(patience.pause(1, Duration::ZERO, None), None);
    }

    #[test]
    fn two_machines_do_not_wait_for_the_same_time() {
        let minute = Duration::from_secs(60);
        let times: std::collections::BTreeSet<Duration> = (0..50).map(|_| random(minute)).collect();
        assert!(times.len() > 40 && times.iter().all(|time| *time < minute), "{times:?}");
        assert_eq!(random(Duration::ZERO), Duration::ZERO);
    }

    #[test]
    fn the_error_is_found_inside_others() {
        let tls = || TlsError::InvalidCertificate(CertificateError::UnknownIssuer);
        let error = io::Error::other(io::Error::new(io::ErrorKind::InvalidData, tls()));
        assert_eq!(tls_hint(&error), Some(TRUST));
        assert_eq!(innermost(&error).to_string(), tls().to_string());
        let expired = TlsError::InvalidCertificate(CertificateError::Expired);
        assert!(tls_hint(&io::Error::other(expired)).unwrap().starts_with("renew the server's certificate"));
        let alert = io::Error::other(TlsError::AlertReceived(AlertDescription::InternalError));
        assert!(is_tls(&alert) && tls_hint(&alert).is_none());
        let other = io::Error::from(io::ErrorKind::ConnectionRefused);
        assert!(!is_tls(&other) && tls_hint(&other).is_none());
    }
}
