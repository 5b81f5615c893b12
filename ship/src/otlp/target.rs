//! The addresses of a receiver, and the credentials that errors do not show.

use reqwest::header::HeaderMap;
use teamkeep_system::error::{Error, Result};
use url::Url;

/// A kind of telemetry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    Logs,
    Traces,
}

impl Signal {
    pub fn name(self) -> &'static str {
        match self {
            Signal::Logs => "logs",
            Signal::Traces => "traces",
        }
    }

    /// The address for a signal, below the base address.
    pub(super) fn address(self, base: &str) -> Result<Url> {
        let invalid = |why: String| {
            Error::usage(format!("invalid address of the OTLP receiver in ship.otlp: {why}"))
                .hint("use a base address such as https://collector.example.com:4318")
        };
        let mut address = Url::parse(base).map_err(|error| invalid(error.to_string()))?;
        if !matches!(address.scheme(), "http" | "https") || address.host_str().is_none() {
            return Err(invalid("it is not an http or https address".to_owned()));
        }
        let path = format!("{}/v1/{}", address.path().trim_end_matches('/'), self.name());
        address.set_path(&path);
        Ok(address)
    }
}

/// The shortest part of a header that is replaced in a receiver's words.
const MIN_SECRET_CHARS: usize = 6;

/// Credentials, which a receiver may quote and errors do not show.
pub struct Secrets(Vec<String>);

impl std::fmt::Debug for Secrets {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Secrets({})", self.0.len())
    }
}

impl Secrets {
    pub fn of(headers: &HeaderMap) -> Secrets {
        let values = headers.values().filter_map(|value| value.to_str().ok());
        let parts = values.flat_map(|value| [value].into_iter().chain(value.split([' ', '=', ','])));
        let mut secrets: Vec<String> = parts.map(str::to_owned).collect();
        secrets.retain(|secret| secret.chars().count() >= MIN_SECRET_CHARS);
        // The whole value before its parts.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Secrets(secrets)
    }

    pub fn hide(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret, "[hidden]"))
    }
}
