//! The last step of a hook call: updates the run and the session, and closes runs that have ended.

use std::time::Duration;

use super::capture::CapturedTeams;
use super::outcome::Outcome;
use super::pipeline::{Attribution, HookContext, Recorder};
use super::run_lifecycle;
use crate::archive::{Archive, CaptureScope};
use crate::attribution::CallContext;
use crate::payload::Kind;

impl Recorder {
    /// Updates the run and the session, and closes runs that have ended.
    pub(super) fn conclude(
        &self,
        step: &HookContext,
        evidence: &CallContext<'_>,
        archive: &Archive,
        mut found: CapturedTeams,
        voice: &mut Attribution,
        outcome: &mut Outcome,
    ) {
        let settled = archive.settle(Duration::ZERO);
        let own = voice.own.as_ref();
        let name = voice.resolved.name.as_deref();
        let seen = own.and_then(CaptureScope::team).and_then(|team| found.teams.get(team));
        // A resumed session has a new process, and so has its run after it is reopened.
        let is_alone = own.is_some_and(|own| own.team().is_none());
        let is_moved = (is_alone && step.kind == Kind::SessionStart)
            || seen.is_some_and(|index| {
                let leads = name.is_none() && index.is_led_by(evidence.payload.session());
                leads && !index.ended && evidence.client_pid.is_some_and(|pid| index.lead_pid != Some(pid))
            });
        if let (Some(own), Some(run)) = (own, &voice.run)
            && (voice.memory.run.as_ref() != Some(run) || step.kind == Kind::SessionEnd || is_moved)
        {
            outcome.note("note the session in its run", self.join(archive, own, evidence, name));
            voice.memory.run = Some(run.clone());
        }
        outcome.note("open the run again", run_lifecycle::reopen(evidence, archive, own, seen, step.at));
        let ends_itself = name.is_none() && step.kind == Kind::SessionEnd;
        found.vanished.retain(|subject| !(ends_itself && Some(subject) == own));
        let closed = run_lifecycle::close(
            evidence,
            archive,
            &self.paths.log(),
            own,
            name.is_none(),
            &found.vanished,
            step.at,
        );
        let closed = outcome.note("close the run", closed).unwrap_or_default() || settled;
        if let Some(session) = &step.session {
            let saved = voice.memory.save(&step.before, &self.paths.sessions(), session, archive.patience());
            outcome.note("remember the session", saved);
        }
        if closed || (step.kind == Kind::SessionStart && self.has_left(archive)) {
            let ends = step.kind == Kind::SessionEnd;
            let client = self.env.client_pid.filter(|_| ends);
            outcome.note("archive the transcripts", self.finish_later(client, !ends));
        }
    }
}
