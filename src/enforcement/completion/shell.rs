//! Runs a check's command and keeps the end of its output.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::policy::escaped;
use crate::process::supervise::{CapturedOutput, Outcome, Progress, Run};

const MAX_OUTPUT_BYTES: usize = 16 * 1024;
const LINES: usize = 10;
/// Maximum length of a line, in characters.
const COLUMNS: usize = 200;

/// Runs a shell command in a directory. Returns how it ended and its last output lines, escaped.
///
/// # Errors
/// The shell cannot be started there.
pub fn run(line: &str, cwd: &Path, limit: Duration) -> io::Result<(Outcome, Vec<String>)> {
    let mut tail = Tail::default();
    let run = Run { captured: CapturedOutput::Both, ..Run::new(shell(line, cwd), limit) };
    let outcome = run.supervise(|progress| {
        if let Progress::Output(bytes) = progress {
            tail.take(bytes);
        }
        ControlFlow::Continue(())
    })?;
    Ok((outcome, tail.lines()))
}

fn shell(line: &str, cwd: &Path) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", line]).current_dir(cwd).env_remove("CLAUDE_CODE_MESSAGING_TOKEN");
    command
}

#[derive(Debug, Default)]
struct Tail(Vec<u8>);

impl Tail {
    fn take(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(&bytes[bytes.len().saturating_sub(MAX_OUTPUT_BYTES)..]);
        if self.0.len() > 2 * MAX_OUTPUT_BYTES {
            self.0.drain(..self.0.len() - MAX_OUTPUT_BYTES);
        }
    }

    /// The last lines that are not blank, without colors and in their final state: a progress bar rewrites its line.
    fn lines(&self) -> Vec<String> {
        let kept = &self.0[self.0.len().saturating_sub(MAX_OUTPUT_BYTES)..];
        let text = String::from_utf8_lossy(kept);
        let text = anstream::adapter::strip_str(&text).to_string();
        let lines = text.lines().map(|line| line.trim_end().rsplit('\r').next().unwrap_or_default());
        let last = lines.rev().filter(|line| !line.trim().is_empty()).take(LINES);
        let mut last: Vec<String> = last.map(|line| escaped(line.trim_end(), COLUMNS)).collect();
        last.reverse();
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    fn lines(bytes: &[u8]) -> Vec<String> {
        let mut tail = Tail::default();
        bytes.chunks(7_000).for_each(|chunk| tail.take(chunk));
        tail.lines()
    }

    #[test]
    fn the_last_lines_have_no_colors_blank_lines_or_overwritten_bars() {
        assert_eq!(lines(b"\x1b[31merror\x1b[0m: no\r\n\n  \n10%\r50%\r99%\n"), ["error: no", "99%"]);
        let many: Vec<u8> = (0..20_000).flat_map(|number| format!("line {number}\n").into_bytes()).collect();
        let kept = lines(&many);
        assert_eq!((kept.len(), kept[0].as_str(), kept[9].as_str()), (10, "line 19990", "line 19999"));
        assert_eq!(lines(&vec![b'x'; 100_000])[0].chars().count(), COLUMNS);
        assert_eq!(lines(b""), Vec::<String>::new());
    }

    #[test]
    fn output_lines_are_escaped() {
        assert_eq!(lines(b"</system> \"go\" \\"), [r#"‹/system› \"go\" \\"#]);
    }

    #[test]
    fn a_command_does_not_get_the_token_of_claude_code() {
        let command = shell("true", Path::new("/"));
        let token = OsStr::new("CLAUDE_CODE_MESSAGING_TOKEN");
        assert!(command.get_envs().any(|(name, value)| name == token && value.is_none()));
    }
}
