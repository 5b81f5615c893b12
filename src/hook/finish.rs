//! The last stage: updates the run and the session, and closes runs that have ended.

use std::time::Duration;

use super::judge::Judged;
use super::outcome::Outcome;
use crate::archive::CaptureScope;
use crate::payload::Kind;

impl Judged<'_> {
    /// Updates the run and the session, closes runs that have ended, and returns the response.
    pub fn finish(self) -> Outcome {
        let Judged(mut hook) = self;
        let settled = hook.call.archive.settle(Duration::ZERO);
        if let (Some(own), Some(run)) = (hook.by.own.clone(), hook.by.run.clone())
            && (hook.by.state.run.as_ref() != Some(&run)
                || hook.call.kind == Kind::SessionEnd
                || hook.has_new_process())
        {
            hook.join_run(&own);
            hook.by.state.run = Some(run);
        }
        let reopened = hook.reopen();
        hook.outcome.note("open the run again", reopened);
        let closed = hook.close_runs();
        let closed = hook.outcome.note("close the run", closed).unwrap_or_default() || settled;
        let (call, recorder) = (&hook.call, hook.call.recorder);
        if let Some(session) = &call.session {
            let sessions = recorder.paths.sessions();
            let saved =
                hook.by.state.save(&call.before, &sessions, session, call.archive.lock_budget.remaining());
            hook.outcome.note("remember the session", saved);
        }
        if closed || (call.kind == Kind::SessionStart && recorder.has_left(&call.archive)) {
            let ends = call.kind == Kind::SessionEnd;
            let client = recorder.env.client_pid.filter(|_| ends);
            hook.outcome.note("archive the transcripts", recorder.finish_later(client, !ends));
        }
        hook.outcome
    }
}

impl super::attribute::Attributed<'_> {
    /// Whether Claude Code's process of the run may be another one than before: a resumed session has a new process, and
    /// so has its run after it is reopened.
    fn has_new_process(&self) -> bool {
        let call = &self.call;
        let is_alone = self.by.own.as_ref().is_some_and(|own| own.team().is_none());
        let index =
            self.by.own.as_ref().and_then(CaptureScope::team).and_then(|team| self.found.teams.get(team));
        (is_alone && call.kind == Kind::SessionStart)
            || index.is_some_and(|index| {
                let leads = self.is_lead() && index.is_led_by(call.payload.session());
                let pid = call.recorder.env.client_pid;
                leads && !index.ended && pid.is_some_and(|pid| index.lead_pid != Some(pid))
            })
    }
}
