//! The terminal: output for programs goes to stdout, messages for people to stderr.

pub mod pager;
pub mod terminal;

use std::fmt;
use std::io::{self, IsTerminal, Write};

use anstyle::{AnsiColor, Style};

pub use progress::Progress;

use crate::error::Error;
pub use crate::unicode::escape;
use json::Escaped;
use pager::Paged;

mod json;
mod progress;

#[derive(Debug, Clone, Copy, Default)]
pub struct Ui {
    /// Print errors only: no warnings, hints and notes on stderr.
    pub quiet: bool,
    pub unpaged: bool,
}

impl Ui {
    /// A writer to stdout. It removes colors unless `--color`, the environment or a terminal asks for them.
    pub fn out(&self) -> impl Write + use<> {
        io::BufWriter::new(anstream::AutoStream::auto(io::stdout()))
    }

    /// A writer to stdout for JSON. It also escapes in a pipe, because a reader may pass the text on to a terminal.
    pub fn json(&self) -> impl Write + use<> {
        io::BufWriter::with_capacity(64 * 1024, Escaped::new(io::stdout()))
    }

    /// A writer to stdout that starts a pager when the text is longer than the screen. In a pipe, and with `--no-pager`,
    /// it writes to stdout directly, without a buffer.
    pub fn paged(&self, choice: pager::Choice) -> Paged {
        let is_wanted = self.is_terminal() && io::stdin().is_terminal() && !self.unpaged;
        let rows = rustix::termios::tcgetwinsize(io::stdout()).map_or(0, |size| usize::from(size.ws_row));
        let is_plain = anstream::AutoStream::choice(&io::stdout()) == anstream::ColorChoice::Never;
        Paged::new(choice.filter(is_wanted && rows > 0), rows, is_plain)
    }

    /// Writes text to stdout unchanged, in one write. A closed pipe counts as success.
    pub fn raw(&self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        quiet(io::stdout().write_all(bytes).and_then(|()| io::stdout().flush()))
    }

    pub fn bytes(&self) -> impl Write + use<> {
        io::BufWriter::with_capacity(64 * 1024, io::stdout())
    }

    /// Prints one line to stderr, unless the command is quiet.
    pub fn eprint_line(&self, line: &str) {
        if !self.quiet {
            prefixed(Style::new(), "", line);
        }
    }

    /// Prints formatted text to stderr, unless the command is quiet. The caller escapes untrusted parts.
    pub fn print_err(&self, text: &str) {
        if !self.quiet {
            let _ = write!(anstream::AutoStream::auto(io::stderr()), "{text}");
        }
    }

    pub fn warn(&self, warning: impl fmt::Display) {
        if !self.quiet {
            prefixed(AnsiColor::Yellow.on_default().bold(), "warning:", &warning.to_string());
        }
    }

    pub fn hint(&self, hint: impl fmt::Display) {
        if !self.quiet {
            prefixed(AnsiColor::Cyan.on_default().bold(), "hint:", &hint.to_string());
        }
    }

    /// Prints `error: …` and its hints to stderr. A quiet command prints errors too.
    pub fn report(&self, error: &Error) {
        prefixed(AnsiColor::Red.on_default().bold(), "error:", &error.to_string());
        error.hints.iter().for_each(|hint| self.hint(hint));
    }

    /// Prints an error that does not end the command as `warning: …`, with its hints.
    pub fn warn_of(&self, error: &Error) {
        self.warn(error);
        error.hints.iter().for_each(|hint| self.hint(hint));
    }

    /// A progress line on stderr. It is only shown on a terminal.
    pub fn progress(&self, what: &str, total: u64) -> Progress {
        Progress::new(what, total, !self.quiet && io::stderr().is_terminal())
    }

    pub fn is_terminal(&self) -> bool {
        io::stdout().is_terminal()
    }

    pub fn is_typed(&self) -> bool {
        io::stdin().is_terminal()
    }

    /// Asks a yes-or-no question on stderr. Every answer except `y` and `yes` means no. Fails if stdin is not a terminal.
    pub fn ask(&self, question: &str) -> Result<bool, Error> {
        if !io::stdin().is_terminal() {
            return Err(Error::new("cannot prompt: stdin is not a terminal").hint("pass --yes to confirm"));
        }
        let _ = write!(io::stderr(), "{} [y/N] ", escape(question));
        let mut answer = String::new();
        io::stdin().read_line(&mut answer)?;
        Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
    }

    /// The width of the terminal at stdout; `None` in a pipe.
    pub fn columns(&self) -> Option<usize> {
        if !self.is_terminal() {
            return None;
        }
        rustix::termios::tcgetwinsize(io::stdout())
            .ok()
            .map(|size| usize::from(size.ws_col))
            .filter(|columns| *columns > 0)
    }
}

fn prefixed(style: Style, prefix: &str, text: &str) {
    let text = escape(text);
    let _ = match prefix {
        "" => writeln!(io::stderr(), "{text}"),
        prefix => writeln!(anstream::AutoStream::auto(io::stderr()), "{style}{prefix}{style:#} {text}"),
    };
}

/// Treats a closed pipe as success: the reader has stopped reading.
pub fn quiet(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}
