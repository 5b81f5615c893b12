//! Redacts the parts of a run. Ids of runs and events, times and hashes stay, because they hold the data together.

use std::collections::BTreeMap;
use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::archive::{RunRecord, Snapshot};
use crate::event::{Actor, Event, Recorded};
use crate::redact::Redactor;

/// Redacts a run's parts.
#[derive(Debug)]
pub struct RedactingWriter {
    redactor: Redactor,
}

impl RedactingWriter {
    /// With these patterns.
    pub fn new(redactor: Redactor) -> RedactingWriter {
        RedactingWriter { redactor }
    }

    /// The number of redactions by pattern.
    pub fn counts(&self) -> BTreeMap<String, u64> {
        self.redactor.counts()
    }

    fn text(&self, text: &str) -> String {
        self.redactor.text(text).into_owned()
    }

    fn maybe(&self, text: Option<&String>) -> Option<String> {
        text.map(|text| self.text(text))
    }

    /// The run's record.
    pub(super) fn run(&self, run: &RunRecord) -> RunRecord {
        let mut clean = run.clone();
        clean.team = self.maybe(run.team.as_ref());
        clean.lead_session = self.maybe(run.lead_session.as_ref());
        clean.ended_reason = self.maybe(run.ended_reason.as_ref());
        for session in &mut clean.sessions {
            session.id = self.text(&session.id);
            session.name = self.maybe(session.name.as_ref());
            session.transcript = session.transcript.as_deref().map(|path| self.transcript(path));
        }
        clean
    }

    /// One snapshot.
    pub(super) fn snapshot(&self, snapshot: &Snapshot) -> Snapshot {
        let mut clean = snapshot.clone();
        for change in &mut clean.changed {
            change.path = self.redactor.path(&change.path);
            change.skipped = self.maybe(change.skipped.as_ref());
        }
        clean.gone.iter_mut().for_each(|path| *path = self.redactor.path(path));
        clean
    }

    /// The path of a transcript. Its last part identifies the owner.
    pub(super) fn transcript(&self, path: &str) -> String {
        self.text(path)
    }

    /// A content of any kind, converted to valid UTF-8.
    pub(super) fn content(&self, bytes: &[u8]) -> Vec<u8> {
        let text = String::from_utf8_lossy(bytes);
        self.redactor.content(&text).into_owned().into_bytes()
    }

    /// One log line with its line break.
    pub(super) fn event(&self, recorded: &Recorded) -> io::Result<Vec<u8>> {
        let actor = Actor {
            name: self.maybe(recorded.actor.name.as_ref()),
            id: self.maybe(recorded.actor.id.as_ref()),
            kind: recorded.actor.kind,
        };
        let (session, team) = (self.maybe(recorded.session.as_ref()), self.maybe(recorded.team.as_ref()));
        let task_list = self.maybe(recorded.task_list.as_ref());
        let (warning, malformed) =
            (self.maybe(recorded.warning.as_ref()), self.maybe(recorded.malformed.as_ref()));
        let verdict = recorded.verdict.as_deref().map(|verdict| self.raw(verdict)).transpose()?;
        let payload = match recorded.malformed {
            Some(_) => self.malformed(&recorded.payload)?,
            None => self.raw(&recorded.payload)?,
        };
        let event = Event {
            v: recorded.v,
            at: &recorded.at,
            id: &recorded.id,
            event: &recorded.event,
            session: session.as_deref(),
            team: team.as_deref(),
            actor: &actor,
            run: recorded.run.as_deref(),
            task_list: task_list.as_deref(),
            warning: warning.as_deref(),
            malformed: malformed.as_deref(),
            verdict: verdict.as_deref(),
            payload: &payload,
        };
        Ok(event.line()?)
    }

    fn raw(&self, raw: &RawValue) -> io::Result<Box<RawValue>> {
        Ok(RawValue::from_string(self.redactor.json(raw.get()).into_owned())?)
    }

    /// A payload that is not JSON is stored as text, or in base64 if it is not text; only the former can be redacted.
    fn malformed(&self, raw: &RawValue) -> io::Result<Box<RawValue>> {
        let value: Value = serde_json::from_str(raw.get()).unwrap_or_default();
        let decoded = value.get("base64").and_then(Value::as_str).and_then(|text| STANDARD.decode(text).ok());
        let text = value.get("text").and_then(Value::as_str).map(|text| text.as_bytes().to_vec());
        match decoded.or(text) {
            Some(bytes) => {
                let text = String::from_utf8(self.content(&bytes)).unwrap_or_default();
                Ok(RawValue::from_string(json!({ "text": text }).to_string())?)
            }
            None => self.raw(raw),
        }
    }
}
