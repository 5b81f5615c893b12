//! The settings of S3: those of the environment, and of profile files.

use std::sync::Arc;

use object_store::ClientConfigKey;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use teamkeep_system::error::{Error, Result};

use crate::credential_process::CredentialProcess;
use crate::profile::{self, ProfileFiles};

/// The settings for an address `s3://…`.
pub fn s3(address: &str, profiles: &ProfileFiles) -> Result<AmazonS3Builder> {
    let mut builder = with_profile(AmazonS3Builder::from_env(), profiles).with_url(address);
    if !has_credentials(&builder) {
        let name = profiles.profile.as_deref().unwrap_or("default");
        let line = profile::credential_process(profiles).ok_or_else(|| {
            let cause = format!("the profile {name:?} has no keys and no credential_process");
            Error::caused("there are no credentials for the object store", cause).hint(format!(
                "set AWS_* in the environment; or, with single sign-on or a role, add to the profile: \
                 credential_process = aws configure export-credentials --profile {name} --format process"
            ))
        })?;
        builder = builder.with_credentials(Arc::new(CredentialProcess::new(line)));
    }
    let allow_http = AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp);
    let endpoint = builder.get_config_value(&AmazonS3ConfigKey::Endpoint).unwrap_or_default();
    let is_allowed = builder.get_config_value(&allow_http).is_some_and(|value| {
        matches!(value.to_ascii_lowercase().as_str(), "1" | "true" | "on" | "yes" | "y")
    });
    // Later, the error of a request would not name the reason.
    if endpoint.starts_with("http://") && !is_allowed {
        return Err(Error::new("the address of the object store (AWS_ENDPOINT_URL) does not use TLS")
            .hint("use https://, or allow it with AWS_ALLOW_HTTP=true"));
    }
    Ok(builder.with_config(allow_http, is_allowed.to_string()))
}

/// All of at least one of these lists must be set. Without credentials, `object_store` would ask a server of the cloud for
/// some, which on other machines is an address that does not answer.
const S3_CREDENTIALS: &[&[AmazonS3ConfigKey]] = &[
    &[AmazonS3ConfigKey::AccessKeyId],
    &[AmazonS3ConfigKey::WebIdentityTokenFile, AmazonS3ConfigKey::RoleArn],
    &[AmazonS3ConfigKey::ContainerCredentialsRelativeUri],
    &[AmazonS3ConfigKey::ContainerCredentialsFullUri, AmazonS3ConfigKey::ContainerAuthorizationTokenFile],
    &[AmazonS3ConfigKey::MetadataEndpoint],
    &[AmazonS3ConfigKey::SkipSignature],
];
/// Whether a setting is present and not off. An empty value is off; `object_store` rejects it.
fn is_on(value: Option<&str>) -> bool {
    value.is_some_and(|value| {
        !matches!(value.to_ascii_lowercase().as_str(), "" | "0" | "false" | "off" | "no" | "n")
    })
}

fn has_credentials(builder: &AmazonS3Builder) -> bool {
    let is_set = |key: &AmazonS3ConfigKey| is_on(builder.get_config_value(key).as_deref());
    S3_CREDENTIALS.iter().any(|keys| keys.iter().all(is_set))
}

/// Adds what the environment does not set: credentials only as a whole.
fn with_profile(env: AmazonS3Builder, profiles: &ProfileFiles) -> AmazonS3Builder {
    let is_set = |key: &AmazonS3ConfigKey| env.get_config_value(key).is_some();
    let has_credentials = has_credentials(&env);
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
        let identity = set(AmazonS3ConfigKey::WebIdentityTokenFile, "/token");
        assert_eq!(key(identity.clone()).as_deref(), Some("A"), "it needs a role");
        assert_eq!(key(identity.with_config(AmazonS3ConfigKey::RoleArn, "r")), None);
    }
}
