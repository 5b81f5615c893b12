//! The destinations of notifications, and how one is sent: to a command, or to an address with `curl`, which has the system's
//! certificates and follows its proxies. The address, the signature and the body are on its stdin, so that no list of processes
//! shows them.

use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use teamkeep_config::Notify;
use teamkeep_model::time::Timestamp;
use teamkeep_system::command::quoted;
use teamkeep_system::env::{Env, absolute_dirs};
use teamkeep_system::error::{Error, Result};
use teamkeep_system::process::{Outcome, Progress, Run, program, shell_code};
use teamkeep_system::{fs, os};

/// How long a command may run.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum length of the last line of the output in an error, in characters.
const MAX_LINE_CHARS: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Destination {
    Command { line: String, dir: PathBuf },
    Webhook(Webhook),
}

impl Destination {
    /// The configured destinations.
    pub fn all(notify: &Notify, home: Option<&Path>) -> Vec<Destination> {
        let dir = home.unwrap_or(Path::new("/")).to_path_buf();
        let command =
            notify.has_command().then(|| Destination::Command { line: notify.command.clone(), dir });
        let webhook = (!notify.url.is_empty()).then(|| {
            Destination::Webhook(Webhook { url: notify.url.clone(), secret: notify.secret_path(home) })
        });
        command.into_iter().chain(webhook).collect()
    }

    /// Its name in the store: a hash, because the address and the command can have secrets in them.
    pub fn key(&self) -> String {
        let (kind, target) = match self {
            Destination::Command { line, .. } => ("command", line),
            Destination::Webhook(webhook) => ("url", &webhook.url),
        };
        format!("{kind}-{}", &blake3::hash(target.as_bytes()).to_hex()[..16])
    }

    /// Its name for people.
    pub fn name(&self) -> String {
        match self {
            Destination::Command { .. } => "the command".to_owned(),
            Destination::Webhook(webhook) => webhook.host(),
        }
    }

    /// Checks what can be checked without sending anything.
    pub fn check(&self, env: &Env) -> Result<()> {
        match self {
            Destination::Command { .. } => Ok(()),
            Destination::Webhook(webhook) => webhook.check(env),
        }
    }

    /// Sends the body and returns the response for people.
    pub fn send(&self, body: &str, at: Timestamp) -> Result<String> {
        match self {
            Destination::Command { line, dir } => run(line, dir, body),
            Destination::Webhook(webhook) => webhook.post(body, at),
        }
    }
}

fn run(line: &str, dir: &Path, body: &str) -> Result<String> {
    let mut command = os::process::shell(line);
    command.current_dir(dir).env_remove("CLAUDE_CODE_MESSAGING_TOKEN");
    let stdin = stdin_of(format!("{body}\n").as_bytes())?;
    let run = Run { stdin, captures_stderr: true, ..Run::new(command, COMMAND_TIMEOUT) };
    let (outcome, output) = wait(run).map_err(|error| Error::caused("cannot run the command", error))?;
    let what = match outcome {
        Outcome::Ended(status) if status.success() => return Ok("exit code 0".to_owned()),
        Outcome::Ended(status) => format!("exit code {}", shell_code(status)),
        Outcome::TimedOut => format!("it did not end within {} s", COMMAND_TIMEOUT.as_secs()),
        Outcome::Stopped => "interrupted".to_owned(),
    };
    let text = String::from_utf8_lossy(&output);
    let last = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
    let last: String = last.unwrap_or_default().chars().take(MAX_LINE_CHARS).collect();
    Err(Error::new(if last.is_empty() { what } else { format!("{what}: {last}") }))
}

