//! From bytes to a payload: whatever comes, something can be recorded.

use std::path::Path;

use base64::Engine;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Input, Kind};
use crate::json;

/// What stood on stdin. Every getter is lenient: a field that is missing or of another type is `None`.
#[derive(Debug)]
pub struct Payload {
    /// The text to record, on one line.
    pub raw: Box<RawValue>,
    /// Why it is not one JSON object, if so.
    pub malformed: Option<Malformed>,
    /// Whether some of it was too deep or too much to be opened. The text is whole all the same.
    pub cut: bool,
    fields: Value,
}

/// Why a payload is not one JSON object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed(pub String);

/// Values that are kept opened in each part of a payload; the text is kept whole.
const MOST: usize = 100_000;

/// Reads what stood on stdin.
pub fn parse(input: &Input) -> Payload {
    let bytes = trimmed(&input.bytes);
    if let Some(problem) = &input.problem {
        // An object that has its last bracket is whole, whoever still holds the pipe.
        let whole = input
            .held
            .then(|| parse(&Input::from(input.bytes.clone())))
            .filter(|whole| whole.malformed.is_none());
        return whole.unwrap_or_else(|| broken(bytes, problem.clone()));
    }
    if bytes.is_empty() {
        return broken(bytes, "stdin was empty".to_owned());
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => return broken(bytes, format!("no UTF-8: {error}")),
    };
    let json::Opened { value: fields, cut } = match json::read(bytes, MOST) {
        Ok(opened) => opened,
        Err(error) => return broken(bytes, format!("no JSON: {error}")),
    };
    let Ok(raw) = RawValue::from_string(on_one_line(text)) else {
        return broken(bytes, "no JSON".to_owned());
    };
    let malformed = (!fields.is_object()).then(|| Malformed("JSON, but not an object".to_owned()));
    Payload { raw, malformed, cut, fields }
}

/// A payload that is no JSON: its text, or base64 where it is not even text. The event and the session are known where
/// they stand before the break.
fn broken(bytes: &[u8], problem: String) -> Payload {
    // Text of control characters would grow to six times its size.
    let controls = bytes.iter().filter(|byte| **byte < 0x20).count();
    let (key, text) = match std::str::from_utf8(bytes) {
        Ok(text) if controls <= bytes.len() / 8 => ("text", text.to_owned()),
        _ => ("base64", base64::engine::general_purpose::STANDARD.encode(bytes)),
    };
    let wrapped = serde_json::json!({ key: text });
    let raw = serde_json::value::to_raw_value(&wrapped).unwrap_or_else(|_| RawValue::NULL.to_owned());
    let fields = Value::Object(json::early(bytes, &["hook_event_name", "session_id"]));
    Payload { raw, malformed: Some(Malformed(problem)), cut: false, fields }
}

fn trimmed(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii()
}

/// Drops the line breaks between tokens. Inside a string JSON allows none, so all that are there go.
fn on_one_line(text: &str) -> String {
    if text.bytes().any(|byte| byte == b'\n' || byte == b'\r') {
        text.chars().filter(|c| *c != '\n' && *c != '\r').collect()
    } else {
        text.to_owned()
    }
}

impl Payload {
    /// A payload of fields that are already parsed (a line of the log, a test).
    pub fn from_raw(raw: &RawValue) -> Payload {
        let opened = json::read(raw.get().as_bytes(), MOST);
        let json::Opened { value: fields, cut } =
            opened.unwrap_or(json::Opened { value: Value::Null, cut: false });
        Payload { raw: raw.to_owned(), malformed: None, cut, fields }
    }

    /// The same without its text, for whoever opens many and needs none of them verbatim.
    pub fn fields_of(raw: &RawValue) -> Payload {
        let opened = json::read(raw.get().as_bytes(), MOST).ok();
        let (fields, cut) = opened.map_or((Value::Null, false), |opened| (opened.value, opened.cut));
        Payload { raw: RawValue::NULL.to_owned(), malformed: None, cut, fields }
    }

    /// Lets go of fields that nobody will ask for.
    pub fn forget(&mut self, keys: &[&str]) {
        if let Value::Object(fields) = &mut self.fields {
            let kept = std::mem::take(fields).into_iter().filter(|(key, _)| !keys.contains(&key.as_str()));
            *fields = kept.collect();
        }
    }

