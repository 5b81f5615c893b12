//! Responses that no verdict decides: to a malformed payload and to SessionStart, and warnings of policy files.

use super::call::Call;
use super::{MAX_CHARS, Recorder};
use crate::response::Response;
use teamkeep_config::project::{Trust, name_of};
use teamkeep_config::{Code, OnError, Problem, source};
use teamkeep_model::payload::EventKind;
use teamkeep_policy::{POLICY_UNTRUSTED, Verdict, escaped};
use teamkeep_system::command::quoted;

impl Call<'_> {
    pub(crate) fn prepare_response(&mut self) {
        if let Some(malformed) = &self.received.payload.malformed {
            let what = "the payload on stdin is not a JSON object";
            let message = format!("teamkeep: {what} ({malformed}); its text was recorded");
            self.outcome.response = Response::failed(message);
            return;
        }
        let blocked = self.block_unarchived_delete();
        self.outcome.response = blocked.or_else(|| self.session_start()).unwrap_or_default();
    }

    /// The response to SessionStart: requests FileChanged events for changes between two hook calls, and notices for the user.
    fn session_start(&self) -> Option<Response> {
        let (received, recorder) = (&self.received, self.received.recorder);
        if received.kind != EventKind::SessionStart {
            return None;
        }
        let watches = recorder.config.hook.watch && received.client.is_absolute();
        let path = |dir: &&str| received.client.join(dir).into_os_string().into_string().ok();
        let watched: Vec<String> = ["teams", "tasks"].iter().filter(|_| watches).filter_map(path).collect();
        let broken = recorder.config_error_notice();
        // A compacted session continues, and the request is still active.
        let notice = if received.starts_session() { recorder.untrusted_notice() } else { None };
        (watches || broken.is_some() || notice.is_some())
            .then(|| Response::begin(&watched, broken.as_deref(), notice.as_deref()))
    }

    /// Warns the user once per session and file content, at the first judged event without another response. The model does not
    /// get the warning: only the user may trust the file.
    pub(crate) fn notify_trust_change(&mut self) {
        let received = &self.received;
        let starts = received.starts_session();
        if !starts && !received.kind.can_be_blocked() {
            return;
        }
        let Some((problem, hash)) = received.recorder.changed_project() else { return };
        if self.by.state.changed_project.as_ref() == Some(&hash) {
            return;
        }
        // At SessionStart, another message lists the disabled commands.
        if !starts {
            if self.outcome.response != Response::allow() || received.payload.malformed.is_some() {
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
            self.outcome.response = Response::notify_user(&format!("teamkeep: {reason}"));
            let verdict = Verdict::of_failure(OnError::Allow, received.kind, POLICY_UNTRUSTED, reason);
            self.record_verdict(&verdict, &self.log());
        }
        self.by.state.changed_project = Some(hash);
    }
}

impl Recorder {
    /// The message about untrusted commands of a project, to the user only, because only the user may trust them.
    fn untrusted_notice(&self) -> Option<String> {
        let problem = self.problems.iter().find(|problem| is_unapplied(problem.code))?;
        let project = problem.path.ancestors().nth(2)?;
        if problem.code == Code::TrustGone {
            let path = escaped(&problem.path.display().to_string(), MAX_CHARS);
            return Some(format!("teamkeep: {path}: {}", problem.message));
        }
        Some(format!(
            "teamkeep: the project's checks and rules in {} are disabled: {}. To inspect and trust them: \
             teamkeep policy trust --project {}",
            escaped(&problem.path.display().to_string(), MAX_CHARS),
            escaped(&problem.message, MAX_CHARS),
            quoted(&escaped(&project.display().to_string(), MAX_CHARS)),
        ))
    }

    /// The message about unusable policy files. The model reads it, so it must not quote such a file.
    fn config_error_notice(&self) -> Option<String> {
        let mut errors = self.problems.iter().filter(|problem| problem.is_error());
        let first = errors.next()?;
        let more = errors.count();
        let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
        let (code, place) = (first.code.name(), escaped(&first.location(), MAX_CHARS));
        Some(format!(
            "teamkeep: ignoring an invalid policy file: {code} at {place}{more}. See: teamkeep config check"
        ))
    }

    fn changed_project(&self) -> Option<(&Problem, String)> {
        let left_out =
            self.problems.iter().find(|problem| is_unapplied(problem.code) || problem.is_error())?;
        let trust = Trust::load(&self.paths.trust()).ok()?;
        trust.of(&name_of(&left_out.path))?;
        let hash = source::hash(&left_out.path).map(|hash| hash.to_hex().to_string());
        Some((left_out, hash.unwrap_or_default()))
    }
}

/// Whether this problem disables the checks and rules of a project.
pub(crate) fn is_unapplied(code: Code) -> bool {
    matches!(code, Code::Untrusted | Code::TrustGone)
}
