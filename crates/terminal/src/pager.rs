//! A pager for long output on a terminal.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::process::{Child, Stdio};

use anstream::ColorChoice;
use anstream::adapter::StripBytes;
use teamkeep_system::env::{Env, absolute_dirs, absolute_search};
use teamkeep_system::os;

const DEFAULT: &str = "less";
/// The options of `less` when `LESS` is not set: quit if the text fits on one screen, show colors, keep the screen.
const LESS: &str = "FRX";

#[derive(Debug, Clone, Default)]
pub struct Choice {
    command: Option<String>,
}

impl Choice {
    /// The command of `TEAMKEEP_PAGER` or `PAGER`, else `less` where it is in `search`. An empty command and `cat` mean
    /// no pager.
    pub fn of(environment: Option<&str>, search: Option<&OsStr>) -> Choice {
        let exists =
            |name: &str| search.into_iter().flat_map(absolute_dirs).any(|dir| dir.join(name).is_file());
        let command = match environment {
            Some(command) => command.trim(),
            None if exists(DEFAULT) => DEFAULT,
            None => "",
        };
        Choice { command: (!command.is_empty() && command != "cat").then(|| command.to_owned()) }
    }

    /// Starts the pager through the shell, as `git` does: the command may have options.
    fn spawn(&self) -> Option<Child> {
        let mut shell = os::process::shell(self.command.as_deref()?);
        shell.env("PATH", absolute_search()).stdin(Stdio::piped());
        if !Env::has_less_options() {
            shell.env("LESS", LESS);
        }
        shell.spawn().ok()
    }
}

/// Text for stdout. It is buffered until it is longer than the screen; then the pager starts and gets all of it.
/// Dropping it waits until the user leaves the pager.
pub struct Paged {
    choice: Choice,
    rows: usize,
    strip: Option<StripBytes>,
    buffer: Vec<u8>,
    pager: Option<Child>,
}

/// Waits for the end of the pager. An error if the shell did not find the program, or could not start it.
fn wait(pager: &mut Child) -> io::Result<()> {
    match pager.wait().ok().and_then(|status| status.code()) {
        Some(126 | 127) => Err(io::Error::other("the pager cannot be started; use --no-pager, or set PAGER")),
        _ => Ok(()),
    }
}

impl Paged {
    pub(super) fn new(choice: Choice, rows: usize, color: ColorChoice) -> Paged {
        let strip = (color == ColorChoice::Never).then(StripBytes::new);
        Paged { choice, rows, strip, buffer: Vec::new(), pager: None }
    }

    /// Shows what was written before it is longer than the screen.
    pub fn show(&mut self) -> io::Result<()> {
        if self.pager.is_some() || self.buffer.is_empty() { Ok(()) } else { self.start() }
    }

    /// Starts the pager. If that fails, the text goes to stdout.
    fn start(&mut self) -> io::Result<()> {
        self.pager = std::mem::take(&mut self.choice).spawn();
        if self.pager.is_some() {
            // Ctrl-C is for the pager.
            os::process::ignore_interrupt();
        }
        let text = std::mem::take(&mut self.buffer);
        self.put(&text)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(pager) = &mut self.pager else { return io::stdout().write_all(bytes) };
        let written = pager.stdin.as_mut().map_or(Ok(()), |stdin| stdin.write_all(bytes));
        match written {
            // The error of a pager that could not be started, instead of that of its closed pipe.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => wait(pager).and(Err(error)),
            written => written,
        }
    }
}

impl Write for Paged {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let plain = self.strip.as_mut().map(|strip| strip.strip_next(bytes).flatten().copied().collect());
        let shown: &[u8] = plain.as_ref().map_or(bytes, |plain: &Vec<u8>| plain);
        if self.pager.is_some() || self.choice.command.is_none() {
            self.put(shown)?;
            return Ok(bytes.len());
        }
        self.buffer.extend_from_slice(shown);
        // The prompt takes one row.
        if self.buffer.iter().filter(|byte| **byte == b'\n').count() >= self.rows {
            self.start()?;
        }
        Ok(bytes.len())
    }

    /// Shows the text, and waits until the user leaves the pager.
    fn flush(&mut self) -> io::Result<()> {
        let Some(mut pager) = self.pager.take() else {
            let text = std::mem::take(&mut self.buffer);
            return super::quiet(io::stdout().write_all(&text).and_then(|()| io::stdout().flush()));
        };
        drop(pager.stdin.take());
        wait(&mut pager)
    }
}

impl Drop for Paged {
    fn drop(&mut self) {
        let _ = self.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(environment: Option<&str>, search: &str) -> Option<String> {
        Choice::of(environment, Some(OsStr::new(search))).command
    }

    #[test]
    fn the_environment_chooses_the_pager() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().to_str().unwrap();
        assert_eq!(command(None, path), None);
        std::fs::write(dir.path().join("less"), "").unwrap();
        assert_eq!(command(None, path).as_deref(), Some("less"));
        assert_eq!(command(Some("more -x"), path).as_deref(), Some("more -x"));
        assert_eq!([command(Some(""), path), command(Some("cat"), path)], [None, None]);
    }
}
