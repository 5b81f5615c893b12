//! A hook call, with the facts known so far, and its steps in the order in which they happen.

use crate::{CalledBy, HookOutcome, Recorder};
use teamkeep_model::event::{Event, SafeName};
use teamkeep_model::payload::Input;
use teamkeep_store::log::{EventLog, Logs};
use teamkeep_system::signals;

mod actor_and_run;
mod append;
mod captured_teams;
mod problems;
mod received;

pub(crate) use actor_and_run::{Attribution, is_left_behind};
pub(crate) use captured_teams::{CapturedTeams, TeamNote};
pub(crate) use received::{BEFORE_DELETE, Received};

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
        if !signals::termination_requested() {
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
}
