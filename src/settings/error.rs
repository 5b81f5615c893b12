//! Why Claude Code cannot read a settings file, and the command that opens it there.

use std::fmt;
use std::path::Path;

use super::command::quoted;
use super::document::{Document, jsonc_error};
use super::read::text_of;

/// A flaw that makes Claude Code ignore a whole settings file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsError {
    /// The line, if known.
    pub line: Option<usize>,
    /// The problem.
    pub what: String,
}

impl SettingsError {
    /// The first flaw of a content, if any.
    pub fn of(content: &[u8]) -> Option<SettingsError> {
        let text = match text_of(content) {
            Ok((_, text)) => text,
            Err(what) => {
                let valid = std::str::from_utf8(content).err().map_or(0, |error| error.valid_up_to());
                return Some(SettingsError::at(Some(line_of(content, valid)), &what));
            }
        };
        if text.trim().is_empty() {
            return None;
        }
        if let Some((line, what)) = jsonc_error(text) {
            return Some(SettingsError::at(Some(line), &what));
        }
        let document = match Document::parse(text) {
            Ok(document) => document,
            Err(what) => return Some(SettingsError::at(None, &what)),
        };
        if let Some((line, what)) = document.json_error() {
            return Some(SettingsError::at(Some(line), &what));
        }
        document.first_jsonc_extension().map(|(at, what)| SettingsError {
            line: Some(line_of(text.as_bytes(), at)),
            what: format!("{what} is not valid JSON; Claude Code ignores the whole file"),
        })
    }

    fn at(line: Option<usize>, what: &str) -> SettingsError {
        SettingsError { line, what: format!("{what}; Claude Code ignores the whole file") }
    }

    /// The command that opens the file at the flaw.
    pub fn edit(&self, path: &Path) -> String {
        let line = self.line.map_or(String::new(), |line| format!("+{line} "));
        format!("${{EDITOR:-vi}} {line}{}", quoted(&path.to_string_lossy()))
    }
}

impl fmt::Display for SettingsError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(out, "line {line}: ")?;
        }
        out.write_str(&self.what)
    }
}

/// The line of a byte offset, from 1.
fn line_of(content: &[u8], at: usize) -> usize {
    content.iter().take(at).filter(|byte| **byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(content: &[u8]) -> Option<String> {
        SettingsError::of(content).map(|flaw| flaw.to_string())
    }

    #[test]
    fn the_first_flaw_is_told_with_its_line() {
        for fine in [&b"{}"[..], b"", b"\n \n", b"\xef\xbb\xbf{\"a\": [1, {}]}\r\n"] {
            assert_eq!(told(fine), None);
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
            assert_eq!(told(content).as_deref(), Some(what));
        }
    }

    #[test]
    fn the_file_is_opened_at_the_line() {
        let flaw = |line| SettingsError { line, what: String::new() };
        assert_eq!(flaw(Some(7)).edit(Path::new("/a b")), "${EDITOR:-vi} +7 '/a b'");
        assert_eq!(flaw(None).edit(Path::new("/a")), "${EDITOR:-vi} /a");
    }
}
