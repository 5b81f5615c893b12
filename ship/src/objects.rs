//! The object store: objects are created once and never changed.

use std::sync::Arc;
use std::time::Duration;

use object_store::aws::AmazonS3ConfigKey;
use object_store::azure::AzureConfigKey;
use object_store::gcp::GoogleConfigKey;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{
    ClientConfigKey, ObjectStore, ObjectStoreExt, ObjectStoreScheme, PutMode, PutOptions, RetryConfig,
};
use teamkeep_core::error::{Error, Result};
use url::Url;

use crate::profile::ProfileFiles;
use crate::{store_settings, tls_problem};

/// How long one request may take, in the notation of `object_store`. Objects have up to some 32 MiB.
const REQUEST_TIMEOUT: &str = "120 seconds";
/// How long a request is repeated while the store is out of reach. The next shipment continues.
const RETRY_TIMEOUT: Duration = Duration::from_secs(60);
const MAX_RETRIES: usize = 8;

/// A bucket, or a directory, and the beginning of all names in it.
#[derive(Debug, Clone)]
pub struct Objects {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
    address: String,
}

/// Whether an object was created by this call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Created {
    Now,
    Before,
}

#[derive(Debug, Clone, Copy)]
enum Verb {
    Create,
    Read,
}

impl Objects {
    /// Opens the store at an address such as `s3://bucket/prefix`. This makes no request.
    pub fn open(address: &str, profiles: &ProfileFiles) -> Result<Objects> {
        let failed = |error: object_store::Error| {
            let hint = match tls_problem::is_tls(&error) {
                true => tls_problem::NO_CERTIFICATES,
                false => {
                    "check `ship.store` in the configuration, and the environment: AWS_*, GOOGLE_* or AZURE_*"
                }
            };
            Error::caused(format!("cannot use the object store {address}"), in_full(&error)).hint(hint)
        };
        let url = Url::parse(address).map_err(|error| {
            Error::caused(format!("invalid address {address:?} of an object store"), error)
        })?;
        let (scheme, prefix) = ObjectStoreScheme::parse(&url).map_err(|error| failed(error.into()))?;
        let retry =
            RetryConfig { max_retries: MAX_RETRIES, retry_timeout: RETRY_TIMEOUT, ..RetryConfig::default() };
        let store: Arc<dyn ObjectStore> = match scheme {
            ObjectStoreScheme::AmazonS3 => {
                let timeout = AmazonS3ConfigKey::Client(ClientConfigKey::Timeout);
                let builder = store_settings::s3(address, profiles)?.with_config(timeout, REQUEST_TIMEOUT);
                Arc::new(builder.with_retry(retry).build().map_err(failed)?)
            }
            ObjectStoreScheme::GoogleCloudStorage => {
                let timeout = GoogleConfigKey::Client(ClientConfigKey::Timeout);
                let builder =
                    store_settings::google(address, profiles)?.with_config(timeout, REQUEST_TIMEOUT);
                Arc::new(builder.with_retry(retry).build().map_err(failed)?)
            }
            ObjectStoreScheme::MicrosoftAzure => {
                let timeout = AzureConfigKey::Client(ClientConfigKey::Timeout);
                let builder = store_settings::azure(address)?.with_config(timeout, REQUEST_TIMEOUT);
                Arc::new(builder.with_retry(retry).build().map_err(failed)?)
            }
            ObjectStoreScheme::Local => Arc::new(LocalFileSystem::new()),
            _ => {
                return Err(Error::new(format!(
                    "unsupported object store {address:?}; expected s3://, gs://, az:// or file://"
                )));
            }
        };
        Ok(Objects { store, prefix, address: address.to_owned() })
    }

    /// Creates an object unless there is one with this name.
    pub async fn create(&self, name: &str, content: Vec<u8>) -> Result<Created> {
        let path = self.path(name);
        let options = PutOptions::from(PutMode::Create);
        match self.store.put_opts(&path, content.into(), options).await {
            Ok(_) => Ok(Created::Now),
            Err(object_store::Error::AlreadyExists { .. }) => Ok(Created::Before),
            Err(error) => Err(self.failed(Verb::Create, name, error)),
        }
    }

    /// Reads a whole object.
    pub async fn read(&self, name: &str) -> Result<Vec<u8>> {
        let path = self.path(name);
        let read = async { self.store.get(&path).await?.bytes().await };
        read.await.map(Into::into).map_err(|error| self.failed(Verb::Read, name, error))
    }

    /// The path of an object. The parts of its name are separated by slashes.
    fn path(&self, name: &str) -> Path {
        if name.is_empty() {
            return self.prefix.clone();
        }
        self.prefix.parts().chain(Path::from(name).parts()).collect()
    }

    fn failed(&self, verb: Verb, name: &str, error: object_store::Error) -> Error {
        let (verb, missing) = match verb {
            Verb::Create => ("create", "create the bucket or container first"),
            Verb::Read => ("read", "check the address: no such object"),
        };
        let what = match name {
            "" => format!("cannot {verb} {}", self.address),
            name => format!("cannot {verb} {name} in {}", self.address),
        };
        let hint = match error {
            object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. } => {
                Some("check the credentials and their permissions")
            }
            object_store::Error::NotFound { .. } => Some(missing),
            _ => tls_problem::hint(&error),
        };
        Error::caused(what, in_full(&error)).maybe_hint(hint)
    }
}

/// Formats an error with its innermost cause, which `object_store` can omit.
fn in_full(error: &object_store::Error) -> String {
    let (text, cause) = (error.to_string(), tls_problem::innermost(error).to_string());
    if text.contains(&cause) { text } else { format!("{text}: {cause}") }
}
