//! The settings of S3: those of the environment, and of the profile files of AWS, which `object_store` does not read; and credentials
//! that a program prints, `credential_process` of a profile. Their format is version 1 of
//! <https://docs.aws.amazon.com/sdkref/latest/guide/feature-process-credentials.html>.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use chrono::TimeDelta;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, AwsCredential};
use object_store::{ClientConfigKey, CredentialProvider};
use serde::Deserialize;

use teamkeep_model::time::{self, Timestamp};
use teamkeep_model::words::one_line;
use teamkeep_system::clock::Clock;
use teamkeep_system::error::{Error, Result};
use teamkeep_system::fs;
use teamkeep_system::os::process::TimedInput;
use teamkeep_system::process::{MAX_OUTPUT_BYTES, Outcome, Run, program, shell_code};

/// The settings for an address `s3://…`.
pub fn s3(address: &str, profiles: &ProfileFiles) -> Result<AmazonS3Builder> {
    let mut builder = with_profile(AmazonS3Builder::from_env(), profiles).with_url(address);
    if !has_credentials(&builder) {
        let name = profiles.profile.as_deref().unwrap_or("default");
        let line = credential_process(profiles).ok_or_else(|| {
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
    let missing = profile_settings(profiles).into_iter().filter(|(key, _)| match key {
        AmazonS3ConfigKey::Region | AmazonS3ConfigKey::Endpoint => !is_set(key),
        _ => !has_credentials,
    });
    let missing: Vec<_> = missing.collect();
    missing.into_iter().fold(env, |builder, (key, value)| builder.with_config(key, value))
}

const MAX_BYTES: u64 = 1 << 20;

/// Where profiles are.
#[derive(Debug, Clone, Default)]
pub struct ProfileFiles {
    /// `~/.aws/credentials`
    pub credentials: Option<PathBuf>,
    /// `~/.aws/config`
    pub config: Option<PathBuf>,
    /// `default` if it is not set.
    pub profile: Option<String>,
    /// The headers for a gateway.
    pub headers: Option<PathBuf>,
}

/// The settings of the profile that `object_store` knows. A file that cannot be read has none.
fn profile_settings(files: &ProfileFiles) -> Vec<(AmazonS3ConfigKey, String)> {
    all(files).into_iter().filter_map(|(key, value)| Some((known(&key)?, value))).collect()
}

/// The command line of the profile that prints credentials.
fn credential_process(files: &ProfileFiles) -> Option<String> {
    all(files).into_iter().find(|(key, _)| key == "credential_process").map(|(_, line)| line)
}

fn all(files: &ProfileFiles) -> Vec<(String, String)> {
    let profile = files.profile.as_deref().unwrap_or("default");
    let read = |path: &Option<PathBuf>| path.as_deref().map(read_text).unwrap_or_default();
    let (credentials, config) = (read(&files.credentials), read(&files.config));
    let in_config = if profile == "default" { profile.to_owned() } else { format!("profile {profile}") };
    let found = section(&config, &in_config).chain(section(&credentials, profile));
    found.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

fn read_text(path: &Path) -> String {
    let bytes = fs::read_linked(path, MAX_BYTES).map(|(bytes, _)| bytes).unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}

fn known(key: &str) -> Option<AmazonS3ConfigKey> {
    Some(match key {
        "aws_access_key_id" => AmazonS3ConfigKey::AccessKeyId,
        "aws_secret_access_key" => AmazonS3ConfigKey::SecretAccessKey,
        "aws_session_token" => AmazonS3ConfigKey::Token,
        "region" => AmazonS3ConfigKey::Region,
        "endpoint_url" => AmazonS3ConfigKey::Endpoint,
        _ => return None,
    })
}

/// The keys and values of a section. Indented lines belong to the key before, and are not used.
fn section<'a>(text: &'a str, name: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let heading = |line: &'a str| Some(line.strip_prefix('[')?.split_once(']')?.0.trim());
    let lines = text.lines().skip_while(move |line| heading(line) != Some(name)).skip(1);
    let own = lines.take_while(|line| !line.starts_with('['));
    let plain = own.filter(|line| !line.starts_with([' ', '\t', '#', ';']));
    plain.filter_map(|line| line.split_once('=')).map(|(key, value)| (key.trim(), value.trim()))
}

const TIME_LIMIT: Duration = Duration::from_secs(60);
/// The part of its errors that an error shows.
const MAX_QUOTED_BYTES: usize = 500;
/// Credentials are replaced this long before they expire.
const REFRESH_BEFORE: TimeDelta = TimeDelta::minutes(5);

#[derive(Debug)]
struct CredentialProcess {
    /// Split as by a shell, which does not run it.
    line: String,
    last: Mutex<Option<(Arc<AwsCredential>, Option<Timestamp>)>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Printed {
    version: u32,
    access_key_id: String,
    secret_access_key: String,
    session_token: Option<String>,
    expiration: Option<String>,
}

#[async_trait]
impl CredentialProvider for CredentialProcess {
    type Credential = AwsCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AwsCredential>> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let needed_until = Clock::new(None).now() + REFRESH_BEFORE;
        if let Some((credential, expires)) = &*last
            && expires.is_none_or(|expires| expires > needed_until)
        {
            return Ok(Arc::clone(credential));
        }
        let printed = self.run()?;
        // An invalid time is one that has passed.
        let expires = printed.expiration.map(|text| time::parse(&text).unwrap_or_default());
        let credential = Arc::new(AwsCredential {
            key_id: printed.access_key_id,
            secret_key: printed.secret_access_key,
            token: printed.session_token,
        });
        *last = Some((Arc::clone(&credential), expires));
        Ok(credential)
    }
}

impl CredentialProcess {
    fn new(line: String) -> CredentialProcess {
        CredentialProcess { line, last: Mutex::default() }
    }

    fn run(&self) -> object_store::Result<Printed> {
        let words = shlex::split(&self.line).unwrap_or_default();
        let name = words.first().map_or("", String::as_str);
        let failed = |why: &str| object_store::Error::Generic {
            store: "credential_process",
            source: format!("credential_process {name:?}: {why}").into(),
        };
        let mut command = program(name);
        command.args(words.get(1..).unwrap_or_default());
        let (outcome, output, errors) = run(command).map_err(|error| failed(&error.to_string()))?;
        let why = match outcome {
            Outcome::Ended(status) if status.success() => match serde_json::from_slice(&output) {
                Ok(printed @ Printed { version: 1, .. }) => return Ok(printed),
                // The error of the parser can quote a secret.
                _ => "it did not print JSON of version 1 with AccessKeyId and SecretAccessKey".to_owned(),
            },
            Outcome::Ended(status) => format!("exit code {}", shell_code(status)),
            Outcome::TimedOut => format!("it did not end within {} s", TIME_LIMIT.as_secs()),
            Outcome::Stopped => "its output is too large".to_owned(),
        };
        Err(failed(&format!("{why}: {}", one_line(&errors.replace(char::is_control, " ")))))
    }
}

/// Runs a command. Returns its output, and the beginning of its errors, which must fit into a pipe.
fn run(command: Command) -> io::Result<(Outcome, Vec<u8>, String)> {
    let (reader, writer) = io::pipe()?;
    let run = Run { stderr: writer.into(), ..Run::new(command, TIME_LIMIT) };
    let (outcome, output) = run.collect(MAX_OUTPUT_BYTES)?;
    let mut errors = [0; MAX_QUOTED_BYTES];
    // A process that it leaves behind can hold the pipe open.
    let read = TimedInput::new(reader).read(&mut errors, Duration::ZERO);
    let count = read.ok().flatten().unwrap_or_default();
    Ok((outcome, output, String::from_utf8_lossy(&errors[..count]).into_owned()))
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

    #[test]
    fn the_named_profile_is_read_from_both_files() {
        let dir = tempfile::tempdir().unwrap();
        let [credentials, config] = ["credentials", "config"].map(|name| dir.path().join(name));
        std::fs::write(
            &credentials,
            "[default]\naws_access_key_id = A\n[team]\n# comment\naws_access_key_id=B\naws_secret_access_key = s=t\n",
        )
        .unwrap();
        std::fs::write(
            &config,
            "[profile team]\nregion = eu-west-1\ns3 =\n  endpoint_url = nested\n[profile x]\nregion = y\n",
        )
        .unwrap();
        let mut files =
            ProfileFiles { credentials: Some(credentials), config: Some(config), ..ProfileFiles::default() };
        assert_eq!(profile_settings(&files), [(AmazonS3ConfigKey::AccessKeyId, "A".to_owned())]);
        files.profile = Some("team".to_owned());
        assert_eq!(
            profile_settings(&files),
            [
                (AmazonS3ConfigKey::Region, "eu-west-1".to_owned()),
                (AmazonS3ConfigKey::AccessKeyId, "B".to_owned()),
                (AmazonS3ConfigKey::SecretAccessKey, "s=t".to_owned()),
            ]
        );
        files.profile = Some("none".to_owned());
        assert_eq!(profile_settings(&files), []);
        assert_eq!(profile_settings(&ProfileFiles::default()), []);
    }
}
