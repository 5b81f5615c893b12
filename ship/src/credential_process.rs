//! Credentials that a program prints: `credential_process` of a profile. The format is version 1 of
//! <https://docs.aws.amazon.com/sdkref/latest/guide/feature-process-credentials.html>.

use std::io;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use teamkeep_model::words::one_line;

use async_trait::async_trait;
use chrono::TimeDelta;
use object_store::aws::AwsCredential;
use object_store::{CredentialProvider, Error, Result};
use serde::Deserialize;
use teamkeep_model::time::{self, Timestamp};
use teamkeep_system::clock::Clock;
use teamkeep_system::os::input::TimedInput;
use teamkeep_system::process::{MAX_OUTPUT_BYTES, Outcome, Run, program, shell_code};

const TIME_LIMIT: Duration = Duration::from_secs(60);
/// The part of its errors that an error shows.
const MAX_QUOTED_BYTES: usize = 500;
/// Credentials are replaced this long before they expire.
const REFRESH_BEFORE: TimeDelta = TimeDelta::minutes(5);

#[derive(Debug)]
pub struct CredentialProcess {
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

    async fn get_credential(&self) -> Result<Arc<AwsCredential>> {
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
    pub fn new(line: String) -> CredentialProcess {
        CredentialProcess { line, last: Mutex::default() }
    }

    fn run(&self) -> Result<Printed> {
        let words = shlex::split(&self.line).unwrap_or_default();
        let name = words.first().map_or("", String::as_str);
        let failed = |why: &str| Error::Generic {
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
