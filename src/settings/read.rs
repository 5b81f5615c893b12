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

/// Whether these settings keep every hook from running.
pub fn no_hook_runs(content: &[u8]) -> bool {
    let settings = text_of(content).and_then(|(_, text)| data(text));
    settings.is_ok_and(|settings| settings.get("disableAllHooks") == Some(&Value::Bool(true)))
}
