//! The signature of a post: HMAC-SHA256 by a secret that the user and the receiver know.

use std::io::ErrorKind;
use std::path::Path;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use teamkeep_model::time::Timestamp;
use teamkeep_system::command::quoted;
use teamkeep_system::error::{Error, Result};
use teamkeep_system::fs;

/// A secret. It is never shown.
pub struct Secret(Vec<u8>);

/// How to create the file.
fn create(path: &Path) -> String {
    format!("to create it: (umask 077; openssl rand -hex 32 > {})", quoted(&path.to_string_lossy()))
}

impl Secret {
    /// Reads a secret, without the white space around it.
    ///
    /// # Errors
    /// The file cannot be read, is empty, or others have access to it.
    pub fn read(path: &Path) -> Result<Secret> {
        let bytes = fs::read_private(path, fs::MAX_SECRET_BYTES).map_err(|error| {
            let hint = match error.kind() {
                ErrorKind::NotFound => Some(create(path)),
                ErrorKind::PermissionDenied => Some(format!("chmod 600 {}", path.display())),
                _ => None,
            };
            Error::caused("cannot read the secret", error).maybe_hint(hint)
        })?;
        let secret = bytes.trim_ascii().to_vec();
        if secret.is_empty() {
            let what = format!("the secret in {} is empty", path.display());
            return Err(Error::new(what).hint(create(path)));
        }
        Ok(Secret(secret))
    }

    /// The value of the header: `t=UNIX,v1=HEX`, where the signed text is `UNIX.BODY`.
    ///
    /// # Errors
    /// Never in fact: every key has a valid length.
    pub fn sign(&self, at: Timestamp, body: &str) -> Result<String> {
        let unix = at.millis().div_euclid(1_000);
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0)
            .map_err(|error| Error::caused("cannot sign the notification", error))?;
        mac.update(format!("{unix}.").as_bytes());
        mac.update(body.as_bytes());
        let hex: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(format!("t={unix},v1={hex}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    fn mac(key: &[u8], text: &[u8]) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
        mac.update(text);
        mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn the_hash_is_that_of_rfc_4231() {
        assert_eq!(
            mac(b"Jefe", b"what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
    }

    #[test]
    fn the_signature_covers_the_time_and_the_body() {
        let at = Timestamp::from_millis(1_770_091_506_789).unwrap();
        let header = Secret(b"s3cret".to_vec()).sign(at, "{}").unwrap();
        assert_eq!(header, format!("t=1770091506,v1={}", mac(b"s3cret", b"1770091506.{}")));
        assert!(include_str!("../../docs/guides/watch-a-run.md").contains(&header), "{header}");
    }

    #[test]
    fn a_secret_is_private_and_not_empty() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secret");
        let read = |text: &str, mode: u32| {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            Secret::read(&path).map(|secret| secret.0).map_err(|error| {
                let is_hinted = error.hints.iter().any(|hint| hint.contains("openssl rand"));
                assert_eq!(is_hinted, text.trim().is_empty(), "{error}");
                error.to_string()
            })
        };
        assert_eq!(read("s3cret\n", 0o600).unwrap(), b"s3cret");
        assert!(
            read("s3cret", 0o640).unwrap_err().contains("cannot read the secret: other users have access to")
        );
        assert!(read(" \n", 0o600).unwrap_err().ends_with(" is empty"));
        assert!(read(&"x".repeat(70_000), 0o600).is_err());
        let missing = Secret::read(&dir.path().join("none")).err().unwrap();
        assert!(Secret::read(dir.path()).is_err() && missing.hints[0].contains("openssl rand"));
    }
}
