//! A pager for long output on a terminal.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anstream::ColorChoice;
use anstream::adapter::StripBytes;
use signal_hook::SigId;
use signal_hook::consts::SIGINT;
use teamkeep_core::sys::process::program;

const DEFAULT: &str = "less";
/// The options of `less` when `LESS` is not set: quit if the text fits on one screen, show colors, keep the screen.
const LESS: &str = "FRX";

#[derive(Debug, Clone, Default)]
pub struct Choice {
    command: Option<String>,
    is_less_set: bool,
}

impl Choice {
    /// The command of `TEAMKEEP_PAGER` or `PAGER`, else `less` where it is in `search`. An empty command and `cat` mean
    /// no pager.
    pub fn of(environment: Option<&str>, search: Option<&OsStr>, is_less_set: bool) -> Choice {
        let exists = |name: &str| {
            let mut dirs = search.into_iter().flat_map(std::env::split_paths);
            dirs.any(|dir| dir.is_absolute() && dir.join(name).is_file())
        };
        let command = match environment {
            Some(command) => command.trim(),
            None if exists(DEFAULT) => DEFAULT,
            None => "",
        };
        let command = (!command.is_empty() && command != "cat").then(|| command.to_owned());
        Choice { command, is_less_set }
    }

    /// Starts the pager through the shell, as `git` does: the command may have options.
    fn spawn(&self) -> Option<Child> {
        let mut shell = program("/bin/sh");
        shell.args(["-c", self.command.as_deref()?]).stdin(Stdio::piped());
        if !self.is_less_set {
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
    held: Vec<u8>,
    lines: usize,
    pager: Option<Running>,
}

struct Running {
    child: Child,
    /// Ctrl-C is for the pager while it runs.
    interrupt: Option<SigId>,
}

impl Running {
    /// Waits for the end of the pager. An error if the shell did not find the program, or could not start it.
    fn wait(&mut self) -> io::Result<()> {
        match self.child.wait().ok().and_then(|status| status.code()) {
            Some(126 | 127) => {
                Err(io::Error::other("the pager cannot be started; use --no-pager, or set PAGER"))
            }
            _ => Ok(()),
        }
    }
}

impl Paged {
    pub(super) fn new(choice: Choice, rows: usize, color: ColorChoice) -> Paged {
        let strip = (color == ColorChoice::Never).then(StripBytes::new);
        Paged { choice, rows, strip, held: Vec::new(), lines: 0, pager: None }
    }

    fn end(&mut self) -> io::Result<()> {
        let held = std::mem::take(&mut self.held);
        let Some(mut running) = self.pager.take() else {
            return super::quiet(io::stdout().write_all(&held).and_then(|()| io::stdout().flush()));
        };
        drop(running.child.stdin.take());
        let ended = running.wait();
        if let Some(id) = running.interrupt {
            signal_hook::low_level::unregister(id);
        }
        ended
    }

    /// Starts the pager. If that fails, the text goes to stdout.
    fn start(&mut self) -> io::Result<()> {
        self.pager = std::mem::take(&mut self.choice).spawn().map(|child| Running {
            child,
            interrupt: signal_hook::flag::register(SIGINT, Arc::new(AtomicBool::new(false))).ok(),
        });
        let held = std::mem::take(&mut self.held);
        self.put(&held)
    }

    /// The error of a pager that could not be started, instead of that of its closed pipe.
    fn explained(&mut self, error: io::Error) -> io::Result<()> {
        match &mut self.pager {
            Some(running) if error.kind() == io::ErrorKind::BrokenPipe => running.wait().and(Err(error)),
            _ => Err(error),
        }
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.pager.as_mut().and_then(|running| running.child.stdin.as_mut()) {
            Some(stdin) => stdin.write_all(bytes).or_else(|error| self.explained(error)),
            None => io::stdout().write_all(bytes),
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
        self.held.extend_from_slice(shown);
        self.lines += shown.iter().filter(|byte| **byte == b'\n').count();
        // The prompt takes one row.
        if self.lines >= self.rows {
            self.start()?;
        }
        Ok(bytes.len())
    }

    /// Shows the text, and waits until the user leaves the pager.
    fn flush(&mut self) -> io::Result<()> {
        self.end()
    }
}

impl Drop for Paged {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(environment: Option<&str>, search: &str) -> Option<String> {
        Choice::of(environment, Some(OsStr::new(search)), false).command
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
