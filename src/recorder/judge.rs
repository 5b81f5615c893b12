//! The policy's say in a call: asked after the event is on record, so that no policy can lose it.

use std::time::Duration;

use super::Finish;
use super::look::Found;
use super::outcome::Outcome;
use super::record::{Recorder, Step, Voice};
use crate::archive::Archive;
use crate::clock;
use crate::config::OnError;
use crate::event::{Event, SafeName};
use crate::gatekeeper::{Call, Judgement};
use crate::identity;
use crate::panics;
use crate::payload::Payload;
use crate::policy::failure::is_held;
use crate::policy::{Decision, Judged, Rules, Verdict};

/// How long all rules of a call may take together. One match more may follow.
const RULES: Duration = Duration::from_secs(1);

/// The exit code of an answer that holds the action back already.
const HELD: u8 = 2;

impl Voice {
    /// The event as the line of a verdict has it. `at` is its time.
    pub(super) fn event<'a>(&'a self, step: &'a Step, payload: &'a Payload, at: &'a str) -> Event<'a> {
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

impl Recorder {
    /// Judges the event, records the verdicts, and writes the response. Verdicts from an earlier announcement of the same
    /// tool call are repeated and not recorded again.
    pub(super) fn judge(
        &self,
        step: &Step,
        payload: &Payload,
        archive: &Archive,
        found: &Found,
        voice: &Voice,
        outcome: &mut Outcome,
    ) -> Judgement {
        let at = clock::stamp(step.at);
        let event = voice.event(step, payload, &at);
        let mut judgement = Judgement::default();
        let in_team = voice.resolved.member && voice.run.is_some();
        let by_rule = Rules::of(&self.config.rule).are_asked(step.kind);
        let held = outcome.answer.exit == HELD;
        let unusable = self.unusable(step, in_team || by_rule);
        let nothing = found.problems.first().filter(|_| outcome.answer.exit != 0);
        // What is no payload cannot be judged. An event that could not be recorded is judged all the same.
        if let Some(malformed) = &payload.malformed {
            judgement.failed = Some(format!("the payload is no JSON object: {}", malformed.0));
        } else if held || unusable.as_ref().is_some_and(|verdict| verdict.decision == Decision::Block) {
        } else if in_team || by_rule {
            judgement = self.ask(step, payload, archive, found, voice, &event);
        } else if let Some((_, problem)) = nothing {
            // With nothing of the team kept, nobody can tell whether the policy concerns the call.
            judgement.failed = Some(problem.clone());
        }
        let failed = judgement.failed.take().map(|why| {
            outcome.notes.push(format!("cannot ask the policy: {why}"));
            self.failed(step.kind, &why)
        });
        // The line of an event that is no payload says so itself.
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

    /// Leads the event before the gates and the rules.
    fn ask(
        &self,
        step: &Step,
        payload: &Payload,
        archive: &Archive,
        found: &Found,
        voice: &Voice,
        event: &Event<'_>,
    ) -> Judgement {
        let team = voice.resolved.team.as_ref();
        let call = Call {
            archive,
            dir: &self.paths.policy(),
            patience: self.config.log.lock_patience,
            project: self.env.project.as_deref(),
            now: step.at,
            policy: &self.config.policy,
            rules: &Rules::of(&self.config.rule).within(RULES),
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
            settled: step.again.as_ref().map(|_| step.settled.as_slice()),
            transcript: identity::transcript(payload, &step.client),
            client: self.is_veiled().then_some(step.client.as_path()),
        };
        // A bug among the gates is a failure of the policy like any other.
        let closed = is_held(step.kind) && self.config.policy.on_error == OnError::Block;
        let closed = closed && self.finish == Finish::Detached;
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
