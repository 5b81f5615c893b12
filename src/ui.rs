//! The terminal: output for programs goes to stdout, messages for people to stderr.

pub mod pager;
pub mod terminal;

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use anstyle::{AnsiColor, Style};
use pager::Paged;

use teamkeep_core::error::Error;
pub use teamkeep_core::sys::unicode::escape;
use teamkeep_core::sys::unicode::is_unsafe_on_terminal;

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
        let choice = if is_wanted && rows > 0 { choice } else { pager::Choice::default() };
        Paged::new(choice, rows, anstream::AutoStream::choice(&io::stdout()))
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

    /// A progress line on stderr for `total` bytes of work, or 0 if that is unknown. It is only shown on a terminal.
    pub fn progress(&self, what: &str, total: u64) -> Progress {
        let mut progress = Progress::hidden(what, total);
        progress.begun = (!self.quiet && io::stderr().is_terminal()).then(Instant::now);
        progress
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

const POLL_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub struct Progress {
    what: String,
    total: u64,
    done: u64,
    shown: Option<Instant>,
    begun: Option<Instant>,
}

impl Progress {
    fn hidden(what: &str, total: u64) -> Progress {
        Progress { what: escape(what).into_owned(), total, done: 0, shown: None, begun: None }
    }

    pub fn add(&mut self, bytes: u64) {
        self.done = self.done.saturating_add(bytes);
        let Some(begun) = self.begun else { return };
        // Short work needs no line.
        if self.shown.unwrap_or(begun).elapsed() < POLL_INTERVAL {
            return;
        }
        self.shown = Some(Instant::now());
        let _ = write!(io::stderr(), "\r\x1b[K{}", self.line());
        let _ = io::stderr().flush();
    }

    fn line(&self) -> String {
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        match self.total {
            0 => format!("{}: {:.1} MiB", self.what, mib(self.done)),
            total => {
                let percent = self.done.min(total).saturating_mul(100) / total;
                format!("{}: {percent} % of {:.1} MiB", self.what, mib(total))
            }
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown.is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K");
            let _ = io::stderr().flush();
        }
    }
}

/// A writer of JSON. Characters that [`escape`] would escape are written as JSON escapes; every other byte is written
/// unchanged. Such characters occur only in strings, so the JSON stays valid.
struct Escaped<W> {
    out: W,
    /// The first bytes of an incomplete character.
    held: Vec<u8>,
}

impl<W: Write> Escaped<W> {
    fn new(out: W) -> Escaped<W> {
        Escaped { out, held: Vec::new() }
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        let mut from = 0;
        for (at, c) in text.char_indices().filter(|(_, c)| is_escaped(*c)) {
            self.out.write_all(text.get(from..at).unwrap_or_default().as_bytes())?;
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(self.out, "\\u{unit:04x}")?;
            }
            from = at + c.len_utf8();
        }
        self.out.write_all(text.get(from..).unwrap_or_default().as_bytes())
    }
}

impl<W: Write> Write for Escaped<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.held.is_empty() && bytes.iter().all(is_plain) {
            self.out.write_all(bytes)?;
            return Ok(bytes.len());
        }
        self.held.extend_from_slice(bytes);
        let all = std::mem::take(&mut self.held);
        for chunk in all.utf8_chunks() {
            self.text(chunk.valid())?;
            let rest = chunk.invalid();
            let is_last = rest.as_ptr_range().end == all.as_ptr_range().end;
            let is_begun = || std::str::from_utf8(rest).is_err_and(|error| error.error_len().is_none());
            match is_last && is_begun() {
                true => self.held.extend_from_slice(rest),
                false => self.out.write_all(rest)?,
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&std::mem::take(&mut self.held))?;
        self.out.flush()
    }
}

/// JSON's own white space is not escaped.
fn is_escaped(c: char) -> bool {
    is_unsafe_on_terminal(c) && !matches!(c, '\n' | '\r' | '\t')
}

fn is_plain(byte: &u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_percentage_is_never_more_than_100() {
        let mut progress = Progress::hidden("verifying\n", 4 << 20);
        progress.add(1 << 20);
        assert_eq!(progress.line(), "verifying\\n: 25 % of 4.0 MiB");
        progress.add(9 << 20);
        assert_eq!(progress.line(), "verifying\\n: 100 % of 4.0 MiB");
        assert!(progress.shown.is_none(), "stderr is not a terminal");
    }

    use proptest::prelude::*;
    use serde_json::Value;

    fn written(text: &[u8], step: usize) -> Vec<u8> {
        let mut escaped = Escaped::new(Vec::new());
        text.chunks(step).for_each(|chunk| escaped.write_all(chunk).unwrap());
        escaped.flush().unwrap();
        escaped.out
    }

    #[test]
    fn characters_that_control_a_terminal_or_end_a_line_are_escaped() {
        let text = "{\n\t\"a\": \"x\u{85}y\u{2028}\u{2029}\u{9b}31m\u{80}\u{9f}\u{7f}\u{202e}\u{e0041} ü 💥 👩\u{200d}💻 \u{a0}\"\n}\r\n";
        let expected = "{\n\t\"a\": \"x\\u0085y\\u2028\\u2029\\u009b31m\\u0080\\u009f\\u007f\\u202e\\udb40\\udc41 ü 💥 👩\u{200d}💻 \u{a0}\"\n}\r\n";
        for step in 1..=text.len() {
            assert_eq!(String::from_utf8(written(text.as_bytes(), step)).unwrap(), expected, "{step}");
        }
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!(read(expected), read(text));
    }

    #[test]
    fn bytes_that_are_not_utf_8_are_unchanged() {
        for broken in [&b"a\xe2\x80"[..], b"\xc2", b"\xe2\xe2\x80\xc2", b"\xff\xfe\xe2", b"\xc2a\xff\xc3\xbc"]
        {
            for step in [1, 2, 9] {
                assert_eq!(written(broken, step), broken);
            }
        }
    }

    proptest! {
        #[test]
        fn escaped_json_has_the_same_value_and_no_unsafe_character(text in "\\PC{0,20}[\u{0}-\u{a0}\u{2028}\u{202e}\u{e0041}é💥\"\\\\]{0,20}", step in 1usize..9) {
            let value = Value::from(text);
            let out = written(value.to_string().as_bytes(), step);
            prop_assert_eq!(serde_json::from_slice::<Value>(&out).unwrap(), value);
            prop_assert!(!String::from_utf8(out).unwrap().contains(is_unsafe_on_terminal));
        }
    }
}
