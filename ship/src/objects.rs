//! The object store: objects are created once and never changed.

use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{
    ClientConfigKey, ObjectStore, ObjectStoreExt, ObjectStoreScheme, PutMode, PutOptions, RetryConfig,
};
use teamkeep_core::error::{Error, Result};
use url::Url;

use crate::profile::{self, ProfileFiles};

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

impl Objects {
    /// Opens the store at an address such as `s3://bucket/prefix`. This makes no request.
    pub fn open(address: &str, profiles: &ProfileFiles) -> Result<Objects> {
        let failed = |error: object_store::Error| {
            Error::caused(format!("cannot use the object store {address}"), error).hint(
                "check `ship.store` in the configuration, and the environment: AWS_*, GOOGLE_* or AZURE_*",
            )
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
                let builder = with_profile(AmazonS3Builder::from_env(), profiles).with_url(address);
                let of_profile =
                    profiles.profile.as_ref().map(|profile| format!("the profile {profile:?} has no keys"));
                require(S3_CREDENTIALS, |key| builder.get_config_value(key), of_profile)?;
                check_tls(&builder)?;
                let builder = builder.with_config(timeout, REQUEST_TIMEOUT).with_retry(retry);
                Arc::new(builder.build().map_err(failed)?)
            }
            ObjectStoreScheme::GoogleCloudStorage => {
                let timeout = GoogleConfigKey::Client(ClientConfigKey::Timeout);
                let builder = GoogleCloudStorageBuilder::from_env().with_url(address);
                if !profiles.google.as_ref().is_some_and(|file| file.is_file()) {
                    require(GOOGLE_CREDENTIALS, |key| builder.get_config_value(key), None)?;
                }
                let builder = builder.with_config(timeout, REQUEST_TIMEOUT).with_retry(retry);
                Arc::new(builder.build().map_err(failed)?)
            }
            ObjectStoreScheme::MicrosoftAzure => {
                let timeout = AzureConfigKey::Client(ClientConfigKey::Timeout);
                let builder = MicrosoftAzureBuilder::from_env().with_url(address);
                require(AZURE_CREDENTIALS, |key| builder.get_config_value(key), None)?;
                let builder = builder.with_config(timeout, REQUEST_TIMEOUT).with_retry(retry);
                Arc::new(builder.build().map_err(failed)?)
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
            Err(error) => Err(self.failed("create", name, error)),
        }
    }

    /// Reads a whole object.
    pub async fn read(&self, name: &str) -> Result<Vec<u8>> {
        let path = self.path(name);
        let read = async { self.store.get(&path).await?.bytes().await };
        read.await.map(Into::into).map_err(|error| self.failed("read", name, error))
    }

    /// The path of an object. The parts of its name are separated by slashes.
    fn path(&self, name: &str) -> Path {
        if name.is_empty() {
            return self.prefix.clone();
        }
        self.prefix.parts().chain(Path::from(name).parts()).collect()
    }

    fn failed(&self, verb: &str, name: &str, error: object_store::Error) -> Error {
        let is_refused = matches!(
            error,
            object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. }
        );
        let what = match name {
            "" => format!("cannot {verb} {}", self.address),
            name => format!("cannot {verb} {name} in {}", self.address),
        };
        let error = Error::caused(what, error);
        if is_refused { error.hint("check the credentials and their permissions") } else { error }
    }
}

