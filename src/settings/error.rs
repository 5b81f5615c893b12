//! Why Claude Code cannot read a settings file, and the command that opens it there.

use std::fmt;
use std::path::Path;

use serde_json::Value;

use super::command::quoted;
use super::document::{Document, text_of};

/// An error in a settings file. Claude Code ignores the whole file then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsError {
    /// The line, if known.
    pub line: Option<usize>,
    /// The problem.
    pub what: String,
}

/// Reads a content as Claude Code does: strict JSON. An empty file has no settings.
///
/// # Errors
/// The first error in the content.
pub fn read_strict(content: &[u8]) -> Result<Value, SettingsError> {
    let (_, text) = text_of(content).map_err(|what| {
        let valid = std::str::from_utf8(content).err().map_or(0, |error| error.valid_up_to());
        SettingsError::at(content.iter().take(valid).filter(|byte| **byte == b'\n').count() + 1, what)
    })?;
    let document = Document::parse(if text.trim().is_empty() { "{}" } else { text })?;
    match document.first_extension()? {
        Some(extension) => {
            Err(SettingsError::at(extension.line, format!("{} is not valid JSON", extension.what)))
        }
        None => Ok(document.data()),
    }
}

impl SettingsError {
    /// An error without a line.
    pub fn new(what: impl Into<String>) -> SettingsError {
        SettingsError { line: None, what: what.into() }
    }

    /// An error at a line.
    pub fn at(line: usize, what: impl Into<String>) -> SettingsError {
        SettingsError { line: Some(line), what: what.into() }
    }

    /// The line and the problem, without its effect.
    pub fn cause(&self) -> String {
        self.line.map_or(String::new(), |line| format!("line {line}: ")) + &self.what
    }

    /// The command that opens the file at the error.
    pub fn edit(&self, path: &Path) -> String {
        let line = self.line.map_or(String::new(), |line| format!("+{line} "));
        format!("${{EDITOR:-vi}} {line}{}", quoted(&path.to_string_lossy()))
    }
}

impl fmt::Display for SettingsError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}; Claude Code ignores the whole file", self.cause())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(content: &[u8]) -> Option<String> {
        read_strict(content).err().map(|error| error.to_string())
    }

    #[test]
    fn the_first_error_is_shown_with_its_line() {
        for fine in [&b"{}"[..], b"", b"\n \n", b"\xef\xbb\xbf{\"a\": [1, {}]}\r\n"] {
            assert_eq!(error(fine), None);
        }
        for (content, what) in [
            (
                &b"{\n \"a\": 1 // one\n}"[..],
                "line 2: a comment is not valid JSON; Claude Code ignores the whole file",
            ),
            (
                b"{\n \"a\": \"// none\",\n \"b\": 1 /* one */\n}",
                "line 3: a comment is not valid JSON; Claude Code ignores the whole file",
            ),
            (
                b"{\n \"a\": 1,\n\n /* x */ }",
                "line 2: a trailing comma is not valid JSON; Claude Code ignores the whole file",
            ),
            (
                b"{\r\n \"a\": [1,\r\n]}",
                "line 2: a trailing comma is not valid JSON; Claude Code ignores the whole file",
            ),
            (b"{\n \"a\": 1\n \"b\": 2}", "line 2: expected comma; Claude Code ignores the whole file"),
            (
                b"{\"a\": 1,\n \"\xff\": 2}",
                "line 2: it is not UTF-8 (invalid utf-8 sequence of 1 bytes from index 11); Claude Code ignores the whole file",
            ),
            (
                b"{\"a\": 1, // one\n \"b\": \"\t\"}",
                "line 2: control character (\\u0000-\\u001F) found while parsing a string; Claude Code ignores the whole file",
            ),
            (b"{\"hooks\": []}", "its `hooks` is not an object; Claude Code ignores the whole file"),
        ] {
            assert_eq!(error(content).as_deref(), Some(what));
        }
    }

    #[test]
    fn the_file_is_opened_at_the_line() {
        let error = |line| SettingsError { line, what: String::new() };
        assert_eq!(error(Some(7)).edit(Path::new("/a b")), "${EDITOR:-vi} +7 '/a b'");
        assert_eq!(error(None).edit(Path::new("/a")), "${EDITOR:-vi} /a");
    }
}
