//! The terminal: output for programs goes to stdout, messages for people to stderr. And the progress of long work.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use anstyle::AnsiColor;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::message;
use crate::pager::{self, Paged};
use teamkeep_model::unicode::{escape, is_unsafe_on_terminal};
use teamkeep_system::error::Error;
use teamkeep_system::os::terminal::size;

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
        io::BufWriter::with_capacity(64 * 1024, Escaped { out: io::stdout(), line: Vec::new() })
    }

    pub fn bytes(&self) -> impl Write + use<> {
        io::BufWriter::with_capacity(64 * 1024, io::stdout())
    }

    /// A writer to stdout that starts a pager when the text is longer than the screen. In a pipe, and with `--no-pager`,
    /// it writes to stdout directly, without a buffer.
    pub fn paged(&self, choice: pager::Choice) -> Paged {
        let is_wanted = self.is_terminal() && io::stdin().is_terminal() && !self.unpaged;
        let rows = size().map_or(0, |(_, rows)| rows);
        let choice = if is_wanted && rows > 0 { choice } else { pager::Choice::default() };
        Paged::new(choice, rows, anstream::AutoStream::choice(&io::stdout()))
    }

    /// Writes text to stdout unchanged, in one write. A closed pipe counts as success.
    pub fn raw(&self, bytes: &[u8]) -> io::Result<()> {
        quiet(io::stdout().write_all(bytes).and_then(|()| io::stdout().flush()))
    }

    pub fn eprint_line(&self, line: &str) {
        if !self.quiet {
            message::print(line);
        }
    }

    /// Prints formatted text to stderr, unless the command is quiet. The caller escapes untrusted parts.
    pub fn print_err(&self, text: &str) {
        if !self.quiet {
            let _ = write!(anstream::AutoStream::auto(io::stderr()), "{text}");
        }
    }

    pub fn warn(&self, warning: impl Display) {
        if !self.quiet {
            prefixed(AnsiColor::Yellow, "warning:", warning);
        }
    }

    pub fn hint(&self, hint: impl Display) {
        if !self.quiet {
            prefixed(AnsiColor::Cyan, "hint:", hint);
        }
    }

    /// Prints `error: …` and its hints to stderr. A quiet command prints errors too.
    pub fn report(&self, error: &Error) {
        prefixed(AnsiColor::Red, "error:", error);
        error.hints.iter().for_each(|hint| self.hint(hint));
    }

    /// Prints an error that does not end the command as `warning: …`, with its hints.
    pub fn warn_of(&self, error: &Error) {
        self.warn(error);
        error.hints.iter().for_each(|hint| self.hint(hint));
    }

    /// The progress of `total` bytes of work, or 0 if that is unknown.
    pub fn progress(&self, what: &str, total: u64) -> Progress {
        Progress::new(self.quiet, what, total)
    }

    pub fn is_terminal(&self) -> bool {
        io::stdout().is_terminal()
    }

    pub fn is_typed(&self) -> bool {
        io::stdin().is_terminal()
    }

    /// Asks a yes-or-no question on stderr. Every answer except `y` and `yes` means no. Fails if stdin is not a terminal.
    pub fn ask(&self, question: &str) -> Result<bool, Error> {
        if !self.is_typed() {
            return Err(Error::new("cannot prompt: stdin is not a terminal").hint("pass --yes to confirm"));
        }
        let _ = write!(io::stderr(), "{} [y/N] ", escape(question));
        let mut answer = String::new();
        io::stdin().read_line(&mut answer)?;
        Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
    }

    /// The width of the terminal at stdout; `None` in a pipe.
    pub fn columns(&self) -> Option<usize> {
        size().filter(|_| self.is_terminal()).map(|(columns, _)| columns)
    }
}

fn prefixed(color: AnsiColor, prefix: &str, text: impl Display) {
    message::print_labeled(color.on_default().bold(), prefix, &text.to_string());
}

/// Treats a closed pipe as success: the reader has stopped reading.
pub fn quiet(result: io::Result<()>) -> io::Result<()> {
    result.or_else(|error| if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) })
}

