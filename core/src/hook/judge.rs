//! The fifth stage: the policy's verdicts. They come after the event is recorded, so that no policy can lose an event.

use std::time::Duration;

use super::BackgroundMode;
use super::append::Recorded;
use super::attribute::Attributed;
use crate::attribution;
use crate::client::compat::RecentCall;
use crate::client::payload::{Kind, MessageKind, Payload};
use crate::client::response::BLOCK_EXIT_CODE;
use crate::config::OnError;
use crate::enforcement::{Evaluation, PolicyRequest};
use crate::model::Note;
use crate::model::Tool;
use crate::policy::failure::is_held;
use crate::policy::{Decision, Judged as JudgedEvent, Rules, Sent, Verdict};
use crate::store::archive::CaptureScope;
use crate::sys::clock;
use crate::sys::panics;
use crate::sys::process;

/// Time limit for all rules of a call. One more match may follow.
const RULES_TIMEOUT: Duration = Duration::from_secs(1);

pub struct Judged<'a>(pub Attributed<'a>);

impl<'a> Recorded<'a> {
    pub fn judge(self) -> Judged<'a> {
        let Recorded { mut call, is_recorded } = self;
        // If Claude Code has exited, no one reads the response.
        if !process::termination_requested() {
            let evaluation = call.evaluate();
            if is_recorded && call.outcome.answer.exit != BLOCK_EXIT_CODE {
                call.remember_announcement(&evaluation);
            }
            call.notify_trust_change();
        }
        Judged(call)
    }
}

impl Attributed<'_> {
    /// Judges the event, records the verdicts, and writes the response. Verdicts from an earlier announcement of the same
    /// tool call are repeated and not recorded again.
    fn evaluate(&mut self) -> Evaluation {
        let (call, recorder) = (&self.call, self.call.recorder);
        let (kind, payload) = (call.kind, &call.payload);
        let mut evaluation = Evaluation::default();
        let in_team = self.by.resolved.member && self.by.run.is_some();
        let by_rule = Rules::of(&recorder.config.rule).are_asked(kind);
        let is_blocked = self.outcome.answer.exit == BLOCK_EXIT_CODE;
        let unusable =
            recorder.unusable(kind).map(|(own, other)| if in_team || by_rule { own } else { other });
        let failure = self.found.store_failures().next().filter(|_| self.outcome.answer.exit != 0);
        // A malformed payload cannot be judged. An event that could not be recorded is judged nevertheless.
        if let Some(malformed) = &payload.malformed {
            evaluation.failed = Some(format!("the payload cannot be parsed: {}", malformed.0));
        } else if is_blocked || unusable.as_ref().is_some_and(|verdict| verdict.decision == Decision::Block) {
        } else if in_team || by_rule {
            evaluation = self.ask_gates();
        } else if let Some(unseen) = self.found.unseen_team().filter(|_| proves_a_team(kind, payload)) {
            evaluation.failed = Some(unseen);
        } else if let Some(failure) = failure {
            // Without stored team files, it is unknown whether the policy concerns the call.
            evaluation.failed = Some(failure.note.text.clone());
        }
        self.outcome.notes.extend(evaluation.damage.take().map(Note::problem));
        let failed = evaluation.failed.take().map(|why| {
            self.outcome.add(format!("cannot evaluate the policy: {why}"));
            recorder.failed(kind, &why)
        });
        // For a malformed payload, the event already has the reason.
        let is_shown = |verdict: &Verdict| {
            (payload.malformed.is_none() && kind.is_judged()) || verdict.decision == Decision::Block
        };
        for verdict in unusable.into_iter().chain(failed.filter(is_shown)) {
            evaluation.add(verdict);
        }
        if !is_blocked {
            self.record_verdicts(&evaluation);
        }
        evaluation
    }

    fn ask_gates(&self) -> Evaluation {
        let (call, recorder, by) = (&self.call, self.call.recorder, &self.by);
        let team = by.resolved.team.as_ref();
        let of_team = |subject: &CaptureScope| subject.team() == team;
        let own = self.found.store_failures().filter(|failure| failure.subject.as_ref().is_some_and(of_team));
        let problems: Vec<&str> = own.map(|failure| failure.note.text.as_str()).collect();
        let at = clock::stamp(call.at);
        let request = PolicyRequest {
            archive: &call.archive,
            dir: &recorder.paths.policy(),
            lock_timeout: recorder.config.log.lock_patience,
            project: recorder.env.project.as_deref(),
            now: call.at,
            policy: &recorder.config.policy,
            rules: &Rules::of(&recorder.config.rule).within(RULES_TIMEOUT),
            event: JudgedEvent {
                id: call.id.as_str(),
                at: &at,
                kind: call.kind,
                session: call.payload.session(),
                actor: &by.actor,
                payload: &call.payload,
            },
            run: by.run.as_deref(),
            team: team.map(|team| team.as_str()),
            index: team.and_then(|team| self.found.teams.get(team)),
            left: team.and_then(|team| self.found.left.get(team)).copied().unwrap_or_default(),
            problems: &problems,
            settled: call.again.as_ref().map(|_| call.earlier_verdicts.as_slice()),
            transcript: attribution::transcript(&call.payload, &call.client),
            client: recorder.is_metadata_only().then_some(call.client.as_path()),
        };
        // A panic in a gate is handled like any other failure of the policy.
        let blocks_on_panic = is_held(call.kind)
            && recorder.config.policy.on_error == OnError::Block
            && recorder.finish == BackgroundMode::Detached;
        match blocks_on_panic {
            true => panics::with_code(BLOCK_EXIT_CODE.into(), || request.judge()),
            false => request.judge(),
        }
    }

    fn remember_announcement(&mut self, evaluation: &Evaluation) {
        let call = &self.call;
        let earlier = call.again.clone();
        let announcement = earlier.or_else(|| RecentCall::of(&call.payload, call.kind, call.id.as_str()));
        let Some(mut announcement) = announcement else { return };
        let verdicts = evaluation.verdicts.iter().filter(|verdict| self.is_new(verdict));
        // Reasons are stored in the log only.
        let verdicts = verdicts.map(|verdict| Verdict { reason: String::new(), ..verdict.clone() });
        announcement.verdicts.extend(verdicts.filter_map(|verdict| serde_json::to_value(verdict).ok()));
        self.by.state.announced.note(announcement);
    }

    /// Whether a verdict was not recorded at an earlier announcement of the same tool call.
    pub fn is_new(&self, verdict: &Verdict) -> bool {
        !self.call.earlier_verdicts.iter().any(|settled| settled.is_same(verdict))
    }
}

/// Whether only a member of a team makes such a call.
fn proves_a_team(kind: Kind, payload: &Payload) -> bool {
    let sent = || Sent::of(payload).is_some_and(|sent| sent.message.kind != MessageKind::Plain);
    kind == Kind::PreToolUse && (payload.tool() == Some(Tool::TeamDelete) || sent())
}
