//! Responses to Claude Code other than verdicts.

use crate::config::Code;
use crate::event::SafeName;
use crate::payload::{Kind, Payload};
use crate::policy::escaped;
use crate::response::Answer;
use crate::settings::installed::Installed;

use super::pipeline::{HookContext, Recorder};
use super::trust_notice::is_unapplied;

/// Maximum length of a quoted text, in characters.
const MAX_CHARS: usize = 300;

impl Recorder {
    /// At SessionStart, requests FileChanged events, which report changes between two hook calls, and returns messages
    /// to the user.
    pub(super) fn watch_paths(&self, step: &HookContext, payload: &Payload) -> Option<Answer> {
        let asks = step.kind == Kind::SessionStart && self.config.hook.watch && step.client.is_absolute();
        let path = |dir: &&str| step.client.join(dir).into_os_string().into_string().ok();
        let paths = || ["teams", "tasks"].iter().filter_map(path).collect::<Vec<_>>();
        let paths = if asks { paths() } else { Vec::new() };
        let wrong = if step.kind == Kind::SessionStart { self.config_error_notice() } else { None };
        // A compacted session continues, and the request is still active.
        let begins = step.kind == Kind::SessionStart && payload.text("source") != Some("compact");
        let told: Vec<String> = if begins {
            [self.untrusted_notice(), self.uncovered_rules_notice()].into_iter().flatten().collect()
        } else {
            Vec::new()
        };
        let told = (!told.is_empty()).then(|| told.join("\n"));
        (asks || wrong.is_some() || told.is_some())
            .then(|| Answer::begin(&paths, wrong.as_deref(), told.as_deref()))
    }

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
    let plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+' | ',' | '@' | ':');
    match path.chars().all(plain) {
        true => path.to_owned(),
        false => format!("'{}'", escaped(path, MAX_CHARS).replace('\'', "'\\''")),
    }
}

/// The warning about odd values in a payload, which is recorded nevertheless.
pub fn payload_warnings(payload: &Payload, asked: Option<&str>) -> Option<String> {
    let mut warnings = Vec::new();
    if let (Some(asked), Some(told)) = (asked, payload.event_name())
        && asked != told
        && asked != kebab(told)
    {
        warnings.push(format!("called as {asked}, but the payload names {told}"));
    }
    type Parse = fn(&str) -> Option<SafeName>;
    for (key, safe) in [("session_id", SafeName::stem as Parse), ("team_name", SafeName::new)] {
        if payload.field(key).is_some_and(|value| !value.is_string()) {
            warnings.push(format!("{key} is not a string"));
        }
        if let Some(name) = payload.text(key).filter(|name| safe(name).is_none()) {
            warnings.push(format!("{key} {name:?} is not a valid name"));
        }
    }
    (!warnings.is_empty()).then(|| warnings.join("; "))
}

/// The warning about missing fields and unknown events, which are recorded and allowed nevertheless.
pub fn payload_gaps(payload: &Payload, kind: Kind, asked: Option<&str>) -> Option<String> {
    if payload.malformed.is_some() {
        return None;
    }
    let mut gaps = Vec::new();
    match payload.event_name().or(asked).filter(|name| !name.is_empty()) {
        Some(name) if kind == Kind::Unknown => {
            gaps.push(format!("unknown event {}", escaped(name, MAX_CHARS)));
        }
        Some(_) => {}
        None => gaps.push("the payload names no event".to_owned()),
    }
    if payload.field("session_id").is_none() {
        gaps.push("the payload has no session_id".to_owned());
    }
    (!gaps.is_empty()).then(|| format!("{}; recorded without changes", gaps.join(" and ")))
}

/// The subcommand's spelling of an event, also for unknown ones: `SubagentStop` becomes `subagent-stop`.
fn kebab(name: &str) -> String {
    let mut kebab = String::with_capacity(name.len() + 4);
    for c in name.chars() {
        if c.is_ascii_uppercase() && !kebab.is_empty() {
            kebab.push('-');
        }
        kebab.push(c.to_ascii_lowercase());
    }
    kebab
}