/// A writer of JSON. Characters that [`escape`] would escape are written as JSON escapes; every other byte is written
/// unchanged. Such characters occur only in strings, so the JSON stays valid.
struct Escaped<W> {
    out: W,
    /// The bytes after the last line break. A character may be incomplete.
    line: Vec<u8>,
}

/// JSON on one line in which characters that [`escape`] would escape are JSON escapes.
pub fn escaped_json(text: &str) -> String {
    let mut escaped = Escaped { out: Vec::with_capacity(text.len()), line: Vec::new() };
    // Writing to memory does not fail.
    let _ = escaped.write_all(text.as_bytes()).and_then(|()| escaped.flush());
    String::from_utf8_lossy(&escaped.out).into_owned()
}

impl<W: Write> Escaped<W> {
    fn write_lines(&mut self, lines: &[u8]) -> io::Result<()> {
        let is_plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t');
        if lines.iter().all(is_plain) {
            return self.out.write_all(lines);
        }
        for chunk in lines.utf8_chunks() {
            // JSON's own white space is not escaped.
            for part in chunk.valid().split_inclusive(is_escaped) {
                let text = part.trim_end_matches(is_escaped);
                self.out.write_all(text.as_bytes())?;
                for unit in part[text.len()..].encode_utf16() {
                    write!(self.out, "\\u{unit:04x}")?;
                }
            }
            self.out.write_all(chunk.invalid())?;
        }
        Ok(())
    }
}

impl<W: Write> Write for Escaped<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.line.extend_from_slice(bytes);
        if let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') {
            let rest = self.line.split_off(self.line.len() - bytes.len() + end + 1);
            let lines = std::mem::replace(&mut self.line, rest);
            self.write_lines(&lines)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        self.write_lines(&line)?;
        self.out.flush()
    }
}

fn is_escaped(c: char) -> bool {
    is_unsafe_on_terminal(c) && !matches!(c, '\n' | '\r' | '\t')
}

/// Shorter work needs no line.
const DELAY: Duration = Duration::from_millis(300);
const TICK: Duration = Duration::from_millis(120);

/// The line is removed when this is dropped.
#[derive(Debug, Default)]
pub struct Progress {
    shown: Option<Shown>,
}

#[derive(Debug)]
struct Shown {
    bar: ProgressBar,
    /// Dropping it ends the thread.
    running: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// The progress of `total` bytes of work, or 0 if that is unknown.
    pub(super) fn new(is_quiet: bool, what: &str, total: u64) -> Progress {
        if is_quiet || !io::stderr().is_terminal() {
            return Progress::default();
        }
        let bar = bar(what, total);
        let (running, ended) = channel::<()>();
        let later = bar.clone();
        let thread = std::thread::Builder::new().spawn(move || {
            if ended.recv_timeout(DELAY) == Err(RecvTimeoutError::Timeout) {
                later.set_draw_target(ProgressDrawTarget::stderr());
                later.enable_steady_tick(TICK);
            }
        });
        // Without a thread, nothing is shown.
        Progress { shown: Some(Shown { bar, running: Some(running), thread: thread.ok() }) }
    }

    pub fn add(&mut self, bytes: u64) {
        self.shown.iter().for_each(|shown| shown.bar.inc(bytes));
    }
}

fn bar(what: &str, total: u64) -> ProgressBar {
    let (length, template) = match total {
        0 => (None, "{spinner} {msg}: {elapsed}"),
        _ => (Some(total), "{spinner} {msg}: {percent} % of {binary_total_bytes} [{bar:20}]"),
    };
    let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::hidden());
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.with_message(escape(what).into_owned())
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.running = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn written(text: &[u8], step: usize) -> Vec<u8> {
        let mut escaped = Escaped { out: Vec::new(), line: Vec::new() };
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

    #[test]
    fn a_quiet_command_shows_no_progress() {
        assert!(Progress::new(true, "verifying", 4 << 20).shown.is_none());
    }

    #[test]
    fn work_beyond_its_total_stays_at_its_end() {
        let bar = bar("verifying\n", 4 << 20);
        bar.inc(9 << 20);
        assert_eq!((bar.length(), bar.message().as_str()), (Some(4 << 20), "verifying\\n"));
        assert_eq!(super::bar("reading", 0).length(), None);
    }
}