/// Time limits in seconds: to connect, and for the whole post.
const CONNECT_SECONDS: u32 = 5;
const POST_SECONDS: u32 = 15;
/// `curl` has a few seconds more to report its own time-out.
const CURL_TIMEOUT: Duration = Duration::from_secs(20);
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
        let run = Run { stdin, captures_stderr: true, ..Run::new(command, CURL_TIMEOUT) };
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
            Outcome::TimedOut => {
                Err(Error::new(format!("curl did not end within {} s", CURL_TIMEOUT.as_secs())))
            }
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
    let lines =
        options.iter().filter_map(|(name, value)| Some(format!("{name} = {}\n", curl_value((*value)?))));
    ["silent\nshow-error\ngloboff\n".to_owned()].into_iter().chain(lines).collect()
}

/// A value as `curl` reads it.
fn curl_value(value: &str) -> String {
    let mut quoted = String::from("\"");
    for char in value.chars() {
        match char {
            '\\' => quoted.push_str("\\\\"),
            '"' => quoted.push_str("\\\""),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            other => quoted.push(other),
        }
    }
    quoted + "\""
}

/// Number of bytes of the output that are kept, for the error.
const MAX_OUTPUT_BYTES: usize = 4 << 10;

/// Waits for the process and returns its outcome and the end of its output.
fn wait(run: Run) -> io::Result<(Outcome, Vec<u8>)> {
    let mut output: Vec<u8> = Vec::new();
    let outcome = run.supervise(|progress| {
        if let Progress::Output(bytes) = progress {
            output.extend_from_slice(bytes);
            output.drain(..output.len().saturating_sub(MAX_OUTPUT_BYTES));
        }
        ControlFlow::Continue(())
    })?;
    Ok((outcome, output))
}

/// Creates a stdin with this content: an unnamed file, because the content can be larger than the buffer of a pipe.
fn stdin_of(content: &[u8]) -> Result<Stdio> {
    let write = || {
        let mut file = tempfile::tempfile()?;
        file.write_all(content)?;
        file.seek(SeekFrom::Start(0))?;
        Ok(file)
    };
    let file: io::Result<std::fs::File> = write();
    file.map(Stdio::from).map_err(|error| Error::caused("cannot create a temporary file", error))
}

/// A secret that the user and the receiver know: the signature of a post is HMAC-SHA256 by it. It is never shown.
struct Secret(Vec<u8>);

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

    #[cfg(unix)]
    fn send(line: &str, body: &str) -> std::result::Result<String, String> {
        let destination = Destination::Command { line: line.to_owned(), dir: PathBuf::from("/") };
        destination.send(body, Timestamp::default()).map_err(|error| error.to_string())
    }

    #[cfg(unix)]
    #[test]
    fn a_command_gets_the_whole_body_on_stdin() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("got");
        let body = "x".repeat(200_000);
        assert_eq!(send(&format!("cat > {}", path.display()), &body).unwrap(), "exit code 0");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{body}\n"));
        assert_eq!(send("true", &body).unwrap(), "exit code 0", "a command need not read it");
    }

    #[cfg(unix)]
    #[test]
    fn the_error_has_the_exit_code_and_the_last_line() {
        assert_eq!(send("echo one; echo two >&2; exit 3", "{}").unwrap_err(), "exit code 3: two");
        assert_eq!(send("kill -9 $$", "{}").unwrap_err(), "exit code 137");
        assert!(send("yes x | head -c 1000000; exit 1", "{}").unwrap_err().starts_with("exit code 1: x"));
    }

    #[test]
    fn what_identifies_a_destination_does_not_show_it() {
        let url = "https://example.com/secret".to_owned();
        let notify = Notify { command: "mail-me secret".to_owned(), url, ..Notify::default() };
        let all = Destination::all(&notify, None);
        let shown: Vec<String> = all.iter().flat_map(|one| [one.key(), one.name()]).collect();
        assert_eq!(shown.len(), 4);
        assert!(!shown.join(" ").contains("secret"), "{shown:?}");
        assert_eq!((shown[1].as_str(), shown[3].as_str()), ("the command", "https://example.com"));
        assert_eq!(Destination::all(&Notify::default(), None), []);
    }

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

    #[cfg(unix)]
    #[test]
    fn a_secret_is_private_and_not_empty() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secret");
        let read = |text: &str, mode: u32| {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
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
