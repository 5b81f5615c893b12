//! The response as far as no verdict decides it: to a malformed payload and to SessionStart, warnings of policy files, and the block of a
//! TeamDelete whose files could not be stored, which no gate or pause changes. And the facts about its team for an agent that has lost its
//! context: another process finds them, so that neither its time nor its failure can harm the session.

use std::process::Command;
use std::time::Duration;

use super::call::Call;
use super::{BackgroundMode, MAX_CHARS, Recorder};
use crate::attribution::BlockedDeletes;
use crate::facts::TeamNote;
use crate::response::Response;
use teamkeep_config::project::{Trust, name_of};
use teamkeep_config::{Code, ContextLoss, OnError, OnFailure, Problem, TeamContext, source};
use teamkeep_model::compat::names_agents;
use teamkeep_model::event::{ActorKind, LEAD};
use teamkeep_model::payload::EventKind;
use teamkeep_model::words::count;
use teamkeep_model::{Limit, Note, Severity};
use teamkeep_policy::{Reason, escaped, failure};
use teamkeep_store::archive::CaptureScope;
use teamkeep_system::command::{command_line, quoted};
use teamkeep_system::error::{Error, Result};
use teamkeep_system::process::{Outcome, Run};

/// After this time the session starts without the facts about its team.
const BRIEF_TIMEOUT: Duration = Duration::from_secs(2);

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
            let verdict = failure::verdict(OnError::Allow, received.kind, failure::UNTRUSTED, reason);
            self.record_verdict(&verdict, &self.log());
        }
        self.by.state.changed_project = Some(hash);
    }

    /// Blocks a TeamDelete if something could not be archived. If the store itself fails, it stays blocked: the loss could not
    /// even be recorded. Files that a working store cannot archive block it `max-blocks` times, because it may be impossible to
    /// change them; the count starts again when fewer of them are left.
    pub(crate) fn block_unarchived_delete(&mut self) -> Option<Response> {
        let (received, found) = (&self.received, &self.found);
        if !received.deletes {
            return None;
        }
        let team = self.by.resolved.team.as_ref();
        // Problems of another team do not block, if it is known which team is deleted.
        let is_deleted = |subject: &CaptureScope| team.is_none() || subject.team() == team;
        let concerns = |of_team: &&TeamNote| of_team.subject.as_ref().is_none_or(is_deleted);
        let own = || found.notes.iter().filter(concerns).map(|of_team| &of_team.note);
        let mut problems: Vec<&Note> = own().filter(|note| note.is_store_failure()).collect();
        if !team.and_then(|team| found.teams.get(team)).is_some_and(|index| index.present) {
            problems.extend(found.overlooked());
        }
        let store_works = problems.is_empty();
        problems.extend(own().filter(|note| note.severity == Severity::Loss && !note.is_store_failure()));
        if problems.is_empty() {
            self.by.state.refused = None;
            return None;
        }
        let texts: Vec<&str> = problems.iter().map(|note| note.text.as_str()).collect();
        let why = texts.join("; ");
        if received.recorder.config.archive.on_failure == OnFailure::Warn {
            let what = "TeamDelete is allowed although the team could not be archived";
            return Some(Response::failed(format!("teamkeep: {what}: {why}")));
        }
        if store_works {
            let files = problems.iter().map(|note| note.files()).sum();
            let before = received.before.refused.filter(|before| before.files <= files);
            let times = before.map_or(0, |before| before.times);
            if times >= received.recorder.config.policy.max_blocks {
                let lost = format!(
                    "TeamDelete is allowed after {} although not everything was archived: {why}",
                    count(times, "block")
                );
                let response = Response::failed(format!("teamkeep: {lost}"));
                self.outcome.lost_with_team = Some(lost);
                return Some(response);
            }
            self.by.state.refused = Some(BlockedDeletes { times: times + 1, files });
        }
        let team = team.map_or_else(|| "the team".to_owned(), |team| format!("team {:?}", team.as_str()));
        let paths = &received.recorder.paths;
        let (store, config) = (paths.store.display(), paths.config.display());
        // One remedy helps only if the same limit is behind every problem.
        let limits = problems.iter().map(|note| note.limit());
        let limit = limits.reduce(|one, other| one.filter(|_| one == other)).flatten();
        let remedy = match limit.map(Limit::key) {
            Some(None) => "Delete again: each attempt continues where the last one stopped".to_owned(),
            Some(Some(key)) => {
                format!("Ask the user to raise `{key}` under [archive] in {config}, then delete again")
            }
            None => format!(
                "Ask the user to free disk space or to fix the permissions of {store}, then delete again"
            ),
        };
        // File names are untrusted.
        let why = escaped(&why, MAX_CHARS);
        let reason = Reason::default()
            .then(&format!(
                "teamkeep blocks TeamDelete: {team} could not be archived, and deleting it now would lose data that is \
                 not recorded yet ({why})."
            ))
            .instead(&format!("{remedy}; `on-failure = \"warn\"` under [archive] in {config} turns this off."));
        let (reason, advice) = reason.finish();
        Some(Response::block(EventKind::PreToolUse, format!("{reason} {advice}")))
    }

    /// Adds the facts to the response, if the agent of a team has lost its context at this call.
    pub(crate) fn add_team_context(&mut self) {
        let Some(arguments) = self.brief_arguments() else { return };
        let found = self.outcome.note("find the facts about the team", brief(&arguments));
        if let Some(facts) = found.filter(|facts| !facts.is_empty()) {
            let response = std::mem::take(&mut self.outcome.response);
            self.outcome.response = response.and_context(self.received.kind, &facts);
        }
    }

    /// The arguments of `teamkeep brief` for the agent that has lost its context: the run that it takes part in, or took part in
    /// before its session was resumed, and its name, unless it can be any agent in the lead's process.
    fn brief_arguments(&self) -> Option<Vec<String>> {
        let (received, by) = (&self.received, &self.by);
        let wanted = &received.recorder.config.context;
        let can_respond = received.kind == EventKind::SessionStart && self.outcome.response.exit == 0;
        if !can_respond || wanted.parts.is_empty() || received.recorder.finish != BackgroundMode::Detached {
            return None;
        }
        let loss = ContextLoss::named(received.payload.text("source")?)
            .filter(|loss| wanted.after.contains(loss))?;
        // A resumed session has no run until it has a team again, which can be before or after this call.
        let earlier = received
            .before
            .run
            .as_ref()
            .filter(|_| loss == ContextLoss::Resume && received.before.team.is_some());
        let in_team = by.own.as_ref().is_some_and(|own| own.team().is_some());
        let run = earlier.or(by.run.as_ref().filter(|_| in_team))?.clone();
        let name = match by.actor.kind {
            ActorKind::Lead if loss == ContextLoss::Compact && !self.is_surely_of_lead() => None,
            ActorKind::Lead => Some(LEAD.to_owned()),
            ActorKind::Teammate => Some(by.actor.name.clone()?),
            _ => return None,
        };
        let mut arguments = vec![run, "--after".to_owned(), loss.name().to_owned()];
        // A name can begin with a dash.
        arguments.extend(name.map(|name| format!("--agent={name}")));
        arguments.extend(["--max-bytes".to_owned(), wanted.max_bytes().to_string()]);
        Some(arguments)
    }

    /// Whether a call without an agent certainly is the lead's.
    fn is_surely_of_lead(&self) -> bool {
        self.by.state.version.as_deref().is_none_or(names_agents)
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
            shell_quoted(&project.display().to_string()),
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

fn shell_quoted(path: &str) -> String {
    quoted(&escaped(path, MAX_CHARS))
}

/// Whether this problem disables the checks and rules of a project.
pub(crate) fn is_unapplied(code: Code) -> bool {
    matches!(code, Code::Untrusted | Code::TrustGone)
}

/// The text of `teamkeep brief`; empty if the run has no such agent.
fn brief(arguments: &[String]) -> Result<String> {
    let program = command_line().map_err(|error| Error::caused("cannot find this program", error))?;
    let mut command = Command::new(program);
    command.arg("brief").args(arguments);
    let collected = Run::new(command, BRIEF_TIMEOUT).collect(TeamContext::MAX_BYTES as usize);
    match collected.map_err(|error| Error::caused("cannot run `teamkeep brief`", error))? {
        (Outcome::Ended(status), text) if status.success() => Ok(String::from_utf8_lossy(&text).into_owned()),
        (Outcome::Ended(status), _) => Err(Error::new(format!("`teamkeep brief` ended with {status}"))),
        (Outcome::TimedOut, _) => {
            Err(Error::new(format!("`teamkeep brief` took longer than {} s", BRIEF_TIMEOUT.as_secs())))
        }
        (Outcome::Stopped, _) => Ok(String::new()),
    }
}
