//! A gateway of the organization as a store: each object is one request `PUT ADDRESS/NAME`. The gateway can redirect it, such as to a
//! presigned address of an object store, which does not get the gateway's headers.

use bytes::Bytes;
use object_store::client::{HttpClient, HttpRequest, HttpResponse};
use object_store::{Error as StoreError, Result as StoreResult};
use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue, IF_NONE_MATCH, LOCATION};
use teamkeep_config::is_loopback;
use url::Url;

use crate::requests::{self, Requests};

const MAX_REDIRECTS: usize = 5;
/// A larger object is not compared.
const MAX_RESPONSE_BYTES: usize = 256 << 20;

#[derive(Debug, Clone)]
pub struct Gateway {
    client: HttpClient,
    base: Url,
    headers: HeaderMap,
}

impl Gateway {
    pub fn open(base: Url, headers: HeaderMap, requests: &Requests) -> StoreResult<Gateway> {
        let client = requests.client_to(&base, requests::TIMEOUT).map_err(failed)?;
        Ok(Gateway { client, base, headers })
    }

    /// Creates an object with the method PUT, or reads it with GET. Every rejection is [`StoreError::PermissionDenied`].
    pub async fn send(&self, method: Method, name: &str, content: Bytes) -> StoreResult<Bytes> {
        let url = format!("{}/{name}", self.base.as_str().trim_end_matches('/'));
        let mut url = Url::parse(&url).map_err(failed)?;
        for _ in 0..=MAX_REDIRECTS {
            let mut request = HttpRequest::new(content.clone().into());
            *request.method_mut() = method.clone();
            *request.uri_mut() = url.as_str().parse().map_err(|_| failed("invalid address"))?;
            let headers = request.headers_mut();
            if url.origin() == self.base.origin() {
                headers.clone_from(&self.headers);
            }
            if method == Method::PUT {
                headers.insert(IF_NONE_MATCH, HeaderValue::from_static("*"));
                headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/gzip"));
            }
            let response = self.client.execute(request).await.map_err(failed)?;
            let status = response.status();
            let (path, source) = (name.to_owned(), format!("HTTP status {status}").into());
            match status.as_u16() {
                307 | 308 => url = target(&url, &response)?,
                200..=299 => {
                    let body = response.into_body();
                    let body = requests::read(body, MAX_RESPONSE_BYTES).await.map_err(failed)?;
                    if method == Method::PUT && requests::is_web_page(&body) {
                        return Err(failed(
                            "the response is a web page: check whether the network needs a login",
                        ));
                    }
                    return Ok(body);
                }
                412 => return Err(StoreError::AlreadyExists { path, source }),
                _ if requests::is_temporary(status) => return Err(failed(source)),
                _ => return Err(StoreError::PermissionDenied { path, source }),
            }
        }
        Err(failed("too many redirects"))
    }
}

/// The address of a redirect. It has TLS, unless the first one is without TLS: both are this machine then.
fn target(url: &Url, response: &HttpResponse) -> StoreResult<Url> {
    let location = response.headers().get(LOCATION).and_then(|location| location.to_str().ok());
    let target = location.and_then(|location| url.join(location).ok());
    let target = target.ok_or_else(|| failed("a redirect without a valid address"))?;
    let host = target.host_str().unwrap_or_default();
    match target.scheme() {
        "https" => Ok(target),
        "http" if url.scheme() == "http" && is_loopback(host) => Ok(target),
        // Its query can have a signature, so it is not shown.
        _ => Err(failed(format!("a redirect to {host} without TLS"))),
    }
}

fn failed(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
    StoreError::Generic { store: "gateway", source: source.into() }
}
