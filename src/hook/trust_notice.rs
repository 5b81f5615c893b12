//! Warns that a trusted project file has changed and is disabled.

use super::outcome::Outcome;
use super::pipeline::{Attribution, HookContext, Recorder};
use crate::clock;
use crate::config::trust::{Trust, name_of};
use crate::config::{Code, OnError, Problem, source};
use crate::enforcement;
use crate::error::Error;
use crate::event::Id;
use crate::log::Log;
use crate::metadata_only;
use crate::payload::{Kind, Payload};
use crate::policy::{escaped, failure};
use crate::response::Answer;

/// Maximum length of a quoted path, in characters.
const MAX_CHARS: usize = 300;

/// Whether this problem disables the checks and rules of a project.
pub(super) fn is_unapplied(code: Code) -> bool {
    matches!(code, Code::Untrusted | Code::TrustGone)
}

impl Recorder {
    /// Warns the user and records the warning, once per session and file content, at the first judged event without
    /// another response. The model does not get the warning: only the user may trust the file.
    pub(super) fn notify_trust_change(
        &self,
        step: &HookContext,
        payload: &Payload,
        voice: &mut Attribution,
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
            // At SessionStart, another message lists the disabled commands.
            voice.memory.changed = Some(hash);
            return;
        }
        if outcome.answer != Answer::allow() || payload.malformed.is_some() {
            return;
        }
        voice.memory.changed = Some(hash);
        let path = escaped(&problem.path.display().to_string(), MAX_CHARS);
        let reason = match problem.code {
            Code::TrustGone => format!("{path}: {}", problem.message),
            _ => format!(
                "{path} changed after it was trusted: the project's checks and rules are disabled until \
                 you trust it again (teamkeep policy trust)"
            ),
        };
        let mut verdict = failure::verdict(OnError::Allow, step.kind, failure::UNTRUSTED, reason.clone());
        if self.is_metadata_only() {
            verdict.reason = metadata_only::digest_placeholder(reason.as_bytes());
        }
        let at = clock::stamp(step.at);
        let line = enforcement::line(&verdict, &Id::new(step.at), &voice.event(step, payload, &at));
        let log = Log::open(self.paths.log(), &self.config.log);
        let appended = line.map_err(Error::from_json).and_then(|line| log.append(&line, step.at));
        outcome.note("record the verdict", appended);
        outcome.answer = Answer::tell(&format!("teamkeep: {reason}"));
    }

    /// The problem with the file, and the hash of its current content.
    fn changed(&self) -> Option<(&Problem, String)> {
        let left_out =
            self.problems.iter().find(|problem| is_unapplied(problem.code) || problem.is_error())?;
        let trust = Trust::load(&self.paths.trust()).ok()?;
        trust.of(&name_of(&left_out.path))?;
        let hash = source::hash(&left_out.path).map(|hash| hash.to_hex().to_string());
        Some((left_out, hash.unwrap_or_default()))
    }
}
