//! The object store: objects are created once and never changed. It is a bucket, a directory, or a gateway that takes objects by HTTP.

use std::error::Error as _;
use std::sync::Arc;

use bytes::Bytes;
use flate2::read::GzDecoder;
use object_store::client::{HttpClient, HttpRequest, HttpResponse};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{
    Error as StoreError, ObjectStore, ObjectStoreExt, ObjectStoreScheme, PutMode, PutOptions,
    Result as StoreResult, RetryConfig,
};
use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue, IF_NONE_MATCH, LOCATION};
use url::Url;

use crate::requests::{self, Requests};
use crate::setup;
use crate::store_settings::{self, ProfileFiles};
use teamkeep_config::is_loopback;
use teamkeep_system::error::{Error, Result};

/// A bucket, a directory or a gateway, and the beginning of all names in it.
#[derive(Debug, Clone)]
pub struct Objects {
    store: Store,
    requests: Requests,
    address: String,
}

#[derive(Debug, Clone)]
enum Store {
    Service(Arc<dyn ObjectStore>, Path),
    Gateway(Gateway),
}

/// Whether an object was created by this call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Created {
    Now,
    Before,
}

impl Objects {
    /// Opens the store at an address such as `s3://bucket/prefix`. This makes no request.
    pub fn open(address: &str, profiles: &ProfileFiles) -> Result<Objects> {
        let url = Url::parse(address).map_err(|error| {
            Error::caused(format!("invalid address {address:?} of an object store"), error)
        })?;
        let requests = Requests::to_store();
        let failed = |error: StoreError| {
            let other = "check `ship.store`, and the variables AWS_* of the environment";
            let hint = if requests::is_tls(&error) { requests::NO_CERTIFICATES } else { other };
            let cause = format!("{address}: {}", in_full(&error));
            Error::caused("cannot use the object store", cause).hint(hint)
        };
        if matches!(url.scheme(), "http" | "https") {
            let headers = profiles.headers.as_deref();
            let headers = headers.map(|path| setup::headers_file(path, "ship.store-headers-file"));
            let gateway = Gateway::open(url, headers.transpose()?.unwrap_or_default(), &requests);
            let store = Store::Gateway(gateway.map_err(failed)?);
            return Ok(Objects { store, requests, address: address.to_owned() });
        }
        let (scheme, prefix) = ObjectStoreScheme::parse(&url).map_err(|error| failed(error.into()))?;
        let connector = requests.clone();
        // The connector repeats requests.
        let retry = RetryConfig { max_retries: 0, ..RetryConfig::default() };
        let store: Arc<dyn ObjectStore> = match scheme {
            ObjectStoreScheme::AmazonS3 => {
                let builder = store_settings::s3(address, profiles)?.with_retry(retry);
                Arc::new(builder.with_http_connector(connector).build().map_err(failed)?)
            }
            ObjectStoreScheme::Local => Arc::new(LocalFileSystem::new()),
            _ => {
                return Err(Error::new(format!(
                    "unsupported object store {address:?}; expected s3://, https:// or file://"
                )));
            }
        };
        Ok(Objects { store: Store::Service(store, prefix), requests, address: address.to_owned() })
    }

    /// Creates an object unless there is one with this name. That one must have the same content, if it may be read: names have a hash
    /// of the content.
    pub async fn create(&self, name: &str, content: Vec<u8>) -> Result<Created> {
        self.requests.begin();
        let content = Bytes::from(content);
        match self.put(name, content.clone()).await {
            Ok(()) => return Ok(Created::Now),
            Err(StoreError::AlreadyExists { .. }) => {}
            Err(error) => return Err(self.failed("create", name, &error)),
        }
        match self.get(name).await {
            Ok(found) if hash(&found) == hash(&content) => Ok(Created::Before),
            Ok(_) => Err(Error::new(format!("{name} in {} exists with other content", self.address))
                .hint("find out who changed it, and move it away: the next shipment creates it again")),
            Err(StoreError::PermissionDenied { .. } | StoreError::Unauthenticated { .. }) => {
                Ok(Created::Before)
            }
            Err(error) => Err(self.failed("read", name, &error)),
        }
    }

    async fn put(&self, name: &str, content: Bytes) -> StoreResult<()> {
        match &self.store {
            Store::Gateway(gateway) => gateway.send(Method::PUT, name, content).await.map(drop),
            Store::Service(store, prefix) => {
                let options = PutOptions::from(PutMode::Create);
                store.put_opts(&path(prefix, name), content.into(), options).await.map(drop)
            }
        }
    }

