//! The policy's say in a call: asked after the event is on record, so that no policy can lose it.

use super::Finish;
use super::look::Found;
use super::record::{Outcome, Recorder, Step, Voice};
use crate::archive::Archive;
use crate::clock;
use crate::config::OnError;
use crate::error::Error;
use crate::event::{Actor, Event, Id};
use crate::gatekeeper::{self, Call, Judgement};
use crate::log::Log;
use crate::panics;
use crate::payload::{Kind, Payload};
use crate::policy::{Decision, Judged, Reason, Verdict, bare, most};
use crate::response::Answer;
use crate::veil;

/// The exit code of an answer that holds the action back already.
const HELD: u8 = 2;

impl Recorder {
    /// Asks the policy, records what it says, and spells it for the client.
    pub(super) fn judge(
        &self,
        step: &Step,
        payload: &Payload,
        archive: &Archive,
        found: &Found,
        voice: &Voice,
        outcome: &mut Outcome,
    ) {
        // What is no payload cannot be judged. An event that could not be recorded is judged all the same.
        if let Some(malformed) = &payload.malformed {
            return self.fail(step.kind, &format!("the payload is no JSON object: {}", malformed.0), outcome);
        }
        let in_team = voice.resolved.member && voice.run.is_some();
        let by_rule = step.kind.is_judged() && !self.config.rule.is_empty();
        if outcome.answer.exit == HELD {
            return;
        }
        if !(in_team || by_rule) {
            // With nothing of the team kept, nobody can tell whether the policy concerns the call.
            if let Some((_, problem)) = found.problems.first().filter(|_| outcome.answer.exit != 0) {
                self.fail(step.kind, problem, outcome);
            }
            return;
        }
        if let Some(unusable) = self.unusable(step.kind) {
            outcome.answer = Answer::block(step.kind, unusable);
            return;
        }
        let at = clock::stamp(step.at);
        let team = voice.resolved.team.as_ref();
        let call = Call {
            archive,
            dir: &self.paths.policy(),
            patience: self.config.log.lock_patience,
            project: self.env.project.as_deref(),
            now: step.at,
            policy: &self.config.policy,
            rules: &self.config.rule,
            event: Judged {
                id: step.id.as_str(),
                at: &at,
                kind: step.kind,
                session: payload.session(),
                actor: &voice.actor,
                payload,
            },
            run: voice.run.as_deref(),
            team: team.map(|team| team.as_str()),
            index: team.and_then(|team| found.teams.get(team)),
            client: self.is_veiled().then_some(step.client.as_path()),
        };
        // A bug among the gates is a failure of the policy like any other.
        let closed = is_held(step.kind) && self.config.policy.on_error == OnError::Block;
        let closed = closed && self.finish == Finish::Detached;
        if closed {
            panics::end_with(2);
        }
        let judged = call.judge();
        if closed {
            panics::end_with(panics::IN_A_HOOK);
        }
        match judged {
            Ok(judgement) => {
                let event = Event {
                    v: 1,
                    at: &at,
                    id: step.id.as_str(),
                    event: step.kind.name(),
                    session: payload.session(),
                    team: call.team,
                    actor: &voice.actor,
                    run: call.run,
                    warning: None,
                    malformed: None,
                    verdict: None,
                    payload: &payload.raw,
                };
                self.tell(step, &judgement, &event, outcome);
            }
            Err(error) => self.fail(step.kind, &error.to_string(), outcome),
        }
    }

    /// Records each verdict, and answers by the one that decides.
    fn tell(&self, step: &Step, judgement: &Judgement, event: &Event<'_>, outcome: &mut Outcome) {
        let log = Log::open(self.paths.log(), &self.config.log);
        for verdict in &judgement.verdicts {
            let veiled = self
                .is_veiled()
                .then(|| Verdict { reason: veil::stand_in(verdict.reason.as_bytes()), ..verdict.clone() });
            let verdict = veiled.as_ref().unwrap_or(verdict);
            let line = gatekeeper::line(verdict, &Id::new(step.at), event).map_err(Error::from_json);
            let appended = line.and_then(|line| log.append(&line, step.at));
            outcome.note("record the verdict", appended);
        }
        let Some(verdict) = judgement.decisive() else { return };
        if verdict.decision == Decision::Block {
            outcome.answer = Answer::block(step.kind, &verdict.reason);
            return;
        }
        // A block that was let through, and each warning, is told once in a state of the work.
        let told = judgement.verdicts.iter().filter(|verdict| !verdict.repeated && !verdict.paused);
        let words = |verdict: &Verdict| self.words(step.kind, event.actor, verdict);
        let mut words: Vec<String> = told.filter_map(words).collect();
        if !words.is_empty() {
            // A failure of our own is still told.
            words.extend(Some(outcome.answer.stderr.clone()).filter(|failure| !failure.is_empty()));
            outcome.answer = Answer::warn(step.kind, &words.join("\n"));
        }
    }

    /// What is said of a verdict that lets the action go on.
    fn words(&self, kind: Kind, actor: &Actor, verdict: &Verdict) -> Option<String> {
        match verdict.decision {
            Decision::Warn => Some(verdict.reason.clone()),
            Decision::Allow if verdict.escalated => {
                // At an idle the user reads it, anywhere else who did it.
                let what = match kind {
                    Kind::TeammateIdle => Reason::default().name(actor.shown()).then(" go idle").finish(),
                    _ => "this through".to_owned(),
                };
                let times = match most(&verdict.gate, self.config.policy.max_blocks) {
                    1 => "once".to_owned(),
                    times => format!("{times} times"),
                };
                let (source, reason) = (verdict.source(), bare(&verdict.reason));
                Some(format!("teamkeep let {what} after blocking it {times} ({source}: {reason})"))
            }
            _ => None,
        }
    }

    /// Why an event is held back whatever the gates would say: a policy file cannot be used, and `on-error = "block"`
    /// does not take the defaults for it. What is wrong is in the diagnostics already.
    fn unusable(&self, kind: Kind) -> Option<String> {
        let error = self.problems.iter().find(|problem| problem.is_error())?;
        (is_held(kind) && self.config.policy.on_error == OnError::Block).then(|| {
            format!(
                "teamkeep cannot use the policy file {}, and on-error = \"block\" holds the action back until it is \
                 mended. Tell the user; `teamkeep policy check` says what is wrong.",
                error.place()
            )
        })
    }

    /// The policy could not be asked: `on-error` says what that means. A teammate that only waits, or a turn that ends,
    /// is never held back for it: nothing would ever let it go on.
    fn fail(&self, kind: Kind, why: &str, outcome: &mut Outcome) {
        outcome.notes.push(format!("cannot ask the policy: {why}"));
        if is_held(kind) && self.config.policy.on_error == OnError::Block {
            let what = "teamkeep could not ask the policy, and on-error = \"block\" holds the action back";
            outcome.answer = Answer::block(
                kind,
                format!("{what} ({why}). Tell the user; `teamkeep policy check` says more."),
            );
        }
    }
}

/// Whether an event may be held back because the policy fails.
fn is_held(kind: Kind) -> bool {
    matches!(kind, Kind::PreToolUse | Kind::TaskCreated | Kind::TaskCompleted)
}
