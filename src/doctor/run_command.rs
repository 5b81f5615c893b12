//! Runs a program with a time limit, in its own directory and environment.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::process;

/// Maximum output in bytes.
const MAX_OUTPUT_BYTES: u64 = 64 * 1024;

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It could not be started, for this reason.
    Unstartable(String),
    /// It exceeded the time limit and was ended.
    Hung,
    /// It ended.
    Ended {
        /// The exit code; `None` after a signal.
        code: Option<i32>,
        /// Its stdout.
        out: String,
        /// Its stderr.
        err: String,
        /// The duration.
        took: Duration,
    },
}

/// Runs it. `env` is its whole environment; after the time limit it is ended with all its child processes.
pub fn run(
    program: &Path,
    args: &[&str],
    stdin: &[u8],
    dir: &Path,
    env: &[(&str, &std::ffi::OsStr)],
    patience: Duration,
) -> Outcome {
    let start = Instant::now();
    let mut command = Command::new(program);
    command.args(args).env_clear().envs(env.iter().copied()).current_dir(dir).process_group(0);
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match piped.spawn() {
        Ok(child) => child,
        Err(error) => return Outcome::Unstartable(error.to_string()),
    };
    let (sender, receiver) = mpsc::channel();
    if let Some(mut pipe) = child.stdin.take() {
        let bytes = stdin.to_vec();
        // A program that does not read its input must not delay this one.
        std::thread::spawn(move || pipe.write_all(&bytes));
    }
    let out = read(child.stdout.take(), sender.clone());
    let err = read(child.stderr.take(), sender);
    // Wait for the end of both streams, or for the time limit.
    let ended = (0..2).all(|_| receiver.recv_timeout(patience.saturating_sub(start.elapsed())).is_ok());
    let took = start.elapsed();
    let status = process::end(&mut child);
    if !ended {
        return Outcome::Hung;
    }
    let text = |thread: std::thread::JoinHandle<Vec<u8>>| {
        String::from_utf8_lossy(&thread.join().unwrap_or_default()).into_owned()
    };
    Outcome::Ended { code: status.and_then(|status| status.code()), out: text(out), err: text(err), took }
}

fn read(
    stream: Option<impl Read + Send + 'static>,
    sender: mpsc::Sender<()>,
) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut said = Vec::new();
        if let Some(stream) = stream {
            let _ = stream.take(MAX_OUTPUT_BYTES).read_to_end(&mut said);
        }
        let _ = sender.send(());
        said
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, stdin: &[u8], patience: u64) -> Outcome {
        let (program, dir) = (Path::new("/bin/sh"), Path::new("/"));
        let env = [("PATH", "/usr/bin:/bin".as_ref())];
        run(program, &["-c", script], stdin, dir, &env, Duration::from_millis(patience))
    }

    #[test]
    fn a_program_that_ends_is_heard_and_one_that_does_not_is_ended() {
        let Outcome::Ended { code, out, err, .. } = sh("cat; echo no >&2; exit 3", b"yes", 20_000) else {
            panic!("it ended")
        };
        assert_eq!((code, out.as_str(), err.as_str()), (Some(3), "yes", "no\n"));
        assert_eq!(sh("sleep 1000 & sleep 1000", b"", 300), Outcome::Hung);
        let large = vec![b'x'; 1 << 20];
        assert!(matches!(sh("exit 0", &large, 20_000), Outcome::Ended { code: Some(0), .. }));
        let none = run(Path::new("/no/such"), &[], b"", Path::new("/"), &[], Duration::from_secs(1));
        assert!(matches!(none, Outcome::Unstartable(_)));
    }
}
