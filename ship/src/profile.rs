//! The profile files of AWS, which `object_store` does not read.

use std::path::{Path, PathBuf};

use object_store::aws::AmazonS3ConfigKey;
use teamkeep_system::fs;

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
pub fn settings(files: &ProfileFiles) -> Vec<(AmazonS3ConfigKey, String)> {
    all(files).into_iter().filter_map(|(key, value)| Some((known(&key)?, value))).collect()
}

/// The command line of the profile that prints credentials.
pub fn credential_process(files: &ProfileFiles) -> Option<String> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(settings(&files), [(AmazonS3ConfigKey::AccessKeyId, "A".to_owned())]);
        files.profile = Some("team".to_owned());
        assert_eq!(
            settings(&files),
            [
                (AmazonS3ConfigKey::Region, "eu-west-1".to_owned()),
                (AmazonS3ConfigKey::AccessKeyId, "B".to_owned()),
                (AmazonS3ConfigKey::SecretAccessKey, "s=t".to_owned()),
            ]
        );
        files.profile = Some("none".to_owned());
        assert_eq!(settings(&files), []);
        assert_eq!(settings(&ProfileFiles::default()), []);
    }
}
