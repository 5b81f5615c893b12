//! Posts a notification with `curl`, which has the system's certificates and follows its proxies. The address, the signature
//! and the body are on its stdin, so that no list of processes shows them.

use std::path::PathBuf;
use std::time::Duration;

use super::child::{stdin_of, wait};
use super::signature::Secret;
use teamkeep_model::time::Timestamp;
use teamkeep_system::env::{Env, absolute_dirs};
use teamkeep_system::error::{Error, Result};
use teamkeep_system::process::{Outcome, Run, program};

/// Time limits in seconds: to connect, and for the whole post.
const CONNECT_SECONDS: u32 = 5;
const POST_SECONDS: u32 = 15;
/// `curl` has a few seconds more to report its own time-out.
const TIMEOUT: Duration = Duration::from_secs(20);
/// The prefix of the line with the status of the response.
const STATUS: &str = "http-status=";

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Webhook {
    pub url: String,
    /// The file with the secret.
    pub secret: Option<PathBuf>,
}

impl Webhook {
    /// Posts the body. A response other than 2xx is an error, and so is a redirect: it could lead to another host.
    pub fn post(&self, body: &str, at: Timestamp) -> Result<String> {
        check_curl(&Env::read())?;
        let signature = self.secret()?.map(|secret| secret.sign(at, body)).transpose()?;
        let mut command = program("curl");
        // First, so that no `.curlrc` changes the request.
        command.args(["--disable", "--config", "-"]).current_dir("/");
        let stdin = stdin_of(config(&self.url, signature.as_deref(), body).as_bytes())?;
        let run = Run { stdin, captures_stderr: true, ..Run::new(command, TIMEOUT) };
        let (outcome, output) = wait(run).map_err(|error| Error::caused("cannot run curl", error))?;
        let text = String::from_utf8_lossy(&output);
        let status = text.lines().find_map(|line| line.strip_prefix(STATUS)).unwrap_or_default();
        match outcome {
            Outcome::Ended(code) if code.success() && status.starts_with('2') => Ok(format!("HTTP {status}")),
            Outcome::Ended(code) if code.success() => Err(Error::new(format!("HTTP {status}"))),
            Outcome::Ended(_) => {
                let why = text.lines().find(|line| line.starts_with("curl: "));
                Err(Error::new(why.unwrap_or("curl failed without a message")))
            }
            Outcome::TimedOut => Err(Error::new(format!("curl did not end within {} s", TIMEOUT.as_secs()))),
            Outcome::Stopped => Err(Error::new("interrupted")),
        }
    }

    fn secret(&self) -> Result<Option<Secret>> {
        self.secret.as_deref().map(Secret::read).transpose()
    }

    /// Checks that there is a `curl`, and that the secret can be used.
    pub fn check(&self, env: &Env) -> Result<()> {
        check_curl(env)?;
        self.secret().map(drop)
    }

    /// Scheme and host, without a user, a password, a path and a query: these can be secret.
    pub fn host(&self) -> String {
        let (scheme, rest) = self.url.split_once("://").unwrap_or_default();
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let host = authority.rsplit('@').next().unwrap_or_default();
        format!("{scheme}://{host}")
    }
}

/// Checks that there is a `curl` in an absolute entry of the search path.
fn check_curl(env: &Env) -> Result<()> {
    let search = env.search.clone().unwrap_or_default();
    match absolute_dirs(&search).any(|dir| dir.join("curl").is_file()) {
        true => Ok(()),
        false => Err(Error::new("cannot post: curl is not in an absolute entry of PATH")
            .hint("install curl, or use `command` under [notify] in place of `url`")),
    }
}

/// The configuration for `curl`.
fn config(url: &str, signature: Option<&str>, body: &str) -> String {
    let agent = concat!("teamkeep/", env!("CARGO_PKG_VERSION"));
    let written = format!("\n{STATUS}%{{http_code}}\n");
    let (connect, post) = (CONNECT_SECONDS.to_string(), POST_SECONDS.to_string());
    let signature = signature.map(|signature| format!("Teamkeep-Signature: {signature}"));
    let options = [
        ("url", Some(url)),
        ("proto", Some("=http,https")),
        ("connect-timeout", Some(connect.as_str())),
        ("max-time", Some(post.as_str())),
        ("output", Some("/dev/null")),
        ("write-out", Some(written.as_str())),
        ("user-agent", Some(agent)),
        ("header", Some("Content-Type: application/json")),
        // No pause for a response before the body.
        ("header", Some("Expect:")),
        ("header", signature.as_deref()),
        ("data-raw", Some(body)),
    ];
    let lines = options.iter().filter_map(|(name, value)| Some(format!("{name} = {}\n", quoted((*value)?))));
    ["silent\nshow-error\ngloboff\n".to_owned()].into_iter().chain(lines).collect()
}

/// A value as `curl` reads it.
fn quoted(value: &str) -> String {
    let mut quoted = String::with_capacity(value.len() + 2);
    quoted.push('"');
    for c in value.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_can_add_an_option() {
        let config = config("http://h/\"\noutput = \"x", Some("t=1,v1=ab"), "{\"a\":\"b\\n\\\"\"}");
        let lines: Vec<&str> = config.lines().collect();
        assert_eq!(lines.len(), 14, "{config}");
        assert_eq!(lines[3], r#"url = "http://h/\"\noutput = \"x""#);
        assert_eq!(lines[12], r#"header = "Teamkeep-Signature: t=1,v1=ab""#);
        assert_eq!(lines[13], r#"data-raw = "{\"a\":\"b\\n\\\"\"}""#);
    }

    #[test]
    fn only_scheme_and_host_are_shown() {
        let host = |url: &str| Webhook { url: url.to_owned(), secret: None }.host();
        assert_eq!(host("https://user:word@example.com:8443/token?key=1#x"), "https://example.com:8443");
        assert_eq!(host("http://[::1]?token"), "http://[::1]");
    }

    #[test]
    fn without_curl_the_error_names_another_way() {
        let search = |path: &str| Env { search: Some(path.into()), ..Env::default() };
        let error = check_curl(&search("bin::/no/such/directory")).unwrap_err();
        assert_eq!(error.to_string(), "cannot post: curl is not in an absolute entry of PATH");
        assert!(error.hints[0].contains("`command`"));
    }
}
