//! One hook call as a line of the log.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Actor;
use crate::clock;

/// One hook call to be written. The order of the fields is the order in the line; `payload` is last.
#[derive(Debug, Serialize)]
pub struct Event<'a> {
    /// Version of the format: 1.
    pub v: u8,
    /// The start of the call by teamkeep's clock; payloads have no time.
    pub at: &'a str,
    /// Sortable, unique.
    pub id: &'a str,
    /// The event's name (`SubagentStop`).
    pub event: &'a str,
    /// The session that the payload names.
    pub session: Option<&'a str>,
    /// The team, if known.
    pub team: Option<&'a str>,
    /// The actor.
    pub actor: &'a Actor,
    /// The run that the call belongs to.
    pub run: Option<&'a str>,
    /// The task list in `CLAUDE_CODE_TASK_LIST_ID`, spelled like its directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_list: Option<&'a str>,
    /// A problem of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<&'a str>,
    /// Why the payload is not one JSON object; `payload` holds its text or base64 then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub malformed: Option<&'a str>,
    /// The verdict about another event, if this line is a verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<&'a RawValue>,
    /// The payload, verbatim except for line breaks between tokens.
    pub payload: &'a RawValue,
}

impl Event<'_> {
    /// The line with its line break.
    ///
    /// # Errors
    /// None in practice: every field is plain data.
    pub fn line(&self) -> serde_json::Result<Vec<u8>> {
        let mut line = Vec::with_capacity(self.payload.get().len() + 320);
        serde_json::to_writer(&mut line, self)?;
        line.push(b'\n');
        Ok(line)
    }
}

/// A line of the log as read. Missing and unknown fields are allowed.
#[derive(Debug, Clone, Deserialize)]
pub struct Recorded {
    /// Version of the format.
    #[serde(default)]
    pub v: u8,
    /// The start of the call.
    #[serde(default)]
    pub at: String,
    /// Sortable, unique.
    #[serde(default)]
    pub id: String,
    /// The event's name.
    #[serde(default)]
    pub event: String,
    /// The session that the payload names.
    #[serde(default)]
    pub session: Option<String>,
    /// The team, if known.
    #[serde(default)]
    pub team: Option<String>,
    /// The actor.
    #[serde(default = "Actor::unknown")]
    pub actor: Actor,
    /// The run that the call belongs to.
    #[serde(default)]
    pub run: Option<String>,
    /// The task list that `CLAUDE_CODE_TASK_LIST_ID` names.
    #[serde(default)]
    pub task_list: Option<String>,
    /// A problem of the call.
    #[serde(default)]
    pub warning: Option<String>,
    /// Why the payload is not one JSON object.
    #[serde(default)]
    pub malformed: Option<String>,
    /// The verdict about another event.
    #[serde(default)]
    pub verdict: Option<Box<RawValue>>,
    /// The payload.
    #[serde(default = "null")]
    pub payload: Box<RawValue>,
}

impl Recorded {
    /// The first invalid field.
    pub fn flaw(&self) -> Option<String> {
        let digit = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_lowercase();
        if self.id.len() != 26 || !self.id.bytes().all(digit) {
            return Some(format!("invalid id {:?}", self.id));
        }
        clock::parse(&self.at).is_none().then(|| format!("invalid time {:?}", self.at))
    }
}

fn null() -> Box<RawValue> {
    RawValue::NULL.to_owned()
}
