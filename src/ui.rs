//! The terminal, written in one place: what a program reads on stdout, what a person reads on stderr.

pub mod screen;

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};

pub use progress::Progress;

use crate::error::Error;
use crate::unicode::{is_invisible, is_joiner};
use json::Escaped;

mod json;
mod progress;

/// The two streams of a command.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ui;

impl Ui {
    /// A writer to stdout that drops colour where the stream or `NO_COLOR` wants none.
    pub fn out(&self) -> impl Write + use<> {
        io::BufWriter::new(anstream::AutoStream::auto(io::stdout()))
    }

    /// A writer to stdout for JSON. It escapes in a pipe as on a terminal, because a reader may pass the text on to one.
    pub fn json(&self) -> impl Write + use<> {
        io::BufWriter::with_capacity(64 * 1024, Escaped::new(io::stdout()))
    }

    /// Writes text to stdout as it is, in one write, and nothing when it is empty.
    ///
    /// # Errors
    /// A closed pipe counts as success: the reader has had enough.
    pub fn raw(&self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        quiet(io::stdout().write_all(bytes).and_then(|()| io::stdout().flush()))
    }

    /// A writer to stdout for bytes that are no text.
    pub fn bytes(&self) -> impl Write + use<> {
        io::BufWriter::with_capacity(64 * 1024, io::stdout())
    }

    /// One line for the person at stderr.
    pub fn say(&self, line: &str) {
        let _ = writeln!(io::stderr(), "{}", escape(line));
    }

    /// Says what went wrong, and what to do about it.
    pub fn report(&self, error: &Error) {
        self.say(&format!("teamkeep: {error}"));
        for hint in &error.hints {
            self.say(&format!("hint: {hint}"));
        }
    }

    /// Shows how far a long work is, to a person at stderr; to nobody else.
    pub fn progress(&self, what: &str, total: u64) -> Progress {
        Progress::new(what, total, io::stderr().is_terminal())
    }

    /// Whether a person reads stdout.
    pub fn is_terminal(&self) -> bool {
        io::stdout().is_terminal()
    }

    /// Whether somebody can type: stdin is a terminal.
    pub fn is_typed(&self) -> bool {
        io::stdin().is_terminal()
    }

    /// Asks the person at the terminal a question that is answered with y or n; anything but a yes is a no.
    ///
    /// # Errors
    /// When there is no terminal to ask at.
    pub fn ask(&self, question: &str) -> Result<bool, Error> {
        if !io::stdin().is_terminal() {
            return Err(Error::new("there is no terminal to ask at").hint("say it beforehand: --yes"));
        }
        let _ = write!(io::stderr(), "{} [y/N] ", escape(question));
        let mut answer = String::new();
        io::stdin().read_line(&mut answer)?;
        Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
    }

    /// The columns of the terminal at stdout; `None` in a pipe.
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

/// Takes a closed pipe for a reader that has had enough.
///
/// # Errors
/// Any other failure to write.
pub fn quiet(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Makes text from outside safe for a terminal: control characters, line breaks, the characters that turn the
/// direction of text, and those that take no room become visible escapes. The joiners stay: emoji are made with them.
pub fn escape(text: &str) -> Cow<'_, str> {
    if !text.chars().any(unsafe_to_show) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' => safe.push_str("\\n"),
            '\r' => safe.push_str("\\r"),
            '\t' => safe.push_str("\\t"),
            c if unsafe_to_show(c) => safe.push_str(&format!("\\u{{{:x}}}", c as u32)),
            c => safe.push(c),
        }
    }
    Cow::Owned(safe)
}

fn unsafe_to_show(c: char) -> bool {
    c.is_control() || (is_invisible(c) && !is_joiner(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_outside_cannot_drive_the_terminal() {
        assert_eq!(escape("\u{1b}[31mred\u{7}\n"), "\\u{1b}[31mred\\u{7}\\n");
        assert_eq!(escape("a\u{202e}b"), "a\\u{202e}b");
        assert_eq!(escape("über 💥 👩‍💻 ❤️"), "über 💥 👩‍💻 ❤️");
        for c in "\u{61c}\u{200b}\u{2028}\u{2029}\u{2060}\u{2064}\u{e0041}".chars() {
            assert_eq!(escape(&c.to_string()), format!("\\u{{{:x}}}", c as u32));
        }
    }
}
