//! Responses to Claude Code other than verdicts.

use super::Recorder;
use super::attribute::Attributed;
use super::trust_notice::is_unapplied;
use crate::config::Code;
use crate::payload::Kind;
use crate::policy::escaped;
use crate::response::Answer;
use crate::settings::command::quoted;
use crate::settings::installed::Installed;

/// Maximum length of a quoted text, in characters.
const MAX_CHARS: usize = 300;

impl Attributed<'_> {
    /// Prepares the response that does not depend on the policy.
    pub fn prepare_response(&mut self) {
        if let Some(malformed) = &self.call.payload.malformed {
            let what = "the payload on stdin is not a JSON object";
            let message = format!("teamkeep: {what} ({}); its text was recorded", malformed.0);
            self.outcome.answer = Answer::failed(message);
            return;
        }
        let blocked = self.block_unarchived_delete();
        self.outcome.answer = blocked.or_else(|| self.start_session()).unwrap_or_default();
    }

    /// At SessionStart, requests FileChanged events, which report changes between two hook calls, and returns messages
    /// to the user.
    fn start_session(&self) -> Option<Answer> {
        let (call, recorder) = (&self.call, self.call.recorder);
        if call.kind != Kind::SessionStart {
            return None;
        }
        let watches = recorder.config.hook.watch && call.client.is_absolute();
        let path = |dir: &&str| call.client.join(dir).into_os_string().into_string().ok();
        let watched: Vec<String> = ["teams", "tasks"].iter().filter(|_| watches).filter_map(path).collect();
        let broken = recorder.config_error_notice();
        // A compacted session continues, and the request is still active.
        let notices = match call.starts_session() {
            true => [recorder.untrusted_notice(), recorder.uncovered_rules_notice()],
            false => [None, None],
        };
        let notices: Vec<String> = notices.into_iter().flatten().collect();
        let notices = (!notices.is_empty()).then(|| notices.join("\n"));
        (watches || broken.is_some() || notices.is_some())
            .then(|| Answer::begin(&watched, broken.as_deref(), notices.as_deref()))
    }
}

impl Recorder {
    /// The message about commands of a project that are not trusted. Only the user gets it, because only the user may
    /// trust them.
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
            shell_quoted(&project.display().to_string()),
        ))
    }

    /// The message about rules that no installed hook covers. Only the user gets it: a session cannot change its own
    /// hooks.
    fn uncovered_rules_notice(&self) -> Option<String> {
        if self.config.rule.is_empty() {
            return None;
        }
        let installed = Installed::find(&self.env, &self.paths, true).ok()?;
        let unasked = installed.coverage.unasked(&self.config.rule);
        let first = unasked.first()?;
        let more = match unasked.len() {
            1 => String::new(),
            2 => " (and 1 more rule)".to_owned(),
            all => format!(" (and {} more rules)", all - 1),
        };
        let (rule, gaps) = (escaped(&first.rule, MAX_CHARS), escaped(&first.to_string(), MAX_CHARS));
        // With `--scope`, the command finds the settings file from the project's directory.
        let project = self.env.project_dir().filter(|_| installed.is_in_project);
        let there = project.map(|dir| format!("cd {} && ", shell_quoted(&dir.display().to_string())));
        Some(format!(
            "teamkeep: rule {rule} is not evaluated at {gaps}{more}: no installed hook covers it. To fix it, run this in a \
             terminal and restart the session: {}{}",
            there.unwrap_or_default(),
            installed.remedy(first)
        ))
    }

    /// The message about unusable policy files, at the beginning of a session. The model reads it, so it must not quote
    /// such a file: a project's file is not trusted.
    fn config_error_notice(&self) -> Option<String> {
        let mut errors = self.problems.iter().filter(|problem| problem.is_error());
        let first = errors.next()?;
        let more = errors.count();
        let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
        let (code, place) = (first.code.name(), escaped(&first.place(), MAX_CHARS));
        Some(format!(
            "teamkeep: ignoring an invalid policy file, using the defaults: {code} at {place}{more}. See: teamkeep \
             policy check"
        ))
    }
}

/// A path quoted for the shell and safe to print on a terminal.
fn shell_quoted(path: &str) -> String {
    quoted(&escaped(path, MAX_CHARS))
}
