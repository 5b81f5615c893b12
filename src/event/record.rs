//! The record of one hook call, as one line of the log.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Actor;
use crate::clock;

/// One hook call, ready to be written. The order of the fields is the order in the line; `payload` is last.
#[derive(Debug, Serialize)]
pub struct Event<'a> {
    /// Version of the format: 1.
    pub v: u8,
    /// When the call began, by our clock: no payload carries a time.
    pub at: &'a str,
    /// Sortable, unique.
    pub id: &'a str,
    /// The event's name as the client spells it (`SubagentStop`).
    pub event: &'a str,
    /// The session that the payload names.
    pub session: Option<&'a str>,
    /// The team, where the evidence names one.
    pub team: Option<&'a str>,
    /// Who did it.
    pub actor: &'a Actor,
    /// The run that the call belongs to.
    pub run: Option<&'a str>,
    /// The task list that `CLAUDE_CODE_TASK_LIST_ID` names, as the client spells its directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_list: Option<&'a str>,
    /// What was odd about the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<&'a str>,
    /// Why the payload is not one JSON object; `payload` holds its text or base64 then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub malformed: Option<&'a str>,
    /// What the policy says of another event, in a line that is a verdict. What it is made of is the policy's affair.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<&'a RawValue>,
    /// What stood on stdin, verbatim but for line breaks between its tokens.
    pub payload: &'a RawValue,
}

impl Event<'_> {
    /// The line, with its line break.
    ///
    /// # Errors
    /// Never in practice: every field is plain data.
    pub fn line(&self) -> serde_json::Result<Vec<u8>> {
        let mut line = Vec::with_capacity(self.payload.get().len() + 320);
        serde_json::to_writer(&mut line, self)?;
        line.push(b'\n');
        Ok(line)
    }
}

/// One line of the log, read again. Fields that are missing or unknown are tolerated.
#[derive(Debug, Clone, Deserialize)]
pub struct Recorded {
    /// Version of the format.
    #[serde(default)]
    pub v: u8,
    /// When the call began.
    #[serde(default)]
    pub at: String,
    /// Sortable, unique.
    #[serde(default)]
    pub id: String,
    /// The event's name as the client spells it.
    #[serde(default)]
    pub event: String,
    /// The session that the payload names.
    #[serde(default)]
    pub session: Option<String>,
    /// The team, where the evidence names one.
    #[serde(default)]
    pub team: Option<String>,
    /// Who did it.
    #[serde(default = "Actor::unknown")]
    pub actor: Actor,
    /// The run that the call belongs to.
    #[serde(default)]
    pub run: Option<String>,
    /// The task list that `CLAUDE_CODE_TASK_LIST_ID` names.
    #[serde(default)]
    pub task_list: Option<String>,
    /// What was odd about the call.
    #[serde(default)]
    pub warning: Option<String>,
    /// Why the payload is not one JSON object.
    #[serde(default)]
    pub malformed: Option<String>,
    /// What the policy says of another event.
    #[serde(default)]
    pub verdict: Option<Box<RawValue>>,
    /// What stood on stdin.
    #[serde(default = "null")]
    pub payload: Box<RawValue>,
}

impl Recorded {
    /// What makes no sense in it.
    pub fn flaw(&self) -> Option<String> {
        let digit = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_lowercase();
        if self.id.len() != 26 || !self.id.bytes().all(digit) {
            return Some(format!("{:?} is no id", self.id));
        }
        clock::parse(&self.at).is_none().then(|| format!("{:?} is no time", self.at))
    }
}

fn null() -> Box<RawValue> {
    RawValue::NULL.to_owned()
}
