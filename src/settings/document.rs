//! A settings text: JSON with comments, as a tree that keeps every byte.

use std::collections::HashSet;
use std::fmt::Write;

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstNode, CstObject, CstRootNode};
use serde_json::Value;

use crate::settings::error::SettingsError;

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
    /// The whole text.
    pub root: CstRootNode,
    /// The settings.
    pub settings: CstObject,
    /// The object with the hooks.
    pub hooks: Option<CstObject>,
    /// The matcher groups of each event.
    pub events: Vec<(String, CstArray)>,
}

/// A difference between a text and strict JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extension {
    /// The line.
    pub line: usize,
    /// Its kind.
    pub what: &'static str,
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
        let mut document = Document { root, settings, hooks: None, events: Vec::new() };
        let properties = document.settings.properties();
        let mut hooks =
            properties.iter().filter(|property| property.decoded_name().as_deref() == Some("hooks"));
        let Some(property) = hooks.next() else { return Ok(document) };
        if hooks.next().is_some() {
            return Err(SettingsError::new("it has the key `hooks` twice"));
        }
        let hooks =
            property.object_value().ok_or_else(|| SettingsError::new("its `hooks` is not an object"))?;
        let mut seen = HashSet::new();
        for event in hooks.properties() {
            let name = event.decoded_name().unwrap_or_default();
            let groups = event
                .array_value()
                .ok_or_else(|| SettingsError::new(format!("its `hooks.{name}` is not an array")))?;
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

    /// The first part that is not strict JSON, if any.
    ///
    /// # Errors
    /// The text is invalid even without its comments and trailing commas.
    pub fn first_extension(&self) -> Result<Option<Extension>, SettingsError> {
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
fn write_strict(node: &CstNode, out: &mut String, first: &mut Option<Extension>) {
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
    first.get_or_insert_with(|| Extension { line: out.matches('\n').count() + 1, what });
    out.extend(node.to_string().chars().map(|c| if c == '\n' { c } else { ' ' }));
}

/// A content as text, without its byte order mark; the mark comes first.
///
/// # Errors
/// It is not valid UTF-8.
pub fn text_of(content: &[u8]) -> Result<(&'static str, &str), String> {
    let text = std::str::from_utf8(content).map_err(|error| format!("it is not UTF-8 ({error})"))?;
    Ok(text.strip_prefix(BOM).map_or(("", text), |text| (BOM, text)))
}

/// The settings of a content; comments and trailing commas are allowed. `None` if it cannot be read.
pub fn lenient_data(content: &[u8]) -> Option<Value> {
    let (_, text) = text_of(content).ok()?;
    Document::parse(text).ok().map(|document| document.data())
}

/// Whether these settings disable all hooks.
pub fn no_hook_runs(content: &[u8]) -> bool {
    lenient_data(content).is_some_and(|settings| settings.get("disableAllHooks") == Some(&Value::Bool(true)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_claude_code_cannot_read_is_refused_with_the_reason() {
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
}
