//! The event in the log. It comes before the policy, so that no policy can lose an event.

use std::time::Instant;

use super::Call;
use super::problems::payload_warnings;
use crate::CalledBy;
use crate::repetition::{RepeatedEvent, announced_twice};
use crate::response::Response;
use teamkeep_model::event::Event;
use teamkeep_model::payload::EventKind;
use teamkeep_model::{Note, Severity};
use teamkeep_store::log::Appending;
use teamkeep_store::metadata_only;
use teamkeep_system::error::Error;
use teamkeep_system::fs;

impl Call<'_> {
    /// Appends the event, unless the log has it from an earlier call; returns that one.
    pub(crate) fn append(&mut self) -> Option<RepeatedEvent> {
        let recorder = self.received.recorder;
        let mark = recorder.paths.marks().join("plugin");
        if recorder.by == CalledBy::Plugin && mark.symlink_metadata().is_err() {
            // Without it, hooks in the settings record the same events again.
            let made = fs::write_atomic(&mark, b"");
            self.outcome.note("note that there is a plugin", made);
        }
        let (received, payload) = (&self.received, &self.received.payload);
        let warning = payload_warnings(payload, received.named_event);
        self.outcome.notes.extend(warning.clone().map(|text| Note::new(Severity::Payload, text)));
        let warning =
            [warning, self.outcome.lost_with_team.clone()].into_iter().flatten().reduce(|a, b| a + "; " + &b);
        let reduced = recorder.is_metadata_only().then(|| match payload.malformed {
            None => metadata_only::payload(&payload.raw),
            Some(_) => metadata_only::malformed_payload(&payload.raw),
        });
        let unnamed = match received.kind {
            EventKind::Unknown => received.named_event.unwrap_or("Unknown"),
            kind => kind.name(),
        };
        let points = received.archive.journal_points.get();
        let event = Event {
            snapshots: (!points.is_empty()).then_some(&points),
            event: payload.event_name().unwrap_or(unnamed),
            warning: warning.as_deref(),
            malformed: payload.malformed.as_deref(),
            payload: reduced.as_deref().unwrap_or(&payload.raw),
            ..self.event()
        };
        let patience = received.archive.lock_budget.remaining();
        let how = Appending { patience, durable: received.deletes, ..recorder.appending() };
        let (start, mut repeated) = (Instant::now(), None);
        let tool_use = announced_twice(received.kind, payload);
        let appended = event.line().map_err(Error::from_json).and_then(|line| {
            self.log().append_unless(&line, received.at, how, &mut |end| {
                // Under the lock: a plugin's hook makes the mark before it takes the lock.
                let beside_plugin = mark.symlink_metadata().is_ok();
                repeated = RepeatedEvent::find(&event, beside_plugin, tool_use, end);
                repeated.is_some()
            })
        });
        match appended {
            Ok(None) => {}
            Ok(Some(appended)) => {
                if appended.is_single {
                    received.archive.lock_budget.charge(start);
                }
                self.outcome.notes.extend(appended.notes);
            }
            Err(error) => {
                self.outcome.add(error.to_string());
                if self.outcome.response.exit == 0 {
                    self.outcome.response =
                        Response::failed(format!("teamkeep: cannot record the event: {error}"));
                }
            }
        }
        repeated
    }
}
