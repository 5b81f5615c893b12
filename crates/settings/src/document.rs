//! A settings text: JSON with comments, as a tree that keeps every byte, and why Claude Code cannot read it.

use std::collections::HashSet;
use std::fmt::{self, Write};
use std::path::Path;

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstNode, CstObject, CstRootNode};
use serde_json::Value;

use teamkeep_system::command::quoted;
use teamkeep_system::os;

/// JSON with comments and trailing commas only.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// The byte order mark that some editors write.
const BOM: &str = "\u{feff}";

/// A parsed settings text, whose `hooks`, if any, have the structure that Claude Code reads.
pub struct Document {
    pub root: CstRootNode,
    pub settings: CstObject,
    pub hooks: Option<CstObject>,
    /// The matcher groups of each event.
    pub events: Vec<(String, CstArray)>,
}

/// Parses a text, or returns why it cannot be edited.
pub(crate) fn parse(text: &str) -> Result<Document, String> {
    Document::parse(text).map_err(|error| error.cause())
}

impl Document {
    /// Parses a text.
    ///
    /// # Errors
    /// The reason why it cannot be edited.
    pub fn parse(text: &str) -> Result<Document, SettingsError> {
        let root = CstRootNode::parse(text, &OPTIONS).map_err(|error| {
            let what = error.kind().to_string();
            let mut letters = what.chars();
            let first = letters.next().map(|first| first.to_ascii_lowercase());
            SettingsError::at(error.line_display(), first.into_iter().chain(letters).collect::<String>())
        })?;
        let settings = root.object_value().ok_or_else(|| SettingsError::new("it is not a JSON object"))?;
        let properties = settings.properties();
        let mut document = Document { root, settings, hooks: None, events: Vec::new() };
        let mut hooks = properties.iter().filter(|one| one.decoded_name().as_deref() == Some("hooks"));
        let Some(property) = hooks.next() else { return Ok(document) };
        if hooks.next().is_some() {
            return Err(SettingsError::new("it has the key `hooks` twice"));
        }
        let hooks =
            property.object_value().ok_or_else(|| SettingsError::new("its `hooks` is not an object"))?;
        let mut seen = HashSet::new();
        for event in hooks.properties() {
            let name = event.decoded_name().unwrap_or_default();
            let Some(groups) = event.array_value() else {
                return Err(SettingsError::new(format!("its `hooks.{name}` is not an array")));
            };
            if !seen.insert(name.clone()) {
                return Err(SettingsError::new(format!("its `hooks` has the key `{name}` twice")));
            }
            document.events.push((name, groups));
        }
        document.hooks = Some(hooks);
        Ok(document)
    }

    /// The settings as plain data.
    pub fn data(&self) -> Value {
        self.settings.to_serde_value().unwrap_or_default()
    }

    /// The line and kind of the first part that is not strict JSON, if any.
    ///
    /// # Errors
    /// The text is invalid even without its comments and trailing commas.
    pub fn first_extension(&self) -> Result<Option<(usize, &'static str)>, SettingsError> {
        let (mut strict, mut first) = (String::new(), None);
        write_strict(&CstNode::from(self.root.clone()), &mut strict, &mut first);
        match serde_json::from_str::<serde::de::IgnoredAny>(&strict) {
            Ok(_) => Ok(first),
            Err(error) => {
                let what = error.to_string();
                let what = what.rsplit_once(" at line ").map_or(what.as_str(), |(what, _)| what);
                Err(SettingsError::at(error.line(), what))
            }
        }
    }
}

