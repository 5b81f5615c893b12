//! What a settings file says.

use serde_json::Value;

use crate::settings::document::Document;

/// The mark that some editors begin a file with.
const BOM: &str = "\u{feff}";

/// A content as text, without the mark that it may begin with; the mark comes first.
///
/// # Errors
/// When it is no UTF-8.
pub fn text_of(content: &[u8]) -> Result<(&'static str, &str), String> {
    let text = std::str::from_utf8(content).map_err(|error| format!("it is not UTF-8 ({error})"))?;
    Ok(text.strip_prefix(BOM).map_or(("", text), |text| (BOM, text)))
}

/// What a text of settings says, comments and trailing commas let pass.
///
/// # Errors
/// The reason why it cannot be read.
pub fn data(text: &str) -> Result<Value, String> {
    Document::parse(text).map(|document| document.data())
}

/// The first line that is no strict JSON, which is all that the client reads.
pub fn loose(text: &str) -> Option<usize> {
    serde_json::from_str::<serde::de::IgnoredAny>(text).err().map(|error| error.line())
}

/// What in this content will keep the client from running our hooks.
pub fn obstacles(content: &[u8]) -> Vec<String> {
    let Ok((_, text)) = text_of(content) else { return Vec::new() };
    let mut found = Vec::new();
    if let Some(line) = loose(text) {
        found.push(format!(
            "the client reads strict JSON, without comments and trailing commas, and skips this whole file for its line {line}",
        ));
    }
    if data(text).is_ok_and(|settings| settings.get("disableAllHooks") == Some(&Value::Bool(true))) {
        found.push("no hook runs while `disableAllHooks` is true in this file".to_owned());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_keeps_our_hooks_from_running_is_named() {
        assert_eq!(obstacles(b"{\"a\": 1}"), Vec::<String>::new());
        assert!(obstacles(b"{\n \"a\": 1, // one\n}")[0].contains("line 2"));
        assert!(obstacles(b"{\"disableAllHooks\": true}")[0].contains("disableAllHooks"));
    }
}