/// The settings of which one must be there. Without credentials, `object_store` would ask a server of the cloud for
/// some, which on other machines is an address that does not answer.
const S3_CREDENTIALS: &[AmazonS3ConfigKey] = &[
    AmazonS3ConfigKey::AccessKeyId,
    AmazonS3ConfigKey::WebIdentityTokenFile,
    AmazonS3ConfigKey::ContainerCredentialsRelativeUri,
    AmazonS3ConfigKey::ContainerCredentialsFullUri,
    AmazonS3ConfigKey::MetadataEndpoint,
    AmazonS3ConfigKey::SkipSignature,
];
const GOOGLE_CREDENTIALS: &[GoogleConfigKey] = &[
    GoogleConfigKey::ServiceAccount,
    GoogleConfigKey::ServiceAccountKey,
    GoogleConfigKey::ApplicationCredentials,
    GoogleConfigKey::BearerToken,
    GoogleConfigKey::SkipSignature,
];
const AZURE_CREDENTIALS: &[AzureConfigKey] = &[
    AzureConfigKey::AccessKey,
    AzureConfigKey::SasKey,
    AzureConfigKey::Token,
    AzureConfigKey::ClientSecret,
    AzureConfigKey::FederatedTokenFile,
    AzureConfigKey::MsiEndpoint,
    AzureConfigKey::UseAzureCli,
    AzureConfigKey::UseEmulator,
    AzureConfigKey::SkipSignature,
];

/// Whether a setting is there. Flags that are off do not count.
fn is_on(value: Option<&str>) -> bool {
    value.is_some_and(|value| !matches!(value, "" | "false"))
}

/// Checks that there are credentials. `why` explains why there may be none.
fn require<K>(keys: &[K], value: impl Fn(&K) -> Option<String>, why: Option<String>) -> Result<()> {
    if keys.iter().any(|key| is_on(value(key).as_deref())) {
        return Ok(());
    }
    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
    Err(Error::new(format!("there are no credentials for the object store{why}")).hint(
        "set them in the environment (AWS_*, GOOGLE_* or AZURE_*), or in a profile file such as ~/.aws/credentials",
    ))
}

/// Checks that an address without TLS is allowed: later, the error of a request would not name the reason.
fn check_tls(builder: &AmazonS3Builder) -> Result<()> {
    let endpoint = builder.get_config_value(&AmazonS3ConfigKey::Endpoint).unwrap_or_default();
    let is_allowed = builder.get_config_value(&AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp));
    if !endpoint.starts_with("http://") || is_on(is_allowed.as_deref()) {
        return Ok(());
    }
    let error = Error::new("the address of the object store (AWS_ENDPOINT_URL) is without TLS");
    Err(error.hint("use https://, or allow it with AWS_ALLOW_HTTP=true"))
}

/// Adds what the environment does not set: credentials only as a whole.
fn with_profile(env: AmazonS3Builder, profiles: &ProfileFiles) -> AmazonS3Builder {
    let is_set = |key: &AmazonS3ConfigKey| env.get_config_value(key).is_some();
    let has_credentials = S3_CREDENTIALS.iter().any(|key| is_on(env.get_config_value(key).as_deref()));
    let missing = profile::settings(profiles).into_iter().filter(|(key, _)| match key {
        AmazonS3ConfigKey::Region | AmazonS3ConfigKey::Endpoint => !is_set(key),
        _ => !has_credentials,
    });
    let missing: Vec<_> = missing.collect();
    missing.into_iter().fold(env, |builder, (key, value)| builder.with_config(key, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_of_any_kind_in_the_environment_come_before_a_profile() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("credentials");
        std::fs::write(&path, "[default]\naws_access_key_id = A\naws_secret_access_key = B\nregion = r\n")
            .unwrap();
        let profiles = ProfileFiles { credentials: Some(path), ..ProfileFiles::default() };
        let key = |environment: AmazonS3Builder| {
            let all = with_profile(environment, &profiles);
            assert_eq!(all.get_config_value(&AmazonS3ConfigKey::Region).as_deref(), Some("r"));
            all.get_config_value(&AmazonS3ConfigKey::AccessKeyId)
        };
        let set = |name, value: &str| AmazonS3Builder::new().with_config(name, value);
        assert_eq!(key(AmazonS3Builder::new()).as_deref(), Some("A"));
        assert_eq!(key(set(AmazonS3ConfigKey::SkipSignature, "false")).as_deref(), Some("A"));
        assert_eq!(key(set(AmazonS3ConfigKey::AccessKeyId, "E")).as_deref(), Some("E"));
        assert_eq!(key(set(AmazonS3ConfigKey::WebIdentityTokenFile, "/token")), None);
    }
}
