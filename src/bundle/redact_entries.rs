//! Redacts the parts of a run. Ids of runs and events, times and hashes stay, because they hold the data together.

use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use teamkeep_model::event::{Actor, Event, Recorded};
use teamkeep_redact::Redactor;
use teamkeep_store::archive::{RunRecord, Snapshot, worktree_of};

fn redact_text(redactor: &Redactor, text: &mut String) {
    *text = redactor.text(text).into_owned();
}

pub(super) fn run(redactor: &Redactor, run: &mut RunRecord) {
    let own = [&mut run.team, &mut run.called, &mut run.lead_session, &mut run.ended_reason];
    let own = own.into_iter().flatten();
    let sessions = run.sessions.iter_mut();
    let sessions = sessions.flat_map(|one| [Some(&mut one.id), one.name.as_mut(), one.transcript.as_mut()]);
    own.chain(sessions.flatten()).for_each(|text| redact_text(redactor, text));
}

pub(super) fn snapshot(redactor: &Redactor, snapshot: &mut Snapshot) {
    // The work in a worktree is compressed: secrets in it cannot be found.
    snapshot.changed.retain(|change| worktree_of(&change.path).is_none());
    for change in &mut snapshot.changed {
        change.path = redactor.path(&change.path);
        change.skipped.iter_mut().for_each(|text| redact_text(redactor, text));
    }
    snapshot.gone.iter_mut().for_each(|path| *path = redactor.path(path));
}

/// A content of any kind, converted to valid UTF-8.
pub(super) fn content(redactor: &Redactor, bytes: &[u8]) -> Vec<u8> {
    redactor.content(&String::from_utf8_lossy(bytes)).into_owned().into_bytes()
}

/// One log line with its line break.
pub(super) fn event(redactor: &Redactor, recorded: &Recorded) -> io::Result<Vec<u8>> {
    let redact = |text: &Option<String>| text.as_ref().map(|text| redactor.text(text).into_owned());
    let actor = Actor {
        name: redact(&recorded.actor.name),
        id: redact(&recorded.actor.id),
        kind: recorded.actor.kind,
    };
    let verdict = recorded.verdict.as_deref().map(|verdict| raw(redactor, verdict)).transpose()?;
    let payload = match recorded.malformed {
        Some(_) => malformed(redactor, &recorded.payload)?,
        None => raw(redactor, &recorded.payload)?,
    };
    let event = Event {
        v: recorded.v,
        at: recorded.at,
        id: &recorded.id,
        event: &recorded.event,
        session: redact(&recorded.session).as_deref(),
        team: redact(&recorded.team).as_deref(),
        actor: &actor,
        run: recorded.run.as_deref(),
        task_list: redact(&recorded.task_list).as_deref(),
        traceparent: recorded.traceparent.as_ref(),
        warning: redact(&recorded.warning).as_deref(),
        malformed: redact(&recorded.malformed).as_deref(),
        verdict: verdict.as_deref(),
        snapshots: None,
        plugin: false,
        payload: &payload,
    }
    .line()?;
    Ok(event)
}

fn raw(redactor: &Redactor, raw: &RawValue) -> io::Result<Box<RawValue>> {
    Ok(RawValue::from_string(redactor.json(raw.get()).into_owned())?)
}

/// A payload that is not JSON is stored as text, or in base64 if it is not text; only the former can be redacted.
fn malformed(redactor: &Redactor, payload: &RawValue) -> io::Result<Box<RawValue>> {
    let value: Value = serde_json::from_str(payload.get()).unwrap_or_default();
    let decoded = value.get("base64").and_then(Value::as_str).and_then(|text| STANDARD.decode(text).ok());
    let text = value.get("text").and_then(Value::as_str).map(|text| text.as_bytes().to_vec());
    let Some(bytes) = decoded.or(text) else { return raw(redactor, payload) };
    let text = String::from_utf8(content(redactor, &bytes)).unwrap_or_default();
    Ok(RawValue::from_string(json!({ "text": text }).to_string())?)
}