    async fn get(&self, name: &str) -> StoreResult<Bytes> {
        match &self.store {
            Store::Gateway(gateway) => gateway.send(Method::GET, name, Bytes::new()).await,
            Store::Service(store, prefix) => store.get(&path(prefix, name)).await?.bytes().await,
        }
    }

    fn failed(&self, verb: &str, name: &str, error: &StoreError) -> Error {
        // The address and the cause are not for the table `hosts`.
        let cause = format!("{name} in {}: {}", self.address, in_full(error));
        let hint = match (error, &self.store) {
            (StoreError::PermissionDenied { .. }, Store::Gateway(_)) => Some(
                "check ship.store and ship.store-headers-file; the address of a bucket begins with s3://",
            ),
            (StoreError::PermissionDenied { .. } | StoreError::Unauthenticated { .. }, _) => {
                Some("check the credentials and their permissions")
            }
            (StoreError::NotFound { .. }, _) if verb == "create" => {
                Some("create the bucket or container first")
            }
            (StoreError::NotFound { .. }, _) => Some("check the address: no such object"),
            _ => requests::tls_hint(error),
        };
        Error::caused(format!("cannot {verb} an object"), cause).maybe_hint(hint)
    }
}

/// The path of an object. The parts of its name are separated by slashes.
fn path(prefix: &Path, name: &str) -> Path {
    prefix.parts().chain(Path::from(name).parts()).collect()
}

/// The hash of a content, decompressed if it is compressed: two versions of a compressor differ.
fn hash(content: &[u8]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    let hashed = hasher.update_reader(GzDecoder::new(content)).map(|hasher| hasher.finalize());
    hashed.unwrap_or_else(|_| blake3::hash(content))
}

/// Formats the cause of an error, with its innermost cause, which `object_store` can omit.
fn in_full(error: &StoreError) -> String {
    let text = error.source().map_or_else(|| error.to_string(), ToString::to_string);
    let cause = requests::innermost(error).to_string();
    if text.contains(&cause) { text } else { format!("{text}: {cause}") }
}

const MAX_REDIRECTS: usize = 5;
/// A larger object is not compared.
const MAX_RESPONSE_BYTES: usize = 256 << 20;

/// A gateway of the organization as a store: each object is one request `PUT ADDRESS/NAME`. The gateway can redirect it, such as to a
/// presigned address of an object store, which does not get the gateway's headers.
#[derive(Debug, Clone)]
struct Gateway {
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

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::Compression;
    use flate2::bufread::GzEncoder;

    use super::*;

    #[test]
    fn a_file_that_was_cut_off_is_an_error_that_names_it_until_it_is_moved_away() {
        let dir = tempfile::tempdir().unwrap();
        let address = format!("file://{}", dir.path().display());
        let objects = Objects::open(&address, &ProfileFiles::default()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let create = || runtime.block_on(objects.create("d=1/name", b"rows".to_vec()));
        let file = dir.path().join("d=1/name");
        assert_eq!([create().unwrap(), create().unwrap()], [Created::Now, Created::Before]);
        std::fs::write(&file, "").unwrap();
        let error = create().unwrap_err().to_string();
        assert_eq!(error, format!("d=1/name in {address} exists with other content"));
        std::fs::remove_file(&file).unwrap();
        assert_eq!(create().unwrap(), Created::Now);
        assert_eq!(std::fs::read(&file).unwrap(), b"rows");
    }

    #[test]
    fn a_content_is_the_same_also_if_another_version_has_compressed_it() {
        let compressed = |text: &str, level| {
            let mut bytes = Vec::new();
            GzEncoder::new(text.repeat(99).as_bytes(), Compression::new(level))
                .read_to_end(&mut bytes)
                .unwrap();
            bytes
        };
        let (fast, best) = (compressed("row\n", 0), compressed("row\n", 9));
        assert!(fast != best && hash(&fast) == hash(&best));
        for other in [&compressed("raw\n", 9), &best[..best.len() - 1], b"row\n".repeat(9).as_slice(), b""] {
            assert!(hash(other) != hash(&best));
        }
        assert!(hash(b"a") == hash(b"a") && hash(b"a") != hash(b"b"));
    }
}
