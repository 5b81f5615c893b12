//! `[notify]`: where incidents of running teams are sent.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::kinds::{ListOf, Span, ValueKind as _, checked, word};

/// The kinds of incidents in `teamkeep report`.
pub const INCIDENT_KINDS: &[&str] = &[
    "crashed-lead",
    "crashed-agent",
    "failed-agent",
    "stalled-agent",
    "lost-work",
    "tasks-deleted",
    "waiting-permission",
    "waiting-approval",
    "blocked-chain",
    "unread-message",
    "unknown-recipient",
    "false-completion",
    "duplicate-agents",
    "policy-escalated",
    "unfinished-work",
    "idle-ping-pong",
];

kinds! {
    IncidentKind(String): "a string", {"enum": INCIDENT_KINDS}, |text| word(text, INCIDENT_KINDS), String::clone;
    HttpAddress(String): "a string", {"type": "string"}, |text| checked(text, check_url), String::clone;
    FilePath(String): "a string", {"type": "string"}, |text| checked(text, check_path), String::clone;
}

section! {
    pub struct Notify {
        pub command: String = String::new(),
        #[serde(with = "HttpAddress")]
        pub url: String = String::new(),
        #[serde(with = "FilePath")]
        pub secret_file: String = String::new(),
        /// All kinds if it is empty.
        #[serde(with = "ListOf::<IncidentKind>")]
        pub kinds: Vec<String> = Vec::new(),
        pub severity: LeastSeverity = LeastSeverity::Medium,
        #[serde(with = "Span")]
        pub quiet: Duration = Duration::from_secs(600),
    }
}

words! {
    pub enum LeastSeverity {
        Low = "low",
        Medium = "medium",
        High = "high",
    }
}

impl Notify {
    /// Whether anything is to be sent.
    pub fn is_configured(&self) -> bool {
        self.has_command() || !self.url.is_empty()
    }

    pub fn has_command(&self) -> bool {
        !self.command.trim().is_empty()
    }

    /// The path of the secret; `None` without one. `~/` is the home directory.
    pub fn secret_path(&self, home: Option<&Path>) -> Option<PathBuf> {
        below_home(&self.secret_file, home)
    }
}

/// The path of a file; `None` without one. `~/` is the home directory.
pub(super) fn below_home(file: &str, home: Option<&Path>) -> Option<PathBuf> {
    match (file.strip_prefix("~/"), home) {
        _ if file.is_empty() => None,
        (Some(below), home) => home.map(|home| home.join(below)),
        (None, _) => Some(PathBuf::from(file)),
    }
}

/// Checks an address: http or https, and only characters that an address has.
pub fn check_url(url: &str) -> Result<(), String> {
    if url.is_empty() {
        return Ok(());
    }
    let rest = ["http://", "https://"].iter().find_map(|scheme| url.strip_prefix(scheme));
    let Some(rest) = rest else {
        return Err("invalid address; expected one that starts with http:// or https://".to_owned());
    };
    if rest.is_empty() || rest.starts_with(['/', '?', '#', ':']) {
        return Err("the address names no host".to_owned());
    }
    let is_plain = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '\\' | '<' | '>');
    if !url.chars().all(is_plain) {
        return Err("the address has spaces, quotes or characters that need encoding".to_owned());
    }
    Ok(())
}

pub(super) fn check_path(path: &str) -> Result<(), String> {
    match path.is_empty() || path.starts_with("~/") || Path::new(path).is_absolute() {
        true => Ok(()),
        false => Err("invalid path; expected an absolute one, or one that starts with ~/".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_http_or_https_with_a_host() {
        for good in ["", "https://example.com", "http://127.0.0.1:8080/hook?a=b&c=%20", "https://u:p@h/[x]"] {
            assert_eq!(check_url(good), Ok(()), "{good}");
        }
        for bad in [
            "example.com",
            "ftp://example.com",
            "HTTPS//example.com",
            "https://",
            "https:///path",
            "http://:80",
            "https://example.com/a b",
            "https://example.com/\"",
            "https://example.com/\n",
            "https://example.com/\\",
            "https://exämple.com",
            "file:///etc/passwd",
        ] {
            assert!(check_url(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_secret_is_below_the_home_directory_or_has_an_absolute_path() {
        let notify = |secret: &str| Notify { secret_file: secret.to_owned(), ..Notify::default() };
        let path = |secret: &str| notify(secret).secret_path(Some(Path::new("/home/u")));
        assert_eq!(path(""), None);
        assert_eq!(path("~/s"), Some(PathBuf::from("/home/u/s")));
        assert_eq!(path("/etc/s"), Some(PathBuf::from("/etc/s")));
        assert!(check_path("secret").is_err() && check_path("~other/x").is_err());
    }

    #[test]
    fn nothing_is_configured_by_default() {
        assert!(!Notify::default().is_configured());
        assert!(!Notify { command: " ".to_owned(), ..Notify::default() }.is_configured());
        assert!(Notify { command: "cat".to_owned(), ..Notify::default() }.is_configured());
        assert!(Notify { url: "http://h".to_owned(), ..Notify::default() }.is_configured());
    }
}
