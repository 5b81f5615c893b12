//! Problems of a call, for the diagnostics and the log.

use super::Call;
use crate::MAX_CHARS;
use teamkeep_model::event::SafeName;
use teamkeep_model::payload::{EventKind, Input, Payload};
use teamkeep_model::{Note, Severity, Tool};
use teamkeep_policy::escaped;

impl Call<'_> {
    /// Collects what went wrong so far, for the diagnostics.
    pub(crate) fn note_problems(&mut self, input: &Input) {
        let (received, found, outcome) = (&self.received, &self.found, &mut self.outcome);
        let payload = &received.payload;
        // The most serious first; overlooked teams come last.
        let notes = found.notes.iter().map(|of_team| &of_team.note).filter(|note| !note.is_overlooked());
        outcome.notes.extend(notes.cloned());
        outcome.notes.sort_by_key(|note| (!note.is_store_failure(), note.severity != Severity::Loss));
        if payload.cut {
            let cut = "the payload is too deep or too large to be parsed completely; its text was recorded";
            outcome.add(cut);
        }
        if let Some(problem) = input.problem.as_ref().filter(|_| payload.malformed.is_none()) {
            outcome.add(format!("{problem}; the payload was complete nevertheless"));
        }
        let gaps = payload_gaps(payload, received.kind, received.named_event);
        outcome.notes.extend(gaps.map(|text| Note::new(Severity::Payload, text)));
        // Report permanent conditions only at these events.
        let reports = matches!(received.kind, EventKind::SessionStart | EventKind::SessionEnd)
            || matches!(payload.tool(), Some(Tool::TeamCreate | Tool::TeamDelete));
        outcome.notes.extend(found.overlooked().filter(|_| reports).cloned());
    }
}

pub(crate) fn payload_warnings(payload: &Payload, named_event: Option<&str>) -> Option<String> {
    let mut warnings = Vec::new();
    if let (Some(named_event), Some(named)) = (named_event, payload.event_name())
        && !named_event.replace('-', "").eq_ignore_ascii_case(named)
    {
        warnings.push(format!("called as {named_event}, but the payload names {named}"));
    }
    type Parse = fn(&str) -> Option<SafeName>;
    for (key, safe) in [("session_id", SafeName::stem as Parse), ("team_name", SafeName::new)] {
        if payload.field(key).is_some_and(|value| !value.is_string()) {
            warnings.push(format!("{key} is not a string"));
        }
        if let Some(name) = payload.text(key).filter(|name| safe(name).is_none()) {
            warnings.push(format!("{key} {name:?} is not a valid name"));
        }
    }
    (!warnings.is_empty()).then(|| warnings.join("; "))
}

pub(crate) fn payload_gaps(payload: &Payload, kind: EventKind, named_event: Option<&str>) -> Option<String> {
    if payload.malformed.is_some() {
        return None;
    }
    let mut gaps = Vec::new();
    match payload.event_name().or(named_event).filter(|name| !name.is_empty()) {
        Some(name) if kind == EventKind::Unknown => {
            gaps.push(format!("unknown event {}", escaped(name, MAX_CHARS)));
        }
        Some(_) => {}
        None => gaps.push("the payload names no event".to_owned()),
    }
    if payload.field("session_id").is_none() {
        gaps.push("the payload has no session_id".to_owned());
    }
    (!gaps.is_empty()).then(|| format!("{}; recorded without changes", gaps.join(" and ")))
}