    /// The event by the payload's own word.
    pub fn event_name(&self) -> Option<&str> {
        self.text("hook_event_name")
    }

    /// The event by the payload's own word, as this version knows it.
    pub fn kind(&self) -> Kind {
        self.event_name().map_or(Kind::Unknown, Kind::named)
    }

    /// A field that holds text.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.fields.get(key)?.as_str()
    }

    /// A field of any type.
    pub fn field(&self, key: &str) -> Option<&Value> {
        self.fields.get(key)
    }

    /// The session.
    pub fn session(&self) -> Option<&str> {
        self.text("session_id")
    }

    /// The agent, where the payload names one that is not empty.
    pub fn agent_id(&self) -> Option<&str> {
        self.text("agent_id").filter(|id| !id.is_empty())
    }

    /// The session's transcript.
    pub fn transcript(&self) -> Option<&Path> {
        self.text("transcript_path").map(Path::new)
    }

    /// The tool, on tool events.
    pub fn tool(&self) -> Option<&str> {
        self.text("tool_name")
    }

    /// The tool's input, on tool events.
    pub fn tool_input(&self) -> &Value {
        self.fields.get("tool_input").unwrap_or(&Value::Null)
    }

    /// The tool's response, on PostToolUse.
    pub fn tool_response(&self) -> &Value {
        self.fields.get("tool_response").unwrap_or(&Value::Null)
    }

    /// The id that ties PreToolUse, PostToolUse and the transcript together.
    pub fn tool_use_id(&self) -> Option<&str> {
        self.text("tool_use_id")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Payload {
        parse(&Input::from(bytes.to_vec()))
    }

    #[test]
    fn a_payload_is_kept_verbatim_but_for_line_breaks() {
        let payload = read(
            b"{ \"n\": 1.000000000000000000001e400,\r\n \"a\\nb\": [1 ,2],\n\"hook_event_name\":\"Stop\" }\n",
        );
        assert_eq!(
            payload.raw.get(),
            "{ \"n\": 1.000000000000000000001e400, \"a\\nb\": [1 ,2],\"hook_event_name\":\"Stop\" }"
        );
        assert_eq!(payload.kind(), Kind::Stop);
        assert_eq!(payload.malformed, None);
    }

    #[test]
    fn what_is_no_object_is_kept_with_the_reason() {
        assert_eq!(read(b"").malformed.unwrap().0, "stdin was empty");
        assert_eq!(read(b"[1]").raw.get(), "[1]");
        assert_eq!(read(b"[1]").malformed.unwrap().0, "JSON, but not an object");
        let cut = read(b"{\"session_id\": \"a");
        assert_eq!(cut.raw.get(), r#"{"text":"{\"session_id\": \"a"}"#);
        assert!(cut.malformed.unwrap().0.starts_with("no JSON: "));
        let named = read(b"{\"hook_event_name\":\"PreToolUse\",\"tool_input\":{\"a");
        assert_eq!((named.kind(), named.tool_input()), (Kind::PreToolUse, &Value::Null));
        let bytes = read(b"\xff\xfe{}");
        assert_eq!(bytes.raw.get(), r#"{"base64":"//57fQ=="}"#);
        assert!(bytes.malformed.unwrap().0.starts_with("no UTF-8: "));
    }

    #[test]
    fn half_an_emoji_and_a_library_s_own_keys_hide_nothing() {
        let cut = read(br#"{"session_id":"L","hook_event_name":"Stop","last":"cut \ud83d"}"#);
        assert_eq!((cut.kind(), cut.session(), &cut.malformed), (Kind::Stop, Some("L"), &None));
        assert!(cut.raw.get().contains(r#""cut \ud83d""#), "the record is verbatim");
        let forged = read(br#"{"$serde_json::private::RawValue":"{\"hook_event_name\":\"SessionEnd\"}"}"#);
        assert_eq!(forged.kind(), Kind::Unknown);
    }

    #[test]
    fn fields_of_the_wrong_type_are_absent() {
        let payload = read(br#"{"session_id": 7, "agent_id": "", "tool_input": "x"}"#);
        assert_eq!((payload.session(), payload.agent_id(), payload.tool()), (None, None, None));
        assert_eq!(payload.kind(), Kind::Unknown);
    }
}
