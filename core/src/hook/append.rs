//! The fourth stage: the event in the log. It comes before the policy, so that no policy can lose an event.

use std::time::Instant;

use super::MAX_CHARS;
use super::attribute::Attributed;
use super::repetition::RepeatedEvent;
use crate::client::payload::{Input, Kind, Payload};
use crate::client::response::Answer;
use crate::error::Error;
use crate::model::event::{Event, SafeName};
use crate::model::{Note, Severity, Tool};
use crate::policy::escaped;
use crate::store::log::Appending;
use crate::store::metadata_only;

pub struct Recorded<'a> {
    pub call: Attributed<'a>,
    /// Whether this call repeats that of the other entry for the same event: see [`RepeatedEvent`].
    pub is_left_to_other: bool,
}

impl<'a> Attributed<'a> {
    pub fn append(mut self) -> Recorded<'a> {
        self.store_worktree();
        let repeated = self.append_event();
        let is_left_to_other = repeated.as_ref().is_some_and(|repeated| repeated.is_of_other);
        if let Some(repeated) = repeated {
            self.call.id = repeated.id;
            self.call.earlier_verdicts = Some(repeated.verdicts);
        }
        Recorded { call: self, is_left_to_other }
    }

    /// Appends the event, unless the log has it from an earlier call; returns that one.
    fn append_event(&mut self) -> Option<RepeatedEvent> {
        let (call, recorder, payload) = (&self.call, self.call.recorder, &self.call.payload);
        let warning = payload_warnings(payload, call.asked);
        self.outcome.notes.extend(warning.clone().map(|text| Note::new(Severity::Payload, text)));
        let warning =
            [warning, self.outcome.lost_with_team.clone()].into_iter().flatten().reduce(|a, b| a + "; " + &b);
        let reduced = recorder.is_metadata_only().then(|| match payload.malformed {
            None => metadata_only::payload(&payload.raw),
            Some(_) => metadata_only::malformed_payload(&payload.raw),
        });
        let unnamed = match call.kind {
            Kind::Unknown => call.asked.unwrap_or("Unknown"),
            kind => kind.name(),
        };
        let points = call.archive.journal_points.get();
        let event = Event {
            snapshots: (!points.is_empty()).then_some(&points),
            event: payload.event_name().unwrap_or(unnamed),
            warning: warning.as_deref(),
            malformed: payload.malformed.as_deref(),
            payload: reduced.as_deref().unwrap_or(&payload.raw),
            ..self.event()
        };
        let patience = call.archive.lock_budget.remaining();
        let how = Appending { patience, durable: call.deletes, ..recorder.appending() };
        let (start, mut repeated) = (Instant::now(), None);
        let appended = event.line().map_err(Error::from_json).and_then(|line| {
            self.log().append_unless(&line, call.at, how, &mut |end| {
                repeated = RepeatedEvent::find(&event, payload.tool_use_id(), end);
                repeated.is_some()
            })
        });
        match appended {
            Ok(None) => {}
            Ok(Some(appended)) => {
                if appended.is_single {
                    call.archive.lock_budget.charge(start);
                }
                self.outcome.notes.extend(appended.notes);
            }
            Err(error) => {
                self.outcome.add(error.to_string());
                if self.outcome.answer.exit == 0 {
                    self.outcome.answer =
                        Answer::failed(format!("teamkeep: cannot record the event: {error}"));
                }
            }
        }
        repeated
    }

    /// Collects what went wrong so far, for the diagnostics.
    pub fn note_problems(&mut self, input: &Input) {
        let (call, found, outcome) = (&self.call, &self.found, &mut self.outcome);
        let payload = &call.payload;
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
        let gaps = payload_gaps(payload, call.kind, call.asked);
        outcome.notes.extend(gaps.map(|text| Note::new(Severity::Payload, text)));
        // Report permanent conditions only at these events.
        let reports = matches!(call.kind, Kind::SessionStart | Kind::SessionEnd)
            || matches!(payload.tool(), Some(Tool::TeamCreate | Tool::TeamDelete));
        outcome.notes.extend(found.overlooked().filter(|_| reports).cloned());
    }
}

pub fn payload_warnings(payload: &Payload, asked: Option<&str>) -> Option<String> {
    let mut warnings = Vec::new();
    if let (Some(asked), Some(named)) = (asked, payload.event_name())
        && !asked.replace('-', "").eq_ignore_ascii_case(named)
    {
        warnings.push(format!("called as {asked}, but the payload names {named}"));
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

pub fn payload_gaps(payload: &Payload, kind: Kind, asked: Option<&str>) -> Option<String> {
    if payload.malformed.is_some() {
        return None;
    }
    let mut gaps = Vec::new();
    match payload.event_name().or(asked).filter(|name| !name.is_empty()) {
        Some(name) if kind == Kind::Unknown => {
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
