//! Reads the content of a settings file.

use serde_json::Value;

use crate::settings::document::Document;

/// The byte order mark that some editors write.
const BOM: &str = "\u{feff}";

/// A content as text, without its byte order mark; the mark comes first.
///
/// # Errors
/// It is not valid UTF-8.
pub fn text_of(content: &[u8]) -> Result<(&'static str, &str), String> {
    let text = std::str::from_utf8(content).map_err(|error| format!("it is not UTF-8 ({error})"))?;
    Ok(text.strip_prefix(BOM).map_or(("", text), |text| (BOM, text)))
}

/// The settings of a text; comments and trailing commas are allowed.
///
/// # Errors
/// The reason why it cannot be read.
pub fn data(text: &str) -> Result<Value, String> {
    Document::parse(text).map(|document| document.data())
}

/// Whether these settings disable all hooks.
pub fn no_hook_runs(content: &[u8]) -> bool {
    let settings = text_of(content).and_then(|(_, text)| data(text));
    settings.is_ok_and(|settings| settings.get("disableAllHooks") == Some(&Value::Bool(true)))
}
