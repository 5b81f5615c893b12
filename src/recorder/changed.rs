//! A project's file that somebody trusted and that changed since: nothing of it runs, and that is not to be silent.

use super::outcome::Outcome;
use super::record::{Recorder, Step, Voice};
use crate::clock;
use crate::config::trust::{Trust, name_of};
use crate::config::{Code, OnError, Problem, source};
use crate::error::Error;
use crate::event::Id;
use crate::gatekeeper;
use crate::log::Log;
use crate::payload::{Kind, Payload};
use crate::policy::{escaped, failure};
use crate::response::Answer;
use crate::veil;

/// Characters of a path that is told.
const LONGEST: usize = 300;

/// Whether checks and rules of a project do not run for this.
pub(super) fn is_unrun(code: Code) -> bool {
    matches!(code, Code::Untrusted | Code::TrustGone)
}

impl Recorder {
    /// Says so to the user and on record, once a session for each content, at the first event that is judged and has
    /// nothing else to answer. The model is not told: it is the user's to trust.
    pub(super) fn tell_changed(
        &self,
        step: &Step,
        payload: &Payload,
        voice: &mut Voice,
        outcome: &mut Outcome,
    ) {
        let starts = step.kind == Kind::SessionStart && payload.text("source") != Some("compact");
        if !starts && !step.kind.is_judged() {
            return;
        }
        let Some((problem, hash)) = self.changed() else { return };
        if voice.memory.changed.as_ref() == Some(&hash) {
            return;
        }
        if starts {
            // The answer to it says what does not run.
            voice.memory.changed = Some(hash);
            return;
        }
        if outcome.answer != Answer::allow() || payload.malformed.is_some() {
            return;
        }
        voice.memory.changed = Some(hash);
        let path = escaped(&problem.path.display().to_string(), LONGEST);
        let reason = match problem.code {
            Code::TrustGone => format!("{path}: {}", problem.message),
            _ => format!(
                "{path} changed since it was trusted: the project's own checks and rules do not run any more, until \
                 somebody looks at them (teamkeep policy trust)"
            ),
        };
        let mut verdict = failure::verdict(OnError::Allow, step.kind, failure::UNTRUSTED, reason.clone());
        if self.is_veiled() {
            verdict.reason = veil::stand_in(reason.as_bytes());
        }
        let at = clock::stamp(step.at);
        let line = gatekeeper::line(&verdict, &Id::new(step.at), &voice.event(step, payload, &at));
        let log = Log::open(self.paths.log(), &self.config.log);
        let appended = line.map_err(Error::from_json).and_then(|line| log.append(&line, step.at));
        outcome.note("record the verdict", appended);
        outcome.answer = Answer::tell(&format!("teamkeep: {reason}"));
    }

    /// What is wrong with the file, and the hash of what stands in it now.
    fn changed(&self) -> Option<(&Problem, String)> {
        let left_out = self.problems.iter().find(|problem| is_unrun(problem.code) || problem.is_error())?;
        let trust = Trust::load(&self.paths.trust()).ok()?;
        trust.of(&name_of(&left_out.path))?;
        let hash = source::hash(&left_out.path).map(|hash| hash.to_hex().to_string());
        Some((left_out, hash.unwrap_or_default()))
    }
}
