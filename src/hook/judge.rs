//! Evaluates the policy after the event is recorded, so that no policy can lose an event.

use std::time::Duration;

use super::BackgroundMode;
use super::capture::CapturedTeams;
use super::outcome::Outcome;
use super::pipeline::{Attribution, HookContext, Recorder};
use crate::archive::Archive;
use crate::attribution;
use crate::clock;
use crate::config::OnError;
use crate::enforcement::{Evaluation, PolicyRequest};
use crate::event::{Event, SafeName};
use crate::panics;
use crate::payload::{Kind, MessageKind, Payload};
use crate::policy::failure::is_held;
use crate::policy::{Decision, Judged, Rules, Sent, Verdict};

/// Time limit for all rules of a call. One more match may follow.
const RULES_TIMEOUT: Duration = Duration::from_secs(1);

/// Exit code of a response that already blocks the action.
const BLOCK_EXIT_CODE: u8 = 2;

impl Attribution {
    /// Builds the event in the form that a recorded verdict has. `at` is its time.
    pub(super) fn event<'a>(&'a self, step: &'a HookContext, payload: &'a Payload, at: &'a str) -> Event<'a> {
        Event {
            v: 1,
            at,
            id: step.id.as_str(),
            event: step.kind.name(),
            session: payload.session(),
            team: self.resolved.team.as_ref().map(SafeName::as_str),
            actor: &self.actor,
            run: self.run.as_deref(),
            task_list: step.list.as_ref().map(SafeName::as_str),
            warning: None,
            malformed: None,
            verdict: None,
            payload: &payload.raw,
        }
    }
}

/// Whether only a member of a team makes such a call.
fn proves_a_team(kind: Kind, payload: &Payload) -> bool {
    let sent = || Sent::of(payload).is_some_and(|sent| sent.message.kind != MessageKind::Plain);
    kind == Kind::PreToolUse && (payload.tool() == Some("TeamDelete") || sent())
}

impl Recorder {
    /// Judges the event, records the verdicts, and writes the response. Verdicts from an earlier announcement of the same
    /// tool call are repeated and not recorded again.
    pub(super) fn judge(
        &self,
        step: &HookContext,
        payload: &Payload,
        archive: &Archive,
        found: &CapturedTeams,
        voice: &Attribution,
        outcome: &mut Outcome,
    ) -> Evaluation {
        let at = clock::stamp(step.at);
        let event = voice.event(step, payload, &at);
        let mut judgement = Evaluation::default();
        let in_team = voice.resolved.member && voice.run.is_some();
        let by_rule = Rules::of(&self.config.rule).are_asked(step.kind);
        let held = outcome.answer.exit == BLOCK_EXIT_CODE;
        let unusable = self.unusable(step, in_team || by_rule);
        let nothing = found.problems.first().filter(|_| outcome.answer.exit != 0);
        // A malformed payload cannot be judged. An event that could not be recorded is judged nevertheless.
        if let Some(malformed) = &payload.malformed {
            judgement.failed = Some(format!("the payload cannot be parsed: {}", malformed.0));
        } else if held || unusable.as_ref().is_some_and(|verdict| verdict.decision == Decision::Block) {
        } else if in_team || by_rule {
            judgement = self.ask(step, payload, archive, found, voice, &event);
        } else if let Some(unseen) = found.unseen_team().filter(|_| proves_a_team(step.kind, payload)) {
            judgement.failed = Some(unseen);
        } else if let Some((_, problem)) = nothing {
            // Without stored team files, it is unknown whether the policy concerns the call.
            judgement.failed = Some(problem.clone());
        }
        let failed = judgement.failed.take().map(|why| {
            outcome.notes.push(format!("cannot evaluate the policy: {why}"));
            self.failed(step.kind, &why)
        });
        // For a malformed payload, the event already has the reason.
        let said = |verdict: &Verdict| {
            (payload.malformed.is_none() && step.kind.is_judged()) || verdict.decision == Decision::Block
        };
        for verdict in unusable.into_iter().chain(failed.filter(said)) {
            judgement.add(verdict);
        }
        if !held {
            self.tell(step, &judgement, &event, outcome);
        }
        judgement
    }

    /// Evaluates the gates and the rules for the event.
    fn ask(
        &self,
        step: &HookContext,
        payload: &Payload,
        archive: &Archive,
        found: &CapturedTeams,
        voice: &Attribution,
        event: &Event<'_>,
    ) -> Evaluation {
        let team = voice.resolved.team.as_ref();
        let own = found.problems.iter().filter(|(subject, _)| subject.team() == team);
        let problems: Vec<&str> = own.map(|(_, problem)| problem.as_str()).collect();
        let call = PolicyRequest {
            archive,
            dir: &self.paths.policy(),
            patience: self.config.log.lock_patience,
            project: self.env.project.as_deref(),
            now: step.at,
            policy: &self.config.policy,
            rules: &Rules::of(&self.config.rule).within(RULES_TIMEOUT),
            event: Judged {
                id: step.id.as_str(),
                at: event.at,
                kind: step.kind,
                session: payload.session(),
                actor: &voice.actor,
                payload,
            },
            run: event.run,
            team: event.team,
            index: team.and_then(|team| found.teams.get(team)),
            left: team.and_then(|team| found.left.get(team)).copied().unwrap_or_default(),
            problems: &problems,
            settled: step.again.as_ref().map(|_| step.settled.as_slice()),
            transcript: attribution::transcript(payload, &step.client),
            client: self.is_metadata_only().then_some(step.client.as_path()),
        };
        // A panic in a gate is handled like any other failure of the policy.
        let closed = is_held(step.kind) && self.config.policy.on_error == OnError::Block;
        let closed = closed && self.finish == BackgroundMode::Detached;
        if closed {
            panics::end_with(2);
        }
        let judgement = call.judge();
        if closed {
            panics::end_with(panics::IN_A_HOOK);
        }
        judgement
    }
}
