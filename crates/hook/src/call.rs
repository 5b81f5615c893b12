//! A hook call, with the facts known so far, and its steps in the order in which they happen.

use std::time::Instant;

use crate::facts::{Attribution, CapturedTeams, Received};
use crate::repetition::{RepeatedEvent, announced_twice};
use crate::response::Response;
use crate::{CalledBy, HookOutcome, MAX_CHARS, Recorder};
use teamkeep_model::event::{Event, SafeName};
use teamkeep_model::payload::{EventKind, Input, Payload};
use teamkeep_model::{Note, Severity, Tool};
use teamkeep_policy::escaped;
use teamkeep_store::log::{Appending, EventLog, Logs};
use teamkeep_store::metadata_only;
use teamkeep_system::error::Error;
use teamkeep_system::{fs, process};

pub(crate) struct Call<'a> {
    pub received: Received<'a>,
    pub found: CapturedTeams,
    pub by: Attribution,
    pub outcome: HookOutcome,
}

impl Recorder {
    /// Handles one call, in all its steps. `named_event` is the event named on the command line.
    pub fn handle(&self, input: &Input, named_event: Option<&str>) -> HookOutcome {
        let received = Received::new(self, input, named_event);
        let found = CapturedTeams::capture(&received);
        let by = Attribution::of(&received, &found);
        let mut call = Call { received, found, by, outcome: HookOutcome::default() };
        call.capture_named_list();
        call.note_missing_list();
        call.prepare_response();
        call.note_problems(input);
        call.store_worktree();
        // The event is in the log before a policy can fail.
        if let Some(repeated) = call.append() {
            if repeated.is_of_other {
                // The other call records and judges the event, and Claude Code waits for both.
                return HookOutcome::default();
            }
            call.received.id = repeated.id;
            call.received.earlier_verdicts = Some(repeated.verdicts);
        }
        // If Claude Code has exited, no one reads the response.
        if !process::termination_requested() {
            call.judge();
            call.notify_trust_change();
            call.add_team_context();
        }
        let has_ended = call.update_runs();
        call.save_session();
        call.start_background(has_ended);
        call.outcome
    }
}

impl Call<'_> {
    pub(crate) fn save_session(&mut self) {
        let received = &self.received;
        let Some(session) = &received.session else { return };
        let patience = received.archive.lock_budget.remaining();
        let saved = self.by.state.save(&received.before, &received.recorder.paths.store, session, patience);
        self.outcome.note("remember the session", saved);
    }

    /// The log that the events of this call belong to.
    pub(crate) fn log(&self) -> EventLog {
        let (received, run) = (&self.received, self.by.run.as_deref());
        Logs::of(&received.recorder.paths).of_call(run, received.session.as_ref())
    }

    /// Builds the event in the form that a recorded verdict has.
    pub(crate) fn event(&self) -> Event<'_> {
        let (received, by) = (&self.received, &self.by);
        Event {
            v: 1,
            at: received.at,
            id: received.id.as_str(),
            event: received.kind.name(),
            session: received.payload.session(),
            team: by.resolved.team.as_ref().map(SafeName::as_str),
            actor: &by.actor,
            run: by.run.as_deref(),
            task_list: received.list.as_ref().map(SafeName::as_str),
            traceparent: received.trace_parent.as_ref(),
            warning: None,
            malformed: None,
            verdict: None,
            snapshots: None,
            plugin: received.recorder.by == CalledBy::Plugin,
            payload: &received.payload.raw,
        }
    }

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

    /// Appends the event, unless the log has it from an earlier call; returns that one. This comes before the policy, so that no
    /// policy can lose an event.
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

fn payload_warnings(payload: &Payload, named_event: Option<&str>) -> Option<String> {
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

fn payload_gaps(payload: &Payload, kind: EventKind, named_event: Option<&str>) -> Option<String> {
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