/// Writes a node as strict JSON, with blanks for comments and trailing commas, and notes the first of these.
fn write_strict(node: &CstNode, out: &mut String, first: &mut Option<(usize, &'static str)>) {
    let is_item = |node: CstNode| !node.is_trivia() && !node.is_token();
    let what = match node {
        CstNode::Container(container) => {
            return container.children().iter().for_each(|child| write_strict(child, out, first));
        }
        node if node.is_comment() => "a comment",
        node if node.is_comma() && !node.next_siblings().any(is_item) => "a trailing comma",
        leaf => {
            let _ = write!(out, "{leaf}");
            return;
        }
    };
    first.get_or_insert_with(|| (out.matches('\n').count() + 1, what));
    out.extend(node.to_string().chars().map(|c| if c == '\n' { c } else { ' ' }));
}

/// A content as text, without its byte order mark; the mark comes first.
pub fn text_of(content: &[u8]) -> Result<(&'static str, &str), String> {
    let text = std::str::from_utf8(content).map_err(|error| format!("it is not UTF-8 ({error})"))?;
    Ok(text.strip_prefix(BOM).map_or(("", text), |text| (BOM, text)))
}

/// The settings of a content; comments and trailing commas are allowed. Null if it cannot be read.
pub fn lenient_data(content: &[u8]) -> Value {
    let document = text_of(content).ok().and_then(|(_, text)| Document::parse(text).ok());
    document.map(|document| document.data()).unwrap_or_default()
}

/// Checks a content as Claude Code does: strict JSON. An empty file has no settings.
///
/// # Errors
/// The first error in the content.
pub fn check_strict(content: &[u8]) -> Result<(), SettingsError> {
    let (_, text) = text_of(content).map_err(|what| {
        let valid = std::str::from_utf8(content).err().map_or(0, |error| error.valid_up_to());
        SettingsError::at(content.iter().take(valid).filter(|byte| **byte == b'\n').count() + 1, what)
    })?;
    let document = Document::parse(if text.trim().is_empty() { "{}" } else { text })?;
    match document.first_extension()? {
        Some((line, what)) => Err(SettingsError::at(line, format!("{what} is not valid JSON"))),
        None => Ok(()),
    }
}

/// An error in a settings file. Claude Code ignores the whole file then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsError {
    /// The line, if known.
    pub line: Option<usize>,
    pub what: String,
}

impl SettingsError {
    fn new(what: impl Into<String>) -> SettingsError {
        SettingsError { line: None, what: what.into() }
    }

    fn at(line: usize, what: impl Into<String>) -> SettingsError {
        SettingsError { line: Some(line), what: what.into() }
    }

    /// The line and the problem, without its effect.
    pub fn cause(&self) -> String {
        self.line.map_or(String::new(), |line| format!("line {line}: ")) + &self.what
    }

    /// The command that opens the file at the error.
    pub fn edit(&self, path: &Path) -> String {
        os::shell::edit(&quoted(&path.to_string_lossy()), self.line)
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

    #[test]
    fn text_that_claude_code_cannot_read_is_rejected_with_the_reason() {
        for (text, why) in [
            ("[]", "it is not a JSON object"),
            ("// nothing", "it is not a JSON object"),
            ("{\"hooks\": [], \"a\": 1}", "its `hooks` is not an object"),
            ("{\"hooks\": {\"Stop\": {}}}", "its `hooks.Stop` is not an array"),
            ("{\"hooks\": {}, \"ho\\u006fks\": {}}", "it has the key `hooks` twice"),
            ("{\"hooks\": {\"Stop\": [], \"Stop\": []}}", "its `hooks` has the key `Stop` twice"),
        ] {
            assert_eq!(Document::parse(text).err().unwrap().cause(), why);
        }
        for broken in
            ["{", "{\"a\": 1,, }", "{'a': 1}", "{a: 1}", "{\"a\": 1 \"b\": 2}", "{} {}", "{\"a\": 0x1}"]
        {
            assert!(Document::parse(broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn text_that_is_invalid_even_without_comments_and_trailing_commas_is_an_error() {
        let error = |text| Document::parse(text).unwrap().first_extension().err().map(|error| error.cause());
        assert_eq!(error("// ü\n{\"a\": \"// none\", /* b\n */ \"c\": [1, /* d */],\n} // end"), None);
        let control = "line 2: control character (\\u0000-\\u001F) found while parsing a string".to_owned();
        assert_eq!(error("{ // one\n\"a\": \"\0\"}").as_ref(), Some(&control));
        assert_eq!(error("{\"a\": 1,\n\"b\tc\": 2}"), Some(control));
        assert_eq!(error("\u{b}{}"), Some("line 1: expected value".to_owned()));
    }

    #[test]
    fn deep_nesting_is_an_error_and_not_a_crash() {
        assert!(Document::parse(&"{\"a\":".repeat(100_000)).is_err());
        assert!(Document::parse(&"[".repeat(100_000)).is_err());
    }

    fn error(content: &[u8]) -> Option<String> {
        check_strict(content).err().map(|error| error.to_string())
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
        assert_eq!(error(Some(7)).edit(Path::new("/a b")), os::shell::edit("'/a b'", Some(7)));
        assert_eq!(error(None).edit(Path::new("/a")), os::shell::edit("/a", None));
    }
}
