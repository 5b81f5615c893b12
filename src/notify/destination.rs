//! The destinations of notifications, and how one is sent.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::webhook::{Webhook, stdin_of, wait};
use teamkeep_config::Notify;
use teamkeep_model::time::Timestamp;
use teamkeep_system::env::Env;
use teamkeep_system::error::{Error, Result};
use teamkeep_system::os;
use teamkeep_system::process::{Outcome, Run, shell_code};

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

#[cfg(test)]
mod tests {
    use super::*;

    fn send(line: &str, body: &str) -> std::result::Result<String, String> {
        let destination = Destination::Command { line: line.to_owned(), dir: PathBuf::from("/") };
        destination.send(body, Timestamp::default()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_command_gets_the_whole_body_on_stdin() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("got");
        let body = "x".repeat(200_000);
        assert_eq!(send(&format!("cat > {}", path.display()), &body).unwrap(), "exit code 0");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{body}\n"));
        assert_eq!(send("true", &body).unwrap(), "exit code 0", "a command need not read it");
    }

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
}
