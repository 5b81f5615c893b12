//! Records verdicts and turns them into a response. Applies `on-error` when the policy fails.

use super::MAX_CHARS;
use crate::config::Gate;
use serde_json::json;
use serde_json::value::to_raw_value;

use super::Recorder;
use super::attribute::Attributed;
use crate::client::payload::Kind;
use crate::client::response::Answer;
use crate::enforcement::{self, Evaluation, FoundOverrides, OverrideFile, Overrides};
use crate::error::{Error, Result};
use crate::model::event::{Actor, Event, Id, OVERRIDE};
use crate::policy::{Decision, Reason, Verdict, escaped, failure, without_prefix};
use crate::store::log::Log;
use crate::store::metadata_only;
use crate::sys::clock;

impl Attributed<'_> {
    pub fn record_verdicts(&mut self, evaluation: &Evaluation) {
        let kind = self.call.kind;
        let log = self.call.recorder.log();
        if let Some(found) = &evaluation.found {
            let recorded = self.record_found(found, &log);
            self.outcome.note("record an override that was found", recorded);
        }
        for verdict in &evaluation.verdicts {
            if self.is_new(verdict) {
                self.record_verdict(verdict, &log);
            }
        }
        let Some(verdict) = evaluation.decisive() else { return };
        if verdict.decision == Decision::Block {
            self.outcome.answer = Answer::block(kind, &verdict.reason);
            return;
        }
        // An action allowed after blocks, and each warning, is reported once for each state of the tasks.
        let shown = evaluation.verdicts.iter().filter(|verdict| !verdict.repeated && !verdict.paused);
        let mut notices: Vec<String> =
            shown.filter_map(|verdict| notice(kind, &self.by.actor, verdict)).collect();
        if !notices.is_empty() {
            // An error of the recorder is reported as well.
            let answer = std::mem::take(&mut self.outcome.answer);
            notices.extend(Some(answer.stderr.clone()).filter(|failure| !failure.is_empty()));
            self.outcome.answer = answer.and_warn(kind, &notices.join("\n"));
        }
    }

    pub fn record_verdict(&mut self, verdict: &Verdict, log: &Log) {
        let call = &self.call;
        let reduced = call.recorder.is_metadata_only().then(|| Verdict {
            reason: metadata_only::digest_placeholder(verdict.reason.as_bytes()),
            ..verdict.clone()
        });
        let at = clock::stamp(call.at);
        let event = self.event(&at);
        let line = enforcement::line(reduced.as_ref().unwrap_or(verdict), &Id::new(call.at), &event);
        let appended = line.map_err(Error::from_json).and_then(|line| log.append(&line, call.at));
        self.outcome.note("record the verdict", appended);
    }

    /// Records overrides that no command recorded, in the same form.
    fn record_found(&self, found: &FoundOverrides, log: &Log) -> Result<()> {
        let (call, recorder) = (&self.call, self.call.recorder);
        let Overrides { pauses, shutdowns, .. } = &found.overrides;
        let pauses = pauses.iter().map(|pause| {
            json!({"override": "pause", "gate": pause.gate, "team": pause.team, "until": pause.until, "found": true})
        });
        let shutdowns = shutdowns.iter().map(|name| {
            json!({"override": "allow-shutdown", "gate": Gate::PrematureShutdown.name(), "team": null, "name": name, "found": true})
        });
        let at = clock::stamp(call.at);
        let event = self.event(&at);
        for payload in pauses.chain(shutdowns) {
            let payload = to_raw_value(&payload).map_err(Error::from_json)?;
            let (id, actor) = (Id::new(call.at), Actor { name: Some("user".to_owned()), ..Actor::unknown() });
            let event = Event { id: id.as_str(), event: OVERRIDE, actor: &actor, payload: &payload, ..event };
            log.append(&event.line().map_err(Error::from_json)?, call.at)?;
        }
        let file = OverrideFile::new(&recorder.paths.policy(), recorder.config.log.lock_patience);
        file.is_recorded(found).map_err(|error| Error::caused("cannot mark the overrides as recorded", error))
    }
}

/// The message for a verdict that allows the action; `None` if it needs none.
fn notice(kind: Kind, actor: &Actor, verdict: &Verdict) -> Option<String> {
    match verdict.decision {
        Decision::Warn => Some(verdict.reason.clone()),
        Decision::Allow if verdict.escalated => {
            // An idle event is reported to the user, other events to the agent.
            let what = match kind {
                Kind::TeammateIdle => Reason::default().name(actor.shown()).then(" to go idle").finish(),
                _ => "this action".to_owned(),
            };
            let times = match verdict.blocks.unwrap_or_default() {
                1 => "once".to_owned(),
                times => format!("{times} times"),
            };
            let (source, reason) = (verdict.source(), without_prefix(&verdict.reason));
            Some(format!("teamkeep allowed {what} after blocking it {times} ({source}: {reason})"))
        }
        _ => None,
    }
}

impl Recorder {
    /// The verdicts when a policy file cannot be used: for an event that concerns the policy, and for others. With
    /// `on-error = "block"` the defaults do not replace the file: the former is blocked regardless of the gates. The latter
    /// is only recorded, because it was reported when the session began.
    pub(super) fn unusable(&self, kind: Kind) -> Option<(Verdict, Verdict)> {
        let error = self.problems.iter().find(|problem| problem.is_error() && kind.is_judged())?;
        let place = escaped(&error.place(), MAX_CHARS);
        let verdict = |reason| failure::verdict(self.config.policy.on_error, kind, failure::UNUSABLE, reason);
        let blocked = verdict(format!(
            "teamkeep cannot use the policy file {place}, and on-error = \"block\" blocks this action until the file is \
             fixed. Report this to the user; `teamkeep policy check` shows the errors."
        ));
        let reason = format!("the policy file {place} cannot be used; using the defaults");
        let recorded = Verdict { decision: Decision::Allow, repeated: true, ..verdict(reason) };
        Some(if blocked.decision == Decision::Block {
            (blocked, recorded)
        } else {
            (recorded.clone(), recorded)
        })
    }

    /// The verdict when the policy failed or its state could not be written, as `on-error` defines it.
    pub(super) fn failed(&self, kind: Kind, why: &str) -> Verdict {
        let why = escaped(why, MAX_CHARS);
        let mut verdict = failure::verdict(self.config.policy.on_error, kind, failure::FAILED, String::new());
        verdict.reason = match verdict.decision {
            Decision::Block => format!(
                "teamkeep could not evaluate the policy, and on-error = \"block\" blocks this action ({why}). \
                 Report this to the user; `teamkeep policy check` may show the cause."
            ),
            _ => format!("the policy could not be evaluated: {why}"),
        };
        verdict
    }
}
