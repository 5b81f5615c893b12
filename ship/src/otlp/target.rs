//! Where telemetry is sent: address, encoding and headers.

use std::fmt;

use teamkeep_core::config::OtlpEncoding;
use teamkeep_core::error::{Error, Result};
use url::Url;

use super::Signal;

/// An OTLP/HTTP receiver.
#[derive(Debug, Clone)]
pub struct OtlpTarget {
    /// The base address, to which `/v1/traces`, `/v1/logs` and `/v1/metrics` are appended.
    pub base: String,
    pub encoding: OtlpEncoding,
    pub headers: Headers,
}

impl OtlpTarget {
    /// The address for a signal. Errors do not quote it: it may have credentials.
    pub(super) fn address(&self, signal: Signal) -> Result<Url> {
        let invalid = |why: &str| {
            Error::usage(format!("invalid address of the OTLP receiver in ship.otlp: {why}"))
                .hint("use a base address such as https://collector.example.com:4318")
        };
        let mut address = Url::parse(&self.base).map_err(|error| invalid(&error.to_string()))?;
        if !matches!(address.scheme(), "http" | "https") || address.host_str().is_none() {
            return Err(invalid("it is not an http or https address"));
        }
        let base = address.path().trim_end_matches('/').to_owned();
        if ["/v1/traces", "/v1/logs", "/v1/metrics"].iter().any(|path| base.ends_with(path)) {
            return Err(invalid("the paths of the signals are appended to it, so it cannot end with one"));
        }
        address.set_path(&format!("{base}/v1/{}", signal.name()));
        address.set_fragment(None);
        Ok(address)
    }
}

/// An address for people, without user, password and query.
pub(super) fn shown(address: &Url) -> String {
    let port = address.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}{}", address.scheme(), address.host_str().unwrap_or_default(), address.path())
}

/// Headers for every request, usually with credentials. Their values are never shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Headers(Vec<(String, String)>);

impl Headers {
    /// Parses lines `Name: value`. Empty lines and lines that begin with `#` are ignored.
    pub fn parse(text: &str) -> Result<Headers> {
        let lines = text.lines().map(str::trim).enumerate();
        let headers =
            lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).map(|(index, line)| {
                let header = line.split_once(':').map(|(name, value)| (name.trim(), value.trim()));
                let is_valid = |(name, value): &(&str, &str)| {
                    reqwest::header::HeaderName::from_bytes(name.as_bytes()).is_ok()
                        && reqwest::header::HeaderValue::from_str(value).is_ok()
                        && !value.is_empty()
                };
                let (name, value) = header.filter(is_valid).ok_or_else(|| {
                    Error::usage(format!("invalid header in line {}; expected Name: value", index + 1))
                })?;
                Ok((name.to_owned(), value.to_owned()))
            });
        headers.collect::<Result<_>>().map(Headers)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(base: &str) -> Result<String> {
        let (base, encoding) = (base.to_owned(), OtlpEncoding::Protobuf);
        let target = OtlpTarget { base, encoding, headers: Headers::default() };
        target.address(Signal::Logs).map(String::from)
    }

    #[test]
    fn the_path_of_the_signal_is_appended() {
        assert_eq!(address("http://h:4318").unwrap(), "http://h:4318/v1/logs");
        assert_eq!(address("https://h/otlp/?key=1").unwrap(), "https://h/otlp/v1/logs?key=1");
    }

    #[test]
    fn an_invalid_address_is_rejected_without_its_credentials() {
        for base in
            ["", "h:4318", "ftp://u:secret@h", "https://u:secret@h/v1/traces", "https://u:secret@h:port"]
        {
            let error = address(base).unwrap_err();
            assert!(!format!("{error} {:?}", error.hints).contains("secret"), "{error}");
        }
    }

    #[test]
    fn an_address_is_shown_without_credentials() {
        let address = Url::parse("https://user:secret@h:1/v1/logs?key=secret").unwrap();
        assert_eq!(shown(&address), "https://h:1/v1/logs");
    }

    #[test]
    fn headers_are_parsed_and_not_shown() {
        let headers = Headers::parse("# comment\n\nAuthorization: Bearer secret\nx-scope: a:b\n").unwrap();
        let pairs: Vec<_> = headers.iter().collect();
        assert_eq!(pairs, [("Authorization", "Bearer secret"), ("x-scope", "a:b")]);
        assert_eq!(format!("{headers:?}"), r#"["Authorization", "x-scope"]"#);
    }

    #[test]
    fn an_invalid_header_is_reported_by_its_line() {
        for text in ["ok: 1\nsecret", "ok: 1\nsecret na me: 1", "ok: 1\nsecret:", "ok: 1\nx: secret\u{1}"] {
            assert_eq!(
                Headers::parse(text).unwrap_err().to_string(),
                "invalid header in line 2; expected Name: value"
            );
        }
    }
}
