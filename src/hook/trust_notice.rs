//! Warns that a trusted project file has changed and is disabled.

use super::Recorder;
use super::attribute::Attributed;
use crate::config::trust::{Trust, name_of};
use crate::config::{Code, OnError, Problem, source};
use crate::policy::{escaped, failure};
use crate::response::Answer;

/// Maximum length of a quoted path, in characters.
const MAX_CHARS: usize = 300;

/// Whether this problem disables the checks and rules of a project.
pub fn is_unapplied(code: Code) -> bool {
    matches!(code, Code::Untrusted | Code::TrustGone)
}

impl Attributed<'_> {
    /// Warns the user and records the warning, once per session and file content, at the first judged event without
    /// another response. The model does not get the warning: only the user may trust the file.
    pub fn notify_trust_change(&mut self) {
        let call = &self.call;
        let starts = call.starts_session();
        if !starts && !call.kind.is_judged() {
            return;
        }
        let Some((problem, hash)) = call.recorder.changed() else { return };
        if self.by.state.changed.as_ref() == Some(&hash) {
            return;
        }
        // At SessionStart, another message lists the disabled commands.
        if !starts {
            if self.outcome.answer != Answer::allow() || call.payload.malformed.is_some() {
                return;
            }
            let path = escaped(&problem.path.display().to_string(), MAX_CHARS);
            let reason = match problem.code {
                Code::TrustGone => format!("{path}: {}", problem.message),
                _ => format!(
                    "{path} changed after it was trusted: the project's checks and rules are disabled until \
                     you trust it again (teamkeep policy trust)"
                ),
            };
            self.outcome.answer = Answer::tell(&format!("teamkeep: {reason}"));
            let verdict = failure::verdict(OnError::Allow, call.kind, failure::UNTRUSTED, reason);
            self.record_verdict(&verdict, &call.recorder.log());
        }
        self.by.state.changed = Some(hash);
    }
}

impl Recorder {
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
